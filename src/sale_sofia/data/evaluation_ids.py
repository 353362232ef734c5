"""Under which id a property goes now, whatever it was when something was said of it."""

from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, FromClause, func, select

from sale_sofia.config.evaluation import LARGEST_ID
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.properties import UnknownProperty
from sale_sofia.data.property_schema import listing_sources


def current_property(connection: Connection, property_id: int) -> int:
    """The property that this id leads to now; an advert that was never matched is one by itself.

    Raises:
        UnknownProperty: no property ever had it.
    """
    table, current = with_current(listings.c.id)
    chosen = select(current).select_from(table).where(listings.c.id == property_id)
    found = connection.scalar(chosen) if 0 < property_id <= LARGEST_ID else None
    if found is None:
        raise UnknownProperty(f"no property {property_id}; `sale-sofia properties` lists them")
    return int(found)


def hold(connection: Connection, property_id: int) -> int:
    """The id the property has now; whoever else writes of it waits until this transaction ends."""
    found = current_property(connection, property_id)
    connection.execute(select(listings.c.id).where(listings.c.id == found).with_for_update(key_share=True))
    return found


def with_current(then: Column[Any]) -> tuple[FromClause, ColumnElement[int]]:
    """The table of a column with ids of then, joined to the ids of now, and the column of these."""
    joined = then.table.outerjoin(listing_sources, listing_sources.c.listing_id == then)
    return joined, func.coalesce(listing_sources.c.property_id, then)
