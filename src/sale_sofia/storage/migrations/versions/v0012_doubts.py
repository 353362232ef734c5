"""Pairs of which the buyer said that he is not sure."""

import sqlalchemy as sa
from alembic import op

revision = "0012_doubts"
down_revision = "0011_dashboard"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; nothing that is there changes."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "match_doubts",
        sa.Column("low", number, nullable=False),
        sa.Column("high", number, nullable=False),
        sa.Column("said_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("low", "high", name="pk_match_doubts"),
        sa.ForeignKeyConstraint(["low"], ["listings.id"], name="fk_match_doubts_low"),
        sa.ForeignKeyConstraint(["high"], ["listings.id"], name="fk_match_doubts_high"),
    )
