"""How many photos were asked for, by the portals of their adverts: for reports and metrics."""

from typing import NamedTuple

from sqlalchemy import Connection, func, select

from sale_sofia.flats.tables import advert_photos
from sale_sofia.history.tables import listings


class PhotoCounts(NamedTuple):
    """What came of the photos of a portal's adverts."""

    asked: int = 0
    requests: int = 0
    """One for each photo, and one more for each further try."""
    kept: int = 0
    """Of which there is a picture to compare."""
    failed: int = 0


def count_photos(connection: Connection, *, since: float = 0.0) -> dict[str, PhotoCounts]:
    """By portal, the photos that were asked for (the last time) since that moment."""
    asked, kept = func.count(), func.count(advert_photos.c.picture)
    chosen = (
        select(listings.c.site, asked, func.sum(advert_photos.c.requests), kept, asked - kept)
        .join_from(advert_photos, listings, listings.c.id == advert_photos.c.listing_id)
        .where(advert_photos.c.asked_at >= since)
        .group_by(listings.c.site)
    )
    return {row[0]: PhotoCounts(*map(int, row[1:])) for row in connection.execute(chosen)}
