"""Properties and their adverts."""

import sqlalchemy as sa
from alembic import op

revision = "0005_properties"
down_revision = "0004_history"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    _properties()
    _listing_sources()
    _match_links()
    _match_decisions()
    _match_fingerprints()
    _match_state()
    op.create_index("ix_listings_id_content_hash", "listings", ["id", "content_hash"])


def _properties() -> None:
    op.create_table(
        "properties",
        sa.Column("id", _id_type(), nullable=False, autoincrement=False),
        sa.Column("merged_into", _id_type()),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_properties"),
        sa.ForeignKeyConstraint(["id"], ["listings.id"], name="fk_properties_id"),
    )


def _listing_sources() -> None:
    op.create_table(
        "listing_sources",
        sa.Column("listing_id", _id_type(), nullable=False, autoincrement=False),
        sa.Column("property_id", _id_type(), nullable=False),
        sa.Column("probability", sa.Float, nullable=False),
        sa.Column("decided_by", sa.String(10), nullable=False),
        sa.Column("evidence", sa.JSON, nullable=False),
        sa.Column("decided_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("listing_id", name="pk_listing_sources"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_listing_sources_listing_id"),
        sa.ForeignKeyConstraint(["property_id"], ["properties.id"], name="fk_listing_sources_property_id"),
    )
    op.create_index("ix_listing_sources_property_id", "listing_sources", ["property_id"])


def _match_links() -> None:
    _pairs(
        "match_links",
        sa.Column("probability", sa.Float, nullable=False),
        sa.Column("kind", sa.Integer, nullable=False),
    )
    op.create_index("ix_match_links_high", "match_links", ["high"])
    op.create_index("ix_match_links_kind", "match_links", ["kind"])


def _match_decisions() -> None:
    _pairs(
        "match_decisions",
        sa.Column("same", sa.Boolean, nullable=False),
        sa.Column("decided_at", sa.Float, nullable=False),
    )


def _pairs(table: str, *columns: sa.Column[object]) -> None:
    op.create_table(
        table,
        sa.Column("low", _id_type(), nullable=False),
        sa.Column("high", _id_type(), nullable=False),
        *columns,
        sa.PrimaryKeyConstraint("low", "high", name=f"pk_{table}"),
        sa.ForeignKeyConstraint(["low"], ["listings.id"], name=f"fk_{table}_low"),
        sa.ForeignKeyConstraint(["high"], ["listings.id"], name=f"fk_{table}_high"),
    )


def _match_fingerprints() -> None:
    op.create_table(
        "match_fingerprints",
        sa.Column("listing_id", _id_type(), nullable=False, autoincrement=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("listing_id", name="pk_match_fingerprints"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_match_fingerprints_listing_id"),
    )


def _match_state() -> None:
    op.create_table(
        "match_state",
        sa.Column("id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("runs", sa.Integer, nullable=False),
        sa.Column("matched_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_match_state"),
    )


def _id_type() -> sa.types.TypeEngine[int]:
    # Only an INTEGER key counts up by itself in SQLite.
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")
