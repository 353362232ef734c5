"""Commands about proxies: where they come from, how they are, how they do; no password is ever printed."""

import asyncio
import ssl
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from rich.table import Column, Table
from rich.text import Text

from sale_sofia.cli.console import NOT_ALL_RIGHT, AsJson, log, out, print_answer, print_json, tell
from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.proxies.checker import ProxyFinding
from sale_sofia.proxies.control import RotatorService, refresh_here
from sale_sofia.proxies.judge import JudgeServer
from sale_sofia.proxies.model import TIERS, DomainStats, Proxy, Scheme, Tier
from sale_sofia.proxies.pool import MemoryProxyPool, domain_tables, forget_stats, get_pool, open_pool
from sale_sofia.proxies.refresh import Refresher, RefreshResult, new_job_id, open_checker, run_job
from sale_sofia.proxies.rotator import serve
from sale_sofia.proxies.settings import JUDGE_HOST, JUDGE_HTTP_PORT, JUDGE_PORT, ROTATOR_HOST, PoolRules
from sale_sofia.proxies.sources import Count, ProxySource, SourceList, public_lists, read_source
from sale_sofia.settings.errors import RedisUnreachable
from sale_sofia.settings.model import Settings, load_settings

_STDIN = "-"
_NOTHING = "–"
_MOST_COLONS = 2  # in scheme://host:port; a third one stands before a user


async def _known(settings: Settings) -> list[Proxy]:
    async with open_pool(settings, _shared_redis_url(settings)) as pool:
        return await pool.list_proxies()


def _shared_redis_url(settings: Settings) -> str | None:
    """That of the pool all share; None where this process is alone."""
    try:
        return known_redis_url(settings)
    except RedisUnreachable:
        return None


def _given_places(places: Sequence[str]) -> list[str]:
    """The places named, those on standard input too; a password among the arguments is refused."""
    if any("@" in place or (place.count(":") > _MOST_COLONS and "[" not in place) for place in places):
        raise typer.BadParameter(
            "a password on the command line can be read by every user of this machine: "
            "put the line into a file, or send it to `proxies add -`"
        )
    named = [place for place in places if place != _STDIN]
    lines = sys.stdin.read().splitlines() if _STDIN in places else []
    return [*named, *(line.strip() for line in lines if line.strip())]


# The programs about proxies that run until they are stopped: the judge and the rotator.


def judge(
    certificate: Annotated[Path, typer.Option(help="Its certificate chain, in PEM form.")],
    key: Annotated[Path, typer.Option(help="The key of the certificate, in PEM form.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on: the one of this machine that proxies can reach.")
    ] = JUDGE_HOST,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port with TLS.")] = JUDGE_PORT,
    http_port: Annotated[int, typer.Option(min=0, max=65_535, help="Port without.")] = JUDGE_HTTP_PORT,
) -> None:
    """Run the server that proxies are checked with, on a machine that they can reach, until Ctrl-C."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise typer.BadParameter(f"{certificate} and {key} are no certificate with its key") from None
    with suppress(KeyboardInterrupt):
        asyncio.run(_judge(host, port, http_port, context))


async def _judge(host: str, port: int, http_port: int, context: ssl.SSLContext) -> None:
    server = JudgeServer()
    secure, plain = await server.start(host, port, http_port, context)
    log.print(f"judging on {host}:{secure} with TLS and on {host}:{plain} without")
    try:
        await asyncio.Event().wait()
    finally:
        await server.stop()


def rotator() -> None:
    """Run the rotator on 127.0.0.1: one address for tools that can use only one proxy, until Ctrl-C."""
    settings = load_settings()
    url = known_redis_url(settings)
    if settings.mubeng_path is None:
        log.print(f"http://{ROTATOR_HOST}:{settings.rotator_port}, CONNECT only")
        asyncio.run(serve(settings, url))
        return
    service = RotatorService(settings)
    log.print(f"{service.start(url, asyncio.run(_known(settings)))} by mubeng")
    try:
        with suppress(KeyboardInterrupt):
            service.wait()
    finally:
        service.stop()


# The commands; every address that they print is masked.


def _folded(name: str) -> Column:
    """A column whose texts are shown whole, on several lines if need be."""
    return Column(name, overflow="fold")


def _by_count(counts: Mapping[str, int]) -> str:
    """How many of each kind, the most first."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{number} {name}" for name, number in ordered) or "nothing"


