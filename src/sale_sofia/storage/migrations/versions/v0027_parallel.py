"""Until when a whole job waits, said once and not in each of its rows; batches of it that have ended."""

import sqlalchemy as sa
from alembic import op

revision = "0027_parallel"
down_revision = "0025_unseen"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns; nothing that is there changes."""
    op.add_column("jobs", sa.Column("shut_until", sa.Float))
    op.add_column("jobs", sa.Column("shut_at", sa.Float))
    op.add_column("jobs", sa.Column("chunks", sa.Integer, nullable=False, server_default=sa.text("0")))
