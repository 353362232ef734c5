"""How proxies do on each portal, as rows to show: by the command, and by the page of health."""

from dataclasses import dataclass

from sale_sofia.config.settings import Settings
from sale_sofia.proxies.factory import get_pool
from sale_sofia.proxies.model import DomainStats
from sale_sofia.proxies.pool import EVERYWHERE, ScoredProxyPool


@dataclass(frozen=True, slots=True)
class DomainTable:
    """One portal; `*` is all of them together."""

    domain: str
    rows: tuple[DomainStats, ...]
    """The most promising first, those in quarantine last; every address is masked."""
    recovery: dict[str, int]
    """How often each step of the ladder was taken."""


async def domain_tables(
    settings: Settings, redis_url: str | None, site: str | None = None
) -> list[DomainTable]:
    """Every portal that proxies were asked for and all together, or one portal; no password is in it."""
    pool = await get_pool(settings, redis_url)
    try:
        domains = [site] if site else [*await pool.domains(), EVERYWHERE]
        return [await _table(pool, domain) for domain in domains]
    finally:
        await pool.close()


async def _table(pool: ScoredProxyPool, domain: str) -> DomainTable:
    rows = sorted(await pool.get_stats(domain), key=lambda one: (one.quarantined, -one.expected, one.id))
    return DomainTable(domain, tuple(rows), await pool.climbs(domain))
