"""The stars that a person gives a flat."""

import sqlalchemy as sa
from alembic import op

revision = "0038_agenda"
down_revision = "0037_message_links"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is new; nothing that is there changes."""
    op.add_column("opinions", sa.Column("stars", sa.Integer))
