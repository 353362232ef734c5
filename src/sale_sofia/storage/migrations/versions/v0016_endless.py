"""What a search has shown while it goes on: one whose pages bring nothing new comes to an end."""

import sqlalchemy as sa
from alembic import op

revision = "0016_endless"
down_revision = "0015_coverage"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the table and columns; nothing that is there changes."""
    op.create_table(
        "shown_adverts",
        sa.Column("search_id", _ID, autoincrement=False, nullable=False),
        sa.Column("external_id", sa.String(80), nullable=False),
        sa.PrimaryKeyConstraint("search_id", "external_id", name="pk_shown_adverts"),
    )
    for name in ("different", "stale"):
        op.add_column("searches", sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0")))
