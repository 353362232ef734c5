"""What changed lately is found by its moment, also in a database that knows how large its tables are."""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, event

from contract.storage.helpers import ready_database
from sale_sofia.history.changes import happenings
from sale_sofia.storage.database import Database

STATISTICS = {
    "ix_listing_changes_seen_at": ("listing_changes", "4000000 1"),
    "ix_listing_changes_listing_id_seen_at": ("listing_changes", "4000000 20 1"),
    "ix_price_points_listing_id_seen_at": ("price_points", "2200000 11 1"),
    "ix_listings_first_seen_at": ("listings", "200000 1"),
}
"""As ANALYZE counts 200 000 adverts with twenty changes each."""


def test_changes_since_a_moment_go_through_no_whole_table(tmp_path: Path) -> None:
    """SQLite takes a quarter of a table to be later than any moment, and would go through all adverts."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    ready_database(tmp_path / "x.db").dispose()
    with sqlite3.connect(tmp_path / "x.db") as file:
        file.execute("ANALYZE")
        values = [(table, name, counts) for name, (table, counts) in STATISTICS.items()]
        file.execute("DELETE FROM sqlite_stat1")
        file.executemany("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", values)
    asked: list[tuple[str, tuple[object, ...]]] = []
    known = Database(url, busy_timeout_seconds=30, busy_retries=3)
    with known.read() as connection:
        _note(connection, asked)
        list(happenings(connection, 5.0))
    known.dispose()
    with sqlite3.connect(tmp_path / "x.db") as file:
        plans = [row[3] for query, some in asked for row in file.execute(f"EXPLAIN QUERY PLAN {query}", some)]
    assert len(asked) == 3
    assert "SEARCH listing_changes USING INDEX ix_listing_changes_seen_at (seen_at>?)" in plans
    assert [plan for plan in plans if plan.startswith("SCAN")] == []


def _note(connection: Connection, asked: list[tuple[str, tuple[object, ...]]]) -> None:
    @event.listens_for(connection, "before_cursor_execute")
    def note(
        _connection: object, _cursor: object, query: str, some: tuple[object, ...], *_more: object
    ) -> None:
        asked.append((query, some))
