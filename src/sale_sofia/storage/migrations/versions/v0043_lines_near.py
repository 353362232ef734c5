"""From release 1.0.0 to 2.0, by the name of the last step that was there: its databases are current."""

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from sale_sofia.storage.migrations.scripts import run_script

revision = "0043_lines_near"
down_revision = "0013_pruned"
branch_labels = None
depends_on = None

_ROWS_AT_ONCE = 10_000
_INSERT = sa.text(
    "INSERT INTO price_points (listing_id, price_eur, kind, visit_id, seen_at) "
    "VALUES (:listing_id, :price_eur, 'printed_before', :visit_id, :seen_at)"
)
_FIRST = sa.text(
    "SELECT l.id AS listing_id, l.previous_price_eur AS printed, p.visit_id, p.seen_at FROM listings l "
    "JOIN price_points p ON p.listing_id = l.id AND p.kind = 'first' "
    "WHERE l.previous_price_eur IS NOT NULL "
    "OR EXISTS (SELECT 1 FROM listing_changes c WHERE c.listing_id = l.id AND c.field = 'previous_price_eur')"
)
_CHANGES = sa.text(
    "SELECT listing_id, old, new, visit_id, seen_at FROM listing_changes "
    "WHERE field = 'previous_price_eur' ORDER BY seen_at, id"
)


def upgrade() -> None:
    """All rows stay. Every advert is touched, so that each follower looks at it once more.

    Of every advert the page was read. What stood before the first colon of why a page of a job ended is its
    code; other sentences (of jobs, sweeps, incidents, messages) stay as they are, under the code `other`.
    """
    with op.batch_alter_table("price_points") as table:
        table.alter_column("kind", existing_type=sa.String(10), type_=sa.String(20), existing_nullable=False)
    run_script(op.get_bind(), "release_2_0.sql")
    points = list(_printed_prices(op.get_bind()))
    for first in range(0, len(points), _ROWS_AT_ONCE):
        op.get_bind().execute(_INSERT, points[first : first + _ROWS_AT_ONCE])


def _printed_prices(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    """The earlier prices that portals printed, once each: that of now, and those before each change."""
    first = {row["listing_id"]: dict(row) for row in connection.execute(_FIRST).mappings()}
    changes = [dict(row) for row in connection.execute(_CHANGES).mappings()]
    for change in reversed(changes):  # what was printed at first is what stood before the first change
        if change["listing_id"] in first:
            first[change["listing_id"]]["printed"] = _value(change["old"])
    known = set()
    for row in (*first.values(), *(change | {"printed": _value(change["new"])} for change in changes)):
        sum_in_print = row["listing_id"], row["printed"]
        if row["printed"] is not None and sum_in_print not in known:
            known.add(sum_in_print)
            names = ("listing_id", "visit_id", "seen_at")
            yield {name: row[name] for name in names} | {"price_eur": row["printed"]}


def _value(stored: object) -> object:
    """A JSON value: SQLite has its text, PostgreSQL itself."""
    return json.loads(stored) if isinstance(stored, str) else stored
