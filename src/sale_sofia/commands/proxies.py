"""Commands about proxies: where they come from, how they are, how they do; no password is ever printed."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from sale_sofia.commands import proxy_services
from sale_sofia.commands.console import NOT_ALL_RIGHT, AsJson, log, out, print_json
from sale_sofia.commands.proxy_arguments import (
    given_places,
    open_pool,
    read_scheme,
    read_tier,
    shared_redis_url,
)
from sale_sofia.commands.proxy_tables import (
    counts_sentence,
    findings_table,
    known_table,
    source_lines,
    stats_table,
)
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.proxies.checker import Finding
from sale_sofia.proxies.factory import get_pool, get_refresher, new_job_id, open_checker
from sale_sofia.proxies.memory_pool import MemoryProxyPool
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.overview import domain_tables
from sale_sofia.proxies.reading import Count
from sale_sofia.proxies.refresh import Refresher, Sweep
from sale_sofia.proxies.refresh_board import RefreshProgress
from sale_sofia.proxies.refreshing import run_job
from sale_sofia.proxies.rules import PoolRules
from sale_sofia.proxies.source_list import SourceList
from sale_sofia.proxies.sources import Source, read_source

app = typer.Typer(no_args_is_help=True, help="Proxies: add, check and watch them. Without any, none is used.")
app.command()(proxy_services.judge)
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
    known = SourceList(load_settings().data_dir)
    for source in [Source(place, read_tier(tier), read_scheme(scheme)) for place in given_places(places)]:
        for line in asyncio.run(_looked_at(source)):
            log.print(line, highlight=False)
        known.add(source)
    log.print("check them with `sale-sofia proxies refresh`", highlight=False)


async def _looked_at(source: Source) -> list[str]:
    count = Count()
    for _ in await read_source(source, count):
        pass
    return source_lines(source.name, count)


@app.command("list")
def list_proxies(as_json: AsJson = False) -> None:
    """Show every proxy that a check found, with its exit address and what it gives away."""
    proxies = asyncio.run(_known(load_settings()))
    if as_json:
        print_json({"proxies": [_shown(one) for one in proxies]})
    else:
        out.print(known_table(proxies))


async def _known(settings: Settings) -> list[Proxy]:
    async with open_pool(settings) as pool:
        return await pool.known()


@app.command()
def check(
    places: Annotated[
        list[str] | None, typer.Argument(help="Proxies, files or lists; none: all that are known.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check proxies and say what each is; nothing is changed. Ends with 1 when none is usable."""
    findings = asyncio.run(_checked(load_settings(), given_places(places or [])))
    if as_json:
        print_json({"findings": [_finding(one) for one in findings]})
    else:
        out.print(findings_table(findings))
    if not any(one.usable for one in findings):
        raise typer.Exit(NOT_ALL_RIGHT)


async def _checked(settings: Settings, places: Sequence[str]) -> list[Finding]:
    redis_url = shared_redis_url(settings)
    listed = [Source(place) for place in places] or SourceList(settings.data_dir).sources()
    refresher = Refresher(
        pool=MemoryProxyPool(rules=PoolRules.from_settings(settings)),
        sources=listed,
        open_checker=lambda: open_checker(settings, redis_url),
        at_once=settings.proxy_check_concurrency,
    )
    findings: list[Finding] = []

    async def told(finding: Finding) -> None:
        findings.append(finding)

    _say_sources(await refresher.run(told))
    return findings


def _say_sources(sweep: Sweep) -> None:
    for name, count in sweep.counts.items():
        if count.malformed or count.left:
            for line in source_lines(name, count):
                log.print(line, highlight=False)
    for sentence in sweep.unreadable:
        log.print(sentence, style="red", highlight=False)


@app.command()
def refresh(as_json: AsJson = False) -> None:
    """Check all proxies and candidates now; each is available to all workers as soon as it was found good."""
    settings = load_settings()
    redis_url = shared_redis_url(settings)
    if redis_url is None:
        _print_sweep(asyncio.run(_refresh_here(settings)), as_json)
    else:
        _print_progress(asyncio.run(run_job(settings, redis_url, new_job_id())), as_json)


async def _refresh_here(settings: Settings) -> Sweep:
    pool = await get_pool(settings, None)
    sweep = await get_refresher(settings, pool, None).run()
    SourceList(settings.data_dir).remember_sweep(sweep.usable, whole=not sweep.timed_out)
    return sweep


def _print_sweep(sweep: Sweep, as_json: bool) -> None:
    _say_sources(sweep)
    if as_json:
        print_json({"candidates": sweep.candidates, "checked": sweep.checked, "found": sweep.labels})
    else:
        log.print(f"{sweep.checked} checked: {counts_sentence(sweep.labels)}", highlight=False)
    if not sweep.usable:
        raise typer.Exit(NOT_ALL_RIGHT)


def _print_progress(progress: RefreshProgress, as_json: bool) -> None:
    if as_json:
        print_json(asdict(progress))
    elif progress.status == "REPLACED":
        log.print("another refresh is under way", highlight=False)
    else:
        log.print(f"{progress.checked} checked: {progress.usable} usable", highlight=False)
    if progress.status != "REPLACED" and not progress.usable:
        raise typer.Exit(NOT_ALL_RIGHT)


@app.command()
def stats(
    site: Annotated[str | None, typer.Argument(help="One portal; all without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how proxies do on each portal: success, latency, rest, last reason."""
    settings = load_settings()
    tables = asyncio.run(domain_tables(settings, shared_redis_url(settings), site))
    if as_json:
        rows = {one.domain: [asdict(row) for row in one.rows] for one in tables}
        print_json({"stats": rows, "recovery": {one.domain: one.recovery for one in tables}})
        return
    for one in tables:
        out.print(stats_table(one.domain, one.rows))
        if one.recovery:
            out.print(f"recovery steps: {counts_sentence(one.recovery)}", highlight=False)


@app.command()
def remove(ids: Annotated[list[str], typer.Argument(help="Ids, as `proxies list` shows them.")]) -> None:
    """Forget proxies; their sources stay, so that the next refresh may find them again."""
    settings = load_settings()
    removed = asyncio.run(_removed(settings, ids))
    kept = [one for one in SourceList(settings.data_dir).known() if one.id not in ids]
    SourceList(settings.data_dir).remember(kept)
    log.print(f"{removed} forgotten", highlight=False)


async def _removed(settings: Settings, ids: Sequence[str]) -> int:
    async with open_pool(settings) as pool:
        return await pool.remove(ids)


def _shown(proxy: Proxy) -> dict[str, Any]:
    return {**asdict(proxy), "address": proxy.address.masked, "id": proxy.id}


def _finding(finding: Finding) -> dict[str, Any]:
    proxy = _shown(finding.proxy)
    return {**proxy, "found": finding.label, "why": finding.why, "seconds": round(finding.seconds, 3)}
