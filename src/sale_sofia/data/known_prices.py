"""What adverts cost as far as is known: to be compared with what their pages say now."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from sale_sofia.data.listing_schema import listings


class KnownPrice(NamedTuple):
    """The price that is believed of an advert, and the area it is for."""

    price_eur: float | None
    area_sqm: float | None


_SELECT = select(listings.c.external_id, listings.c.price_eur, listings.c.area_sqm).where(
    listings.c.site == bindparam("of_site"),
    listings.c.closed_at.is_(None),
    listings.c.external_id.in_(bindparam("ids", expanding=True)),
)


def known_prices(connection: Connection, site: str, external_ids: Sequence[str]) -> dict[str, KnownPrice]:
    """The prices of those of these adverts that were seen before."""
    if not external_ids:
        return {}
    rows = connection.execute(_SELECT, {"of_site": site, "ids": sorted(set(external_ids))})
    return {row.external_id: KnownPrice(row.price_eur, row.area_sqm) for row in rows}
