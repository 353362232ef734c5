"""Every price of an advert, flat by flat, and how long each has been on the market."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, select

from sale_sofia.history.market_events import WITHDRAWN, Source, days_on_market, listed_since
from sale_sofia.history.sightings import Sighting, Stored
from sale_sofia.history.tables import HAS_ODD_PRICE, WAS_ASKED, listings, price_points
from sale_sofia.history.timeline import PER_SQM, another_meaning, price_per_sqm
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, close_incident, open_incident


@dataclass(frozen=True, slots=True)
class PricePoint:
    """A printed price since a moment. Its kind is what changed: first, price, vat or currency.

    Or `printed_before`: it was never seen itself; a page printed it as the earlier price.
    """

    seen_at: float
    price_eur: float | None
    price_bgn: float | None
    vat: str | None
    kind: str


@dataclass(frozen=True, slots=True)
class PriceHistory:
    """One flat under an advert's id. Moments are seconds since 1970."""

    site: str
    external_id: str
    generation: int
    url: str
    title: str | None
    area_sqm: float | None
    price_per_sqm: float | None
    first_seen_at: float
    last_seen_at: float
    gone_at: float | None
    closed_at: float | None
    closed_reason: str | None
    on_market_since: float
    on_market_source: Source
    """Its source: the portal (`posted`), the moment in an imot.bg id (`id`), or our `first_seen`."""
    days_on_market: float
    odd_price_eur: float | None
    """A price of another meaning that the advert currently shows and that is not believed."""
    points: tuple[PricePoint, ...]


def price_history(connection: Connection, site: str, external_id: str, *, now: float) -> list[PriceHistory]:
    """The flats that the advert has shown, the oldest first; none for an advert that was never seen."""
    query = select(listings).where(
        listings.c.site == site,
        listings.c.external_id == external_id,
        listings.c.closed_reason.is_distinct_from(WITHDRAWN),
    )
    rows = connection.execute(query.order_by(listings.c.generation)).mappings().all()
    return [_history(connection, row, now) for row in rows]


def _history(connection: Connection, row: RowMapping, now: float) -> PriceHistory:
    points = select(*(price_points.c[name] for name in PricePoint.__dataclass_fields__)).where(
        price_points.c.listing_id == row["id"]
    )
    # An earlier price sorts before the current one, whenever its row was written.
    stored = connection.execute(points.order_by(price_points.c.seen_at, WAS_ASKED, price_points.c.id))
    computed = ("price_per_sqm", "on_market_since", "on_market_source", "days_on_market", "points")
    plain = {name: row[name] for name in PriceHistory.__dataclass_fields__ if name not in computed}
    since = listed_since(row)
    return PriceHistory(
        **plain,
        price_per_sqm=price_per_sqm(row),
        on_market_since=since.at,
        on_market_source=since.source,
        days_on_market=days_on_market(since.at, row["gone_at"], row["closed_at"], now=now),
        points=tuple(PricePoint(*point) for point in stored),
    )


# The incident of prices that changed their meaning: open while a portal has such adverts.


def report_odd(connection: Connection, doubted: Sequence[tuple[Sighting, Stored]]) -> None:
    """Open the incident of each portal of these adverts, with one of them as an example.

    Only for prices that changed their meaning: others have no earlier price to compare with.
    """
    turned = [pair for pair in doubted if another_meaning(pair[1], pair[0].fields)]
    examples = {sighting.listing.site: (sighting, old) for sighting, old in turned}
    for site, (sighting, old) in examples.items():
        details = {
            "url": sighting.listing.url,
            "external_id": sighting.listing.external_id,
            "price_eur": old["price_eur"],
            "odd_price_eur": sighting.listing.price_eur,
            "page_digest": sighting.page_digest,
        }
        meaning = another_meaning(old, sighting.fields)
        message = Said(
            "trouble.price_meaning",
            advert=sighting.listing.external_id,
            new=sighting.listing.price_eur,
            old=old["price_eur"],
            why=Said("price.per_sqm") if meaning == PER_SQM else Said("price.part", part=meaning),
        )
        trouble = Trouble(IncidentKind.PRICE_MEANING, site, message, sighting.job_id, details)
        open_incident(connection, trouble, now=sighting.seen_at)


def close_if_settled(connection: Connection, sites: set[str], *, now: float) -> None:
    """Close the incident of each portal that has no such advert any more; gone adverts do not count."""
    for site in sites:
        left = select(listings.c.id).where(
            listings.c.site == site,
            HAS_ODD_PRICE,
            listings.c.price_eur.is_not(None),
            listings.c.gone_at.is_(None),
            listings.c.closed_at.is_(None),
        )
        if connection.execute(left.limit(1)).first() is None:
            close_incident(connection, IncidentKind.PRICE_MEANING, site, now=now)
