"""Digests of visits and pages as bytes, not as digits; the visits of an advert indexed by its listings.

Indexes that no query uses any more are dropped.
"""

import sqlite3
from typing import cast

import sqlalchemy as sa
from alembic import op

revision = "0045_smaller_rows"
down_revision = "0044_scores_apart"
branch_labels = None
depends_on = None

_UNUSED = {"listings": "neighbourhood", "description_reads": "read_at"}
_DIGESTS = {"scrape_history": ("content_hash", "page_digest"), "pages": ("digest",)}


def upgrade() -> None:
    """Each is the same digest as before."""
    op.drop_index("ix_scrape_history_site_url_key_fetched_at", "scrape_history")
    for table, column in _UNUSED.items():
        op.drop_index(f"ix_{table}_{column}", table)
    in_file = op.get_bind().dialect.name == "sqlite"
    for table, columns in _DIGESTS.items():
        if in_file:  # its tables are made anew with the values that are there
            _decode(table, columns)
        with op.batch_alter_table(table) as batch:
            for column in columns:
                batch.alter_column(
                    column,
                    existing_type=sa.String(64),
                    type_=sa.LargeBinary(),
                    postgresql_using=f"decode({column}, 'hex')",
                )
    _index(["site", "url_key", "fetched_at"], sa.text("listing_id IS NULL"))
    _index(["listing_id", "fetched_at"], sa.text("listing_id IS NOT NULL"))


def _index(columns: list[str], where: sa.TextClause) -> None:
    name = f"ix_scrape_history_{'_'.join(columns)}"
    op.create_index(name, "scrape_history", columns, sqlite_where=where, postgresql_where=where)


def _decode(table: str, columns: tuple[str, ...]) -> None:
    driver = cast("sqlite3.Connection", op.get_bind().connection.driver_connection)
    driver.create_function("bytes_of", 1, _bytes_of, deterministic=True)  # `unhex` is of SQLite 3.41
    values = ", ".join(f"{column} = bytes_of({column})" for column in columns)
    op.execute(f"UPDATE {table} SET {values}")  # noqa: S608 - names of our own


def _bytes_of(digits: str | None) -> bytes | None:
    return None if digits is None else bytes.fromhex(digits)
