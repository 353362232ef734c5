"""Commands about proxies: sources, checks and statistics. No password is ever printed."""

import asyncio
import ssl
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from rich.table import Column, Table
from rich.text import Text

from sale_sofia.cli.console import (
    NOT_ALL_RIGHT,
    AsJson,
    log,
    one_of,
    out,
    print_answer,
    print_json,
    refuse,
    tell,
)
from sale_sofia.operations.services.processes import Interrupted, StopSignals
from sale_sofia.operations.services.redis import answering_redis_url, known_redis_url
from sale_sofia.proxies.checker import ProxyFinding
from sale_sofia.proxies.control import RotatorService, refresh_here
from sale_sofia.proxies.judge import JudgeServer
from sale_sofia.proxies.model import TIERS, DomainStats, Proxy, Scheme, Tier
from sale_sofia.proxies.pool import (
    MemoryProxyPool,
    domain_tables,
    forget_stats,
    get_pool,
    list_usable,
    open_pool,
)
from sale_sofia.proxies.refresh import Refresher, RefreshResult, new_job_id, open_checker, run_job
from sale_sofia.proxies.rotator import serve
from sale_sofia.proxies.settings import JUDGE_HOST, JUDGE_HTTP_PORT, JUDGE_PORT, ROTATOR_HOST, PoolRules
from sale_sofia.proxies.sources import Count, ProxySource, SourceList, public_lists, read_source
from sale_sofia.settings.errors import RedisUnreachable
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.websites.registry import AVAILABLE_SITES

_STDIN = "-"
_NOTHING = "–"
_NO_PROXIES = "no proxies are known; `sale-sofia proxies sources` lists where some may be had"
_MOST_COLONS = 2  # in scheme://host:port; a third one stands before a user


async def _pool_proxies(settings: Settings) -> list[Proxy]:
    async with open_pool(settings, _shared_redis_url(settings)) as pool:
        return await pool.list_proxies()


async def _usable_proxies(settings: Settings, redis_url: str) -> list[Proxy]:
    async with open_pool(settings, redis_url) as pool:
        return await list_usable(pool)


def _shared_redis_url(settings: Settings) -> str | None:
    """The Redis of the shared pool, None if none runs; RedisUnreachable if REDIS_URL does not answer."""
    if settings.redis_url is not None:
        return answering_redis_url(settings)
    try:
        return known_redis_url(settings)
    except RedisUnreachable:
        return None


def _read_places(places: Sequence[str]) -> list[str]:
    """The places of the arguments and of standard input; refuses a password among the arguments."""
    if any("@" in place or (place.count(":") > _MOST_COLONS and "[" not in place) for place in places):
        raise typer.BadParameter(
            "a password on the command line can be read by every user of this machine: "
            "put the line into a file, or send it to `proxies add -`"
        )
    arguments = [place for place in places if place != _STDIN]
    lines = sys.stdin.read().splitlines() if _STDIN in places else []
    return [*arguments, *(line.strip() for line in lines if line.strip())]


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
    proxies = asyncio.run(_usable_proxies(settings, url))
    with StopSignals() as signals:
        try:
            log.print(f"{service.start(url, proxies, signals.check)} by mubeng")
            service.wait(signals.check)
        except Interrupted:
            pass
        finally:
            service.stop()


# The commands; every address that they print is masked.


def _folding_column(name: str) -> Column:
    """A column whose texts are shown whole, on several lines if necessary."""
    return Column(name, overflow="fold")


def _by_count(counts: Mapping[str, int]) -> str:
    """How many of each kind, the most first."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{number} {name}" for name, number in ordered) or "nothing"


def _say_source(name: str, count: Count) -> None:
    """Print what a source holds, and the first of its lines that are no proxies."""
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
    source_list, schemes = SourceList(load_settings().data_dir), get_args(Scheme)
    all_places = _read_places(places)
    refuse(not all_places, "there is no line on standard input")
    tier, scheme = one_of(tier, "tier", TIERS), one_of(scheme, "scheme", schemes)
    found = [_source(place, cast("Tier", tier), cast("Scheme", scheme)) for place in all_places]
    for source in found:
        count = Count()
        for _ in asyncio.run(read_source(source, count)):
            pass
        _say_source(source.name, count)
    for source in found:  # all of them can be read
        source_list.add(source)
    log.print("check them with `sale-sofia proxies refresh`")


def _source(place: str, tier: Tier, scheme: Scheme) -> ProxySource:
    """The source; a file by its whole path, as workers may be started in another folder."""
    source = ProxySource(place, tier, scheme)
    if source.is_proxy or source.is_url:
        return source
    return replace(source, place=str(Path(place).expanduser().absolute()))


@app.command()
def sources(
    on: Annotated[list[str] | None, typer.Option(help="Use this public list, by its name.")] = None,
    off: Annotated[list[str] | None, typer.Option(help="Stop using this list, by its name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show where proxies come from, and the public lists that come with sale-sofia: off until switched on.

    For example: sale-sofia proxies sources --on monosans-http
    """
    source_list, public = SourceList(load_settings().data_dir), public_lists()
    shipped = {source.place for source in public.values()}
    offered = {name: [source] for name, source in public.items()}
    listed = dict(offered)
    for source in source_list.sources():
        if source.place not in shipped:  # two may differ only in their keys
            listed[source.name] = [*listed.get(source.name, ()), source]
    begun = [source for name in on or () for source in _find_lists(name, offered)]
    ended = [source for name in off or () for source in _find_lists(name, listed)]
    for source in begun:
        source_list.add(source)
    for source in ended:
        source_list.drop(source)
    used = {source.place for source in source_list.sources()}
    rows = [
        {
            "name": name,
            "address": source.name,
            "tier": source.tier,
            "scheme": source.scheme,
            "on": source.place in used,
        }
        for name, found in listed.items()
        for source in found
    ]
    table = Table(_folding_column("name"), _folding_column("address"), "tier", "scheme", "used")
    for row in rows:
        columns = ("name", "address", "tier", "scheme")
        table.add_row(*(str(row[name]) for name in columns), "on" if row["on"] else "off")
    print_answer({"sources": rows}, table, as_json=as_json)


