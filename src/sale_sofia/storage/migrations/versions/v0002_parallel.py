"""Crawling by many processes: who was woken when, and which pages their workers died under."""

import sqlalchemy as sa
from alembic import op

revision = "0002_parallel"
down_revision = "0001_first"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns that old rows have a right value for; nothing is rewritten."""
    op.add_column("jobs", sa.Column("runner", sa.String(80)))
    op.add_column("jobs", sa.Column("generation", sa.Integer, nullable=False, server_default=sa.text("0")))
    op.add_column("jobs", sa.Column("woken_at", sa.Float))
    op.add_column("frontier", sa.Column("deaths", sa.Integer, nullable=False, server_default=sa.text("0")))
    op.create_table(
        "schedule_slots",
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("slot", sa.String(40), nullable=False),
        sa.Column("taken_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("name", "slot", name="pk_schedule_slots"),
    )
