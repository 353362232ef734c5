"""Visits of adverts without the key of their page, digests of 16 bytes, and indexes of what is looked for.

A visit names its listing, which has the page's key. The digest of a page stands with the visit alone: nothing
reads it elsewhere. The index of ranks holds only rows that wait, and the newest sighting of each portal is
found by the index that begins with the portal.
"""

import sqlalchemy as sa
from alembic import op

revision = "0046_short_visits"
down_revision = "0045_smaller_rows"
branch_labels = None
depends_on = None

_BYTES = 16
_HASHED = ("listings", "match_fingerprints", "description_reads")


def upgrade() -> None:
    """Each digest is the beginning of what it was."""
    op.drop_index("ix_listings_last_seen_at", "listings")
    op.drop_index("ix_frontier_job_id_state_rank_not_before", "frontier")
    _index("frontier", ["job_id", "rank", "not_before"], "state = 'pending'")
    _index("listings", ["site", "odd_visits"], "odd_visits > 0")
    short = f"substr(content_hash, 1, {_BYTES}), page_digest = substr(page_digest, 1, {_BYTES})"
    op.execute(f"UPDATE scrape_history SET content_hash = {short}")  # noqa: S608 - numbers of our own
    op.drop_column("listings", "page_digest")
    for table in _HASHED:
        op.execute(f"UPDATE {table} SET content_hash = substr(content_hash, 1, {2 * _BYTES})")  # noqa: S608
    op.drop_index("ix_scrape_history_site_url_key_fetched_at", "scrape_history")
    with op.batch_alter_table("scrape_history") as batch:
        batch.alter_column("url_key", existing_type=sa.String(500), nullable=True)
    op.execute("UPDATE scrape_history SET url_key = NULL WHERE listing_id IS NOT NULL")
    _index("scrape_history", ["site", "url_key", "fetched_at"], "listing_id IS NULL")


def _index(table: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(
        f"ix_{table}_{'_'.join(columns)}", table, columns, sqlite_where=where, postgresql_where=where
    )
