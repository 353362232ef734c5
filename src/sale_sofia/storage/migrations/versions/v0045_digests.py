"""Digests of visits and of archived pages as bytes, half as long as their hexadecimal digits."""

import sqlite3
from typing import cast

import sqlalchemy as sa
from alembic import op

revision = "0045_digests"
down_revision = "0044_scores_apart"
branch_labels = None
depends_on = None

_DIGESTS = {"scrape_history": ("content_hash", "page_digest"), "pages": ("digest",)}


def upgrade() -> None:
    """Each is the same digest as before."""
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


def _decode(table: str, columns: tuple[str, ...]) -> None:
    driver = cast("sqlite3.Connection", op.get_bind().connection.driver_connection)
    driver.create_function("bytes_of", 1, _bytes_of, deterministic=True)  # `unhex` is of SQLite 3.41
    values = ", ".join(f"{column} = bytes_of({column})" for column in columns)
    op.execute(f"UPDATE {table} SET {values}")  # noqa: S608 - names of our own


def _bytes_of(digits: str | None) -> bytes | None:
    return None if digits is None else bytes.fromhex(digits)
