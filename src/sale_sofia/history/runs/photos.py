"""How many photos were requested, by the portals of their adverts: for reports and metrics."""

from typing import NamedTuple

from sqlalchemy import Connection, func, select

from sale_sofia.flats.tables import advert_photos
from sale_sofia.history.tables import listings


class PhotoCounts(NamedTuple):
    """The results of requesting photos of a portal's adverts."""

    asked: int = 0
    requests: int = 0
    """One for each photo, and one more for each further try."""
    kept: int = 0
    """Those that gave a picture to compare."""
    failed: int = 0


def count_photos(connection: Connection, *, since: float = 0.0) -> dict[str, PhotoCounts]:
    """By portal, the photos that were last requested since that moment."""
    requested, stored = func.count(), func.count(advert_photos.c.picture)
    query = (
        select(listings.c.site, requested, func.sum(advert_photos.c.requests), stored, requested - stored)
        .join_from(advert_photos, listings, listings.c.id == advert_photos.c.listing_id)
        .where(advert_photos.c.asked_at >= since)
        .group_by(listings.c.site)
    )
    return {row[0]: PhotoCounts(*map(int, row[1:])) for row in connection.execute(query)}
