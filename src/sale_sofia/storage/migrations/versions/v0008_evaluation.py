"""What the buyer decided, noted and planned; saved searches."""

import sqlalchemy as sa
from alembic import op

revision = "0008_evaluation"
down_revision = "0007_drift"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    _viewings()
    _evaluation_changes()
    _property_notes()
    _saved_searches()


def _viewings() -> None:
    op.create_table(
        "viewings",
        sa.Column("id", _id_type(), autoincrement=True, nullable=False),
        sa.Column("property_id", _id_type(), nullable=False),
        sa.Column("uid", sa.String(80), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("starts_at", sa.Float, nullable=False),
        sa.Column("minutes", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text) for name in ("agent", "phone", "place", "remarks", "outcome")),
        *(sa.Column(name, sa.JSON, nullable=False) for name in ("positives", "negatives")),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("changed_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_viewings"),
        sa.ForeignKeyConstraint(["property_id"], ["listings.id"], name="fk_viewings_property_id"),
        sa.UniqueConstraint("uid", name="uq_viewings_uid"),
    )
    op.create_index("ix_viewings_property_id", "viewings", ["property_id"])
    op.create_index("ix_viewings_starts_at", "viewings", ["starts_at"])


def _evaluation_changes() -> None:
    op.create_table(
        "evaluation_changes",
        sa.Column("id", _id_type(), autoincrement=True, nullable=False),
        sa.Column("property_id", _id_type(), nullable=False),
        sa.Column("viewing_id", _id_type()),
        sa.Column("field", sa.String(20), nullable=False),
        sa.Column("old", sa.JSON),
        sa.Column("new", sa.JSON),
        sa.Column("changed_by", sa.String(80), nullable=False),
        sa.Column("changed_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_evaluation_changes"),
        sa.ForeignKeyConstraint(["property_id"], ["listings.id"], name="fk_evaluation_changes_property_id"),
        sa.ForeignKeyConstraint(["viewing_id"], ["viewings.id"], name="fk_evaluation_changes_viewing_id"),
    )
    op.create_index("ix_evaluation_changes_property_id", "evaluation_changes", ["property_id"])
    op.create_index("ix_evaluation_changes_viewing_id", "evaluation_changes", ["viewing_id"])


def _property_notes() -> None:
    op.create_table(
        "property_notes",
        sa.Column("id", _id_type(), autoincrement=True, nullable=False),
        sa.Column("property_id", _id_type(), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("written_by", sa.String(80), nullable=False),
        sa.Column("written_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_property_notes"),
        sa.ForeignKeyConstraint(["property_id"], ["listings.id"], name="fk_property_notes_property_id"),
    )
    op.create_index("ix_property_notes_property_id", "property_notes", ["property_id"])


def _saved_searches() -> None:
    op.create_table(
        "saved_searches",
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("query", sa.JSON, nullable=False),
        sa.Column("saved_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_saved_searches"),
    )


def _id_type() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")
