"""Crawls for what is looked for: which profiles and saved searches a job is for."""

import sqlalchemy as sa
from alembic import op

revision = "0031_scope"
down_revision = "0030_flats"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column; every job there is was for everything."""
    op.add_column("jobs", sa.Column("looks_for", sa.JSON))
