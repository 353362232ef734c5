"""What each try of a page ended in: every error has a number of tries of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0018_tried"
down_revision = "0017_put_off"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column; nothing that is there changes."""
    op.add_column("frontier", sa.Column("tried", sa.Text))
