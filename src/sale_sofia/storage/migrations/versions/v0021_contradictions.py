"""Facts that check each other: adverts that stand out from the market, and facts that the buyer put right."""

import sqlalchemy as sa
from alembic import op

revision = "0021_contradictions"
down_revision = "0020_codes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "outliers",
        sa.Column("listing_id", number, nullable=False),
        sa.Column("code", sa.String(40), nullable=False),
        sa.Column("least", sa.Float, nullable=False),
        sa.Column("most", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("listing_id", "code", name="pk_outliers"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_outliers_listing_id"),
    )
    op.create_table(
        "corrections",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("property_id", number, nullable=False),
        sa.Column("fact", sa.String(40), nullable=False),
        sa.Column("value", sa.JSON),
        sa.Column("said_by", sa.String(80), nullable=False),
        sa.Column("said_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_corrections"),
        sa.ForeignKeyConstraint(["property_id"], ["listings.id"], name="fk_corrections_property_id"),
    )
    op.create_index("ix_corrections_property_id", "corrections", ["property_id"])
