"""Links in messages: the key they are signed with, and those that were used."""

import sqlalchemy as sa
from alembic import op

revision = "0037_message_links"
down_revision = "0036_people"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    op.create_table(
        "link_keys",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_link_keys"),
    )
    op.create_table(
        "spent_links",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("ends_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_spent_links"),
    )
