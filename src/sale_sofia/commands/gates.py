"""The portals' gates as all workers share them: show their circuits, change a rate while they work."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from sale_sofia.commands.console import AsJson, log, out, print_json
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.resilience.circuit_breaker import CircuitStatus
from sale_sofia.resilience.factory import get_circuit_breaker, get_rate_limiter
from sale_sofia.resilience.redis_client import connect
from sale_sofia.services.running_redis import known_redis_url
from sale_sofia.websites.registry import get_scraper

_SHARED = {"redis_rate_limiter_enabled": True, "redis_circuit_breaker_enabled": True}


def rate(
    site: Annotated[str, typer.Argument(help="The portal.")],
    per_minute: Annotated[
        float | None,
        typer.Argument(help="Requests per minute of all workers together; without it as configured."),
    ] = None,
) -> None:
    """Change a portal's rate while workers crawl: it holds for all of them from their next request on.

    For example: sale-sofia rate imot.bg 20, and later sale-sofia rate imot.bg to take it back.
    """
    settings = _shared_settings()
    domain = get_scraper(site).name
    asyncio.run(_set_rate(settings, known_redis_url(settings), domain, per_minute))
    told = "as configured" if per_minute is None else f"{per_minute:g} requests per minute"
    log.print(f"{domain}: {told}", highlight=False)


async def _set_rate(settings: Settings, url: str, domain: str, per_minute: float | None) -> None:
    async with connect(url) as redis:
        await get_rate_limiter(settings, settings.rate_limit, redis).set_rate(domain, per_minute)


def circuits(as_json: AsJson = False) -> None:
    """Show each portal's circuit: whether it is asked at all (closed) or left alone (open), and why."""
    settings = _shared_settings()
    found = asyncio.run(_circuits(settings, known_redis_url(settings)))
    if as_json:
        print_json({"circuits": {domain: asdict(one) for domain, one in found.items()}})
    else:
        out.print(_table(found))


async def _circuits(settings: Settings, url: str) -> Mapping[str, CircuitStatus]:
    async with connect(url) as redis:
        return await get_circuit_breaker(settings, redis).get_all_states()


def _table(found: Mapping[str, CircuitStatus]) -> Table:
    table = Table("portal", "circuit", "failures in a row", "last block", "allowed", "refused")
    for domain, one in sorted(found.items()):
        counts = (str(one.failures), one.last_block or "–", str(one.allowed), str(one.refused))
        table.add_row(domain, one.state.value.lower(), *counts)
    return table


def _shared_settings() -> Settings:
    """What is shown and changed is what workers share, whatever mode this command is run in."""
    return load_settings().model_copy(update=_SHARED)