def _say_source(name: str, count: Count) -> None:
    """What was made of a source, and the first of its lines that are no proxies."""
    head = f"{name}: {count.taken} proxies, {count.duplicates} duplicates, {count.malformed} malformed"
    left = [f"  {count.left} more were left out"] if count.left else []
    for line in (head, *(f"  {line}" for line in count.examples), *left):
        log.print(line)


app = typer.Typer(no_args_is_help=True, help="Proxies: add, check and watch them. Without any, none is used.")
app.command()(judge)
Places = Annotated[
    list[str],
    typer.Argument(help="Proxies (host:port), files, addresses of lists; - for lines on standard input."),
]


@app.command()
def add(
    places: Places,
    tier: Annotated[str, typer.Option(help="own, free or paid.")] = "free",
    scheme: Annotated[str, typer.Option(help="Of those that do not say: http, https or socks5.")] = "http",
) -> None:
    """Remember where proxies come from; they are used once a check found them usable.

    For example: sale-sofia proxies add 203.0.113.7:3128 list.txt --tier own
    """
    known, schemes = SourceList(load_settings().data_dir), get_args(Scheme)
    given = _given_places(places)
    if given and tier not in TIERS:
        raise typer.BadParameter(f"no tier {tier!r}; allowed: {', '.join(TIERS)}")
    if given and scheme not in schemes:
        raise typer.BadParameter(f"no scheme {scheme!r}; allowed: {', '.join(schemes)}")
    for source in [ProxySource(place, cast("Tier", tier), cast("Scheme", scheme)) for place in given]:
        count = Count()
        for _ in asyncio.run(read_source(source, count)):
            pass
        _say_source(source.name, count)
        known.add(source)
    log.print("check them with `sale-sofia proxies refresh`")


