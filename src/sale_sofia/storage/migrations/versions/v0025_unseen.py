"""What pages no longer show: how often in a row, and whether a visit says anything of it."""

import sqlalchemy as sa
from alembic import op

revision = "0025_unseen"
down_revision = "0024_sentences"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns; nothing that is there changes."""
    for table in ("listings", "scrape_history"):
        op.add_column(table, sa.Column("unseen", sa.JSON))
    held = sa.Column("held_gaps", sa.Boolean, nullable=False, server_default=sa.text("false"))
    op.add_column("scrape_history", held)
    few = sa.column("held_gaps", sa.Boolean).is_(True)
    op.create_index(
        "ix_scrape_history_held_gaps",
        "scrape_history",
        ["job_id"],
        sqlite_where=few,
        postgresql_where=few,
    )
