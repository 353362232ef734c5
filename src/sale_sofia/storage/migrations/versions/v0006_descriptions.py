"""What descriptions say."""

import sqlalchemy as sa
from alembic import op

revision = "0006_descriptions"
down_revision = "0005_properties"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    _description_reads()
    _description_disagreements()
    _llm_answers()


def _description_reads() -> None:
    op.create_table(
        "description_reads",
        sa.Column("listing_id", _id_type(), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("rules", sa.String(64), nullable=False),
        sa.Column("attributes", sa.JSON, nullable=False),
        sa.Column("open_fields", sa.JSON, nullable=False),
        sa.Column("open_count", sa.Integer, nullable=False),
        sa.Column("asked", sa.String(64)),
        sa.Column("read_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("listing_id", name="pk_description_reads"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_description_reads_listing_id"),
    )
    op.create_index("ix_description_reads_rules", "description_reads", ["rules"])


def _description_disagreements() -> None:
    op.create_table(
        "description_disagreements",
        sa.Column("listing_id", _id_type(), nullable=False),
        sa.Column("field", sa.String(40), nullable=False),
        sa.Column("portal", sa.JSON),
        sa.Column("text", sa.JSON),
        sa.Column("quote", sa.Text, nullable=False),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("listing_id", "field", name="pk_description_disagreements"),
        sa.ForeignKeyConstraint(
            ["listing_id"], ["listings.id"], name="fk_description_disagreements_listing_id"
        ),
    )


def _llm_answers() -> None:
    op.create_table(
        "llm_answers",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("text_hash", sa.String(64), nullable=False),
        sa.Column("schema_hash", sa.String(64), nullable=False),
        sa.Column("rules", sa.String(64), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("answer", sa.JSON, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_llm_answers"),
    )
    op.create_index("ix_llm_answers_created_at", "llm_answers", ["created_at"])


def _id_type() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")
