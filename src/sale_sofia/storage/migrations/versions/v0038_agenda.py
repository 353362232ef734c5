"""The stars that a person gives a flat, photos of the household's own, and who said what is one flat."""

import sqlalchemy as sa
from alembic import op

revision = "0038_agenda"
down_revision = "0037_message_links"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add what is new; nothing that is there changes."""
    op.add_column("opinions", sa.Column("stars", sa.Integer))
    op.add_column("match_decisions", sa.Column("said_by", sa.String(80)))
    op.create_table(
        "own_photos",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("property_id", _ID, nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("added_by", sa.String(80), nullable=False),
        sa.Column("added_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_own_photos"),
        sa.ForeignKeyConstraint(["property_id"], ["listings.id"], name="fk_own_photos_property_id"),
        sa.UniqueConstraint("name", name="uq_own_photos_name"),
    )
    op.create_index("ix_own_photos_property_id", "own_photos", ["property_id"])
