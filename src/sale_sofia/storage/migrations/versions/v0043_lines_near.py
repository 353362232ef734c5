"""The lines of stops near a flat, to be searched by: those near wherever it is, and those that may be."""

import sqlalchemy as sa
from alembic import op

revision = "0043_lines_near"
down_revision = "0042_who"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns; all flats are merged anew when they are next asked for."""
    for name in ("lines", "some_lines"):
        op.add_column("flats", sa.Column(name, sa.Text))
