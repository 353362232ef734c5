"""Who looked at the dashboard, and what they put off."""

import sqlalchemy as sa
from alembic import op

revision = "0011_dashboard"
down_revision = "0010_alerts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    op.create_table(
        "dashboard_visits",
        sa.Column("visitor", sa.String(120), nullable=False),
        sa.Column("since", sa.Float, nullable=False),
        sa.Column("began_at", sa.Float, nullable=False),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("visitor", name="pk_dashboard_visits"),
    )
    op.create_table(
        "dashboard_later",
        sa.Column("visitor", sa.String(120), nullable=False),
        sa.Column("property_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("put_off_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("visitor", "property_id", name="pk_dashboard_later"),
        sa.ForeignKeyConstraint(["property_id"], ["listings.id"], name="fk_dashboard_later_property_id"),
    )
    op.create_index("ix_listings_last_seen_at", "listings", ["last_seen_at"])
    op.create_index("ix_description_reads_read_at", "description_reads", ["read_at"])
