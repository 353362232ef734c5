"""The incident of prices that turned into another meaning: open while a portal has such adverts."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from sale_sofia.data.incidents import IncidentKind, Trouble, close_incident, open_incident
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.price_meaning import another_meaning
from sale_sofia.data.sightings import Sighting, Stored


def report_odd(connection: Connection, doubted: Sequence[tuple[Sighting, Stored]]) -> None:
    """Open the incident of each portal of these adverts, with one of them as an example.

    Only prices that turned into something else: of others nothing better was known.
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
        message = (
            f"advert {sighting.listing.external_id} shows {sighting.listing.price_eur:g} € where "
            f"{old['price_eur']:g} € was: {another_meaning(old, sighting.fields)}; the old price is kept"
        )
        trouble = Trouble(IncidentKind.PRICE_MEANING, site, message, sighting.job_id, details)
        open_incident(connection, trouble, now=sighting.seen_at)


def close_if_settled(connection: Connection, sites: set[str], *, now: float) -> None:
    """Close the incident of each portal that has no such advert any more; what is gone is in no doubt."""
    for site in sites:
        left = select(listings.c.id).where(
            listings.c.site == site,
            listings.c.odd_visits > 0,
            listings.c.price_eur.is_not(None),
            listings.c.gone_at.is_(None),
            listings.c.closed_at.is_(None),
        )
        if connection.execute(left.limit(1)).first() is None:
            close_incident(connection, IncidentKind.PRICE_MEANING, site, now=now)
