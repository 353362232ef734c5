"""Pairs of properties of which the buyer is not sure: they are asked again, after all others."""

from sqlalchemy import Connection, select

from sale_sofia.data.property_schema import listing_sources, match_doubts
from sale_sofia.data.upserts import insert_into


def save_doubt(connection: Connection, one: int, two: int, *, now: float) -> None:
    """The buyer is not sure of these two properties, from now on; said again, the later moment counts."""
    row = insert_into(connection, match_doubts).values(low=min(one, two), high=max(one, two), said_at=now)
    connection.execute(row.on_conflict_do_update(index_elements=["low", "high"], set_={"said_at": now}))


def read_doubts(connection: Connection) -> dict[frozenset[int], float]:
    """Since when the buyer is unsure, by the two properties that the adverts of then are of now."""
    one, two = listing_sources.alias("one"), listing_sources.alias("two")
    chosen = (
        select(one.c.property_id, two.c.property_id, match_doubts.c.said_at)
        .join(one, one.c.listing_id == match_doubts.c.low)
        .join(two, two.c.listing_id == match_doubts.c.high)
        .order_by(match_doubts.c.said_at)
    )
    return {frozenset(row[:2]): row[2] for row in connection.execute(chosen)}