def _find_lists(name: str, listed: Mapping[str, Sequence[ProxySource]]) -> Sequence[ProxySource]:
    if name not in listed:
        raise typer.BadParameter(f"no list {name!r}; there are {', '.join(listed)}")
    return listed[name]


@app.command("list")
def list_proxies(as_json: AsJson = False) -> None:
    """Show every proxy that a check found, with its exit address and what it gives away."""
    proxies = asyncio.run(_pool_proxies(load_settings()))
    table = Table("id", _folding_column("proxy"), "tier", "exit", "anonymity", _folding_column("source"))
    for proxy in proxies:
        seen = (proxy.tier, proxy.exit_address or _NOTHING, proxy.anonymity, proxy.source)
        table.add_row(proxy.id, proxy.address.masked, *seen)
    record = {"proxies": [_record(proxy) for proxy in proxies]}
    print_answer(record, table, as_json=as_json, empty=_NO_PROXIES)


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
    findings = asyncio.run(_check_proxies(load_settings(), _read_places(places or [])))
    if as_json:
        records = [
            {
                **_record(finding.proxy),
                "found": finding.label,
                "why": finding.why,
                "seconds": round(finding.seconds, 3),
            }
            for finding in findings
        ]
        print_json({"findings": records})
    elif not findings:
        tell(_NO_PROXIES if not places else "there is no proxy among these")
    else:
        table = Table(_folding_column("proxy"), "found", "exit", "anonymity", "seconds", "why")
        findings.sort(key=lambda finding: (not finding.usable, finding.label, finding.proxy.id))
        for finding in findings:
            seen = (finding.proxy.exit_address or _NOTHING, finding.proxy.anonymity, f"{finding.seconds:.1f}")
            table.add_row(finding.proxy.address.masked, finding.label, *seen, Text(finding.why))
        out.print(table)
    if not any(finding.usable for finding in findings):
        raise typer.Exit(NOT_ALL_RIGHT)


async def _check_proxies(settings: Settings, places: Sequence[str]) -> list[ProxyFinding]:
    redis_url = _shared_redis_url(settings)
    listed = [ProxySource(place) for place in places] or SourceList(settings.data_dir).sources()
    refresher = Refresher(
        pool=MemoryProxyPool(rules=PoolRules.from_settings(settings)),
        sources=listed,
        open_checker=lambda: open_checker(settings, redis_url),
        at_once=settings.proxy_check_concurrency,
    )
    findings: list[ProxyFinding] = []

    async def collect(finding: ProxyFinding) -> None:
        findings.append(finding)

    _say_sources(await refresher.run(collect))
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
    redis_url = _shared_redis_url(settings)
    if site is not None and site not in AVAILABLE_SITES:
        # The rotator's users name others.
        named = [portal.domain for portal in asyncio.run(domain_tables(settings, redis_url))]
        refuse(site not in named, f"no portal {site!r}; allowed: {', '.join(AVAILABLE_SITES)}")
    tables = asyncio.run(domain_tables(settings, redis_url, site))
    if as_json:
        rows = {portal.domain: [asdict(row) for row in portal.rows] for portal in tables}
        print_json({"stats": rows, "recovery": {portal.domain: portal.recovery for portal in tables}})
        return
    if not any(portal.rows for portal in tables):
        tell(_NO_PROXIES)
        return
    for portal in tables:
        headings = ("tier", "expected", "score", "successes", "latency", "ready in", "last reason")
        table = Table(_folding_column("proxy"), *headings, title=portal.domain)
        for row in portal.rows:
            latency = _NOTHING if row.latency_seconds is None else f"{row.latency_seconds:.2f} s"
            numbers = (f"{row.expected:.0%}", f"{row.score:.2f}", f"{row.successes} of {row.uses}", latency)
            table.add_row(row.address, row.tier, *numbers, _state(row), Text(row.last_reason or _NOTHING))
        out.print(table)
        if portal.recovery:
            out.print(f"recovery steps: {_by_count(portal.recovery)}")


def _state(row: DomainStats) -> str:
    if row.quarantined:
        return "quarantined"
    state = "now" if not row.ready_in_seconds else f"{row.ready_in_seconds:.0f} s"
    return f"in use, {state}" if row.leased else state


@app.command()
def remove(ids: Annotated[list[str], typer.Argument(help="Ids, as `proxies list` shows them.")]) -> None:
    """Forget proxies; their sources stay, so that the next refresh may find them again."""
    settings = load_settings()
    usable = SourceList(settings.data_dir).load_usable()
    known = {proxy.id for proxy in (*usable, *asyncio.run(_pool_proxies(settings)))}
    if unknown := [proxy_id for proxy_id in ids if proxy_id not in known]:
        raise typer.BadParameter(f"no proxy {unknown[0]!r}; `sale-sofia proxies list` shows the ids")
    asyncio.run(_remove_proxies(settings, ids))
    SourceList(settings.data_dir).remember([proxy for proxy in usable if proxy.id not in ids])
    forget_stats(settings, ids)
    log.print(f"{len(set(ids))} forgotten")


async def _remove_proxies(settings: Settings, ids: Sequence[str]) -> None:
    async with open_pool(settings, _shared_redis_url(settings)) as pool:
        await pool.remove(ids)
