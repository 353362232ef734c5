"""Who changed what the household shares: searches, profiles, rules, channels, links to flats, people."""

import sqlalchemy as sa
from alembic import op

revision = "0042_who"
down_revision = "0040_nearby"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the table; of what was changed before nobody is known."""
    op.create_table(
        "household_changes",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("about", sa.String(10), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("what", sa.String(10), nullable=False),
        sa.Column("changed_by", sa.String(80), nullable=False),
        sa.Column("changed_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_household_changes"),
    )
    op.create_index("ix_household_changes_about", "household_changes", ["about"])
