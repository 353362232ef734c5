"""Conditional requests: what to send along with the address of an advert that we have."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from sale_sofia.data.unmodified import validators
from sale_sofia.scraping.frontier import Claim
from sale_sofia.websites.registry import get_scraper


def conditions_for(
    connection: Connection, site: str, claims: Sequence[Claim]
) -> dict[str, Mapping[str, str]]:
    """The headers for each claimed address whose page may be the one we have."""
    scraper = get_scraper(site)
    adverts = {claim.url: scraper.listing_id(claim.url) for claim in claims if claim.kind == "listing"}
    known = validators(connection, site, [advert for advert in adverts.values() if advert])
    return {url: known[advert] for url, advert in adverts.items() if advert and advert in known}
