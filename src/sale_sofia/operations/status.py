"""How each portal's data is, and the best offers among it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.frontier.outlook import Outlook, read_outlook
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.tables import listings

_BEST = 5
_HOMES = ("apartment", "maisonette", "studio")
_ON_THE_MARKET = (listings.c.gone_at.is_(None), listings.c.closed_at.is_(None))


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """One portal: what is stored of it, and what its last job did."""

    site: str
    adverts: int
    last_seen_at: float | None
    job_id: str | None
    job_state: str | None
    pending: int
    failed: int
    outlook: Outlook | None = None
    """Of a job that goes on: what it has found, and how long it still takes."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One advert, cheap for its size."""

    site: str
    external_id: str
    neighbourhood: str | None
    rooms: int | None
    area_sqm: float
    price_eur: float
    price_per_sqm: float
    url: str


def site_statuses(connection: Connection, sites: Sequence[str]) -> list[SiteStatus]:
    """The portals in the given order."""
    statuses = []
    for site in sites:
        stored = select(func.count(), func.max(listings.c.last_seen_at)).where(
            listings.c.site == site, *_ON_THE_MARKET
        )
        adverts, last_seen_at = connection.execute(stored).one()
        newest = select(jobs.c.id).where(jobs.c.site == site).order_by(jobs.c.created_at.desc()).limit(1)
        job_id = connection.execute(newest).scalar()
        job = known_job(connection, job_id) if job_id else None
        state = job.state.value if job else None
        counts = frontier.count_rows(connection, job_id) if job_id else frontier.Counts()
        outlook = read_outlook(connection, job) if job else None
        told = (site, adverts, last_seen_at, job_id, state, counts.open, counts.failed, outlook)
        statuses.append(SiteStatus(*told))
    return statuses


def best_offers(connection: Connection) -> list[Offer]:
    """The homes for sale with the lowest price per square metre; VAT is not added."""
    per_sqm = (listings.c.price_eur / listings.c.area_sqm).label("price_per_sqm")
    columns = [listings.c[name] for name in Offer.__dataclass_fields__ if name != "price_per_sqm"]
    homes = select(*columns, per_sqm).where(
        *_ON_THE_MARKET,
        listings.c.deal == "sale",
        listings.c.property_type.in_(_HOMES),
        listings.c.city == "София",
        listings.c.price_eur.is_not(None),
        listings.c.area_sqm.is_not(None),
    )
    return [Offer(**row) for row in connection.execute(homes.order_by(per_sqm).limit(_BEST)).mappings()]
