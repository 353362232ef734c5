"""The people of a household, what lets each of them in, and what each thinks."""

import sqlalchemy as sa
from alembic import op

revision = "0036_people"
down_revision = "0032_links"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    op.create_table(
        "people",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("language", sa.String(2), nullable=False),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("password", sa.String(200)),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("entered_at", sa.Float),
        sa.PrimaryKeyConstraint("id", name="pk_people"),
        sa.UniqueConstraint("name", name="uq_people_name"),
    )
    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("device", sa.String(120)),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.Column("ends_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_sign_ins"),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_sign_ins_person_id"),
    )
    op.create_index("ix_sign_ins_person_id", "sign_ins", ["person_id"])
    op.create_table(
        "opinions",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("property_id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("opinion", sa.String(10)),
        sa.Column("reason", sa.Text),
        sa.Column("said_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_opinions"),
        sa.ForeignKeyConstraint(["property_id"], ["listings.id"], name="fk_opinions_property_id"),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_opinions_person_id"),
    )
    op.create_index("ix_opinions_property_id", "opinions", ["property_id"])
