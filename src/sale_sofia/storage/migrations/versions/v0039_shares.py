"""Links to single flats for people who are not of the household."""

import sqlalchemy as sa
from alembic import op

revision = "0039_shares"
down_revision = "0038_agenda"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the table; nothing that is there changes."""
    op.create_table(
        "shared_links",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("property_id", _ID, nullable=False),
        sa.Column("made_by", sa.String(80), nullable=False),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("ends_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_shared_links"),
        sa.UniqueConstraint("digest", name="uq_shared_links_digest"),
        sa.ForeignKeyConstraint(["property_id"], ["listings.id"], name="fk_shared_links_property_id"),
    )
    op.create_index("ix_shared_links_property_id", "shared_links", ["property_id"])
