"""Photos as evidence: what was asked for, and what tells each picture from others."""

import sqlalchemy as sa
from alembic import op

revision = "0023_photos"
down_revision = "0022_printed"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """One table, empty: photos come with the next crawls."""
    op.create_table(
        "advert_photos",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("listing_id", _ID, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("asked_at", sa.Float, nullable=False),
        sa.Column("code", sa.String(60)),
        sa.Column("again", sa.Boolean, nullable=False),
        sa.Column("signature", sa.LargeBinary),
        sa.Column("picture", _ID),
        sa.Column("stock", sa.Boolean, nullable=False),
        sa.Column("thumbnail", sa.LargeBinary),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_advert_photos_listing_id"),
        sa.PrimaryKeyConstraint("id", name="pk_advert_photos"),
        sa.UniqueConstraint("listing_id", "position", name="uq_advert_photos_listing_id_position"),
    )
    op.create_index("ix_advert_photos_picture", "advert_photos", ["picture"])
