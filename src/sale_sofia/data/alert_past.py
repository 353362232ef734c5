"""Adverts as they were at a moment, for rules that begin to watch a flat after the buyer did."""

from collections.abc import Mapping

from sqlalchemy import Connection, select

from sale_sofia.data.alerts import Watched
from sale_sofia.data.history_schema import market_events
from sale_sofia.data.listing_schema import price_points
from sale_sofia.data.properties_state import portions


def as_of(connection: Connection, moments: Mapping[int, float]) -> dict[int, Watched]:
    """Each of these adverts as it was known at its moment; one that was not seen yet is left out."""
    found: dict[int, Watched] = {}
    for some in portions(sorted(moments)):
        points = select(price_points).where(price_points.c.listing_id.in_(some))
        for row in connection.execute(points.order_by(price_points.c.seen_at, price_points.c.id)):
            if row.seen_at <= moments[row.listing_id]:
                found[row.listing_id] = Watched(row.listing_id, row.price_eur, row.vat, None)
        events = select(market_events).where(market_events.c.listing_id.in_(some))
        for row in connection.execute(events.order_by(market_events.c.noted_at, market_events.c.id)):
            if row.noted_at <= moments[row.listing_id] and row.listing_id in found:
                gone_at = row.at if row.kind == "gone" else None
                found[row.listing_id] = found[row.listing_id]._replace(gone_at=gone_at)
    return found