@app.command()
def sources(
    on: Annotated[list[str] | None, typer.Option(help="Use this public list, by its name.")] = None,
    off: Annotated[list[str] | None, typer.Option(help="Stop using this list, by its name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show where proxies come from, and the public lists that come with sale-sofia: off until switched on.

    For example: sale-sofia proxies sources --on monosans-http
    """
    kept, public = SourceList(load_settings().data_dir), public_lists()
    shipped = {one.place for one in public.values()}
    own = {one.name: one for one in kept.sources() if one.place not in shipped}
    for name in on or ():
        kept.add(_named(name, public))
    for name in off or ():
        kept.drop(_named(name, {**public, **own}))
    used = {one.place for one in kept.sources()}
    rows = [
        {"name": name, "address": one.name, "tier": one.tier, "scheme": one.scheme, "on": one.place in used}
        for name, one in {**public, **own}.items()
    ]
    table = Table(_folded("name"), _folded("address"), "tier", "scheme", "used")
    for row in rows:
        told = ("name", "address", "tier", "scheme")
        table.add_row(*(str(row[name]) for name in told), "on" if row["on"] else "off")
    print_answer({"sources": rows}, table, as_json=as_json)


def _named(name: str, listed: Mapping[str, ProxySource]) -> ProxySource:
    if name not in listed:
        raise typer.BadParameter(f"no list {name!r}; there are {', '.join(listed)}")
    return listed[name]


@app.command("list")
def list_proxies(as_json: AsJson = False) -> None:
    """Show every proxy that a check found, with its exit address and what it gives away."""
    proxies = asyncio.run(_known(load_settings()))
    table = Table("id", _folded("proxy"), "tier", "exit", "anonymity", _folded("source"))
    for one in proxies:
        seen = (one.tier, one.exit_address or _NOTHING, one.anonymity, one.source)
        table.add_row(one.id, one.address.masked, *seen)
    print_answer({"proxies": [_record(one) for one in proxies]}, table, as_json=as_json)


def _record(proxy: Proxy) -> dict[str, Any]:
    return {**asdict(proxy), "address": proxy.address.masked, "id": proxy.id}


@app.command()
def check(
    places: Annotated[
        list[str] | None, typer.Argument(help="Proxies, files or lists; none: all that are known.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check proxies and say what each is; nothing is changed. Ends with 1 when none is usable."""
    findings = asyncio.run(_checked(load_settings(), _given_places(places or [])))
    if as_json:
        records = [
            {**_record(one.proxy), "found": one.label, "why": one.why, "seconds": round(one.seconds, 3)}
            for one in findings
        ]
        print_json({"findings": records})
    else:
        table = Table(_folded("proxy"), "found", "exit", "anonymity", "seconds", "why")
        for one in sorted(findings, key=lambda one: (not one.usable, one.label, one.proxy.id)):
            seen = (one.proxy.exit_address or _NOTHING, one.proxy.anonymity, f"{one.seconds:.1f}")
            table.add_row(one.proxy.address.masked, one.label, *seen, Text(one.why))
        out.print(table)
    if not any(one.usable for one in findings):
        raise typer.Exit(NOT_ALL_RIGHT)


async def _checked(settings: Settings, places: Sequence[str]) -> list[ProxyFinding]:
    redis_url = _shared_redis_url(settings)
    listed = [ProxySource(place) for place in places] or SourceList(settings.data_dir).sources()
    refresher = Refresher(
        pool=MemoryProxyPool(rules=PoolRules.from_settings(settings)),
        sources=listed,
        open_checker=lambda: open_checker(settings, redis_url),
        at_once=settings.proxy_check_concurrency,
    )
    findings: list[ProxyFinding] = []

    async def told(finding: ProxyFinding) -> None:
        findings.append(finding)

    _say_sources(await refresher.run(told))
    return findings


def _say_sources(sweep: RefreshResult) -> None:
    for name, count in sweep.counts.items():
        if count.malformed or count.left:
            _say_source(name, count)
    for sentence in sweep.unreadable:
        log.print(sentence, style="red")


@app.command()
def refresh(as_json: AsJson = False) -> None:
    """Check all proxies and candidates now; each is available to all workers as soon as it was found good."""
    settings = load_settings()
    redis_url = _shared_redis_url(settings)
    if redis_url is None:
        pool = asyncio.run(get_pool(settings, None))
        sweep = asyncio.run(refresh_here(settings, pool, None))
        _say_sources(sweep)
        if as_json:
            print_json({"candidates": sweep.candidates, "checked": sweep.checked, "found": sweep.labels})
        else:
            log.print(f"{sweep.checked} checked: {_by_count(sweep.labels)}")
        usable = bool(sweep.usable)
    else:
        progress = asyncio.run(run_job(settings, redis_url, new_job_id()))
        replaced = progress.status == "REPLACED"
        if as_json:
            print_json(asdict(progress))
        elif replaced:
            log.print("another refresh is under way")
        else:
            log.print(f"{progress.checked} checked: {progress.usable} usable")
        usable = replaced or bool(progress.usable)
    if not usable:
        raise typer.Exit(NOT_ALL_RIGHT)


@app.command()
def stats(
    site: Annotated[str | None, typer.Argument(help="One portal; all without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how proxies do on each portal: success, latency, rest, last reason."""
    settings = load_settings()
    tables = asyncio.run(domain_tables(settings, _shared_redis_url(settings), site))
    if as_json:
        rows = {one.domain: [asdict(row) for row in one.rows] for one in tables}
        print_json({"stats": rows, "recovery": {one.domain: one.recovery for one in tables}})
        return
    if not any(one.rows for one in tables):
        tell("no proxies are known; `sale-sofia proxies sources` lists where some may be had")
        return
    for one in tables:
        headings = ("tier", "expected", "score", "successes", "latency", "ready in", "last reason")
        table = Table(_folded("proxy"), *headings, title=one.domain)
        for row in one.rows:
            latency = _NOTHING if row.latency_seconds is None else f"{row.latency_seconds:.2f} s"
            numbers = (f"{row.expected:.0%}", f"{row.score:.2f}", f"{row.successes} of {row.uses}", latency)
            table.add_row(row.address, row.tier, *numbers, _state(row), Text(row.last_reason or _NOTHING))
        out.print(table)
        if one.recovery:
            out.print(f"recovery steps: {_by_count(one.recovery)}")


def _state(row: DomainStats) -> str:
    if row.quarantined:
        return "quarantined"
    state = "now" if not row.ready_in_seconds else f"{row.ready_in_seconds:.0f} s"
    return f"in use, {state}" if row.leased else state


@app.command()
def remove(ids: Annotated[list[str], typer.Argument(help="Ids, as `proxies list` shows them.")]) -> None:
    """Forget proxies; their sources stay, so that the next refresh may find them again."""
    settings = load_settings()
    removed = asyncio.run(_removed(settings, ids))
    kept = [one for one in SourceList(settings.data_dir).load_usable() if one.id not in ids]
    SourceList(settings.data_dir).remember(kept)
    forget_stats(settings, ids)
    log.print(f"{removed} forgotten")


async def _removed(settings: Settings, ids: Sequence[str]) -> int:
    async with open_pool(settings, _shared_redis_url(settings)) as pool:
        return await pool.remove(ids)
