"""The whole stored history of adverts, without the numbers that rows happen to get."""

from typing import Any

from sqlalchemy import Connection, RowMapping, Table, select

from sale_sofia.history.listing_rows import VOLATILE_FIELDS
from sale_sofia.history.market_events import WITHDRAWN
from sale_sofia.history.tables import listing_changes, listings, market_events, price_points, scrape_history
from sale_sofia.telemetry.tables import incidents

NUMBERS = {"id", "listing_id", "visit_id"}
EMPTIED = (market_events, price_points, listing_changes, scrape_history, listings, incidents)


def empty_history(connection: Connection) -> None:
    for table in EMPTIED:
        connection.execute(table.delete())


def whole_history(connection: Connection) -> list[Any]:
    """Every listing, the oldest generation first, with all that happened to it, by time."""
    found = select(listings).where(listings.c.closed_reason.is_distinct_from(WITHDRAWN))
    rows = connection.execute(
        found.order_by(listings.c.site, listings.c.external_id, listings.c.generation)
    ).mappings()
    return [_history(connection, row) for row in rows]


def _history(connection: Connection, row: RowMapping) -> dict[str, Any]:
    return {
        "listing": _plain(row, NUMBERS | VOLATILE_FIELDS),
        "visits": _of(connection, scrape_history, row, "fetched_at", NUMBERS),
        "changes": _of(connection, listing_changes, row, "seen_at", NUMBERS),
        "prices": _of(connection, price_points, row, "seen_at", NUMBERS),
        "events": _of(connection, market_events, row, "at", NUMBERS | {"noted_at"}),
    }


def _of(connection: Connection, table: Table, row: RowMapping, by: str, without: set[str]) -> list[Any]:
    found = connection.execute(select(table).where(table.c.listing_id == row["id"])).mappings()
    plain = [_plain(one, without) for one in found]
    return sorted(plain, key=lambda one: (one[by], repr(one)))


def _plain(row: RowMapping, without: set[str] | frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in without}
