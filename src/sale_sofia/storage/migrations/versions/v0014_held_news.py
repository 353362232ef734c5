"""Adverts that are not shown as new, as the run that first saw them did not read them."""

import sqlalchemy as sa
from alembic import op

revision = "0014_held_news"
down_revision = "0013_pruned"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; every advert that is there was new when it was first seen."""
    op.add_column("listings", sa.Column("held_by", sa.String(40)))
    op.add_column("listings", sa.Column("new_at", sa.Float))
    for name in ("held_by", "new_at"):
        known = sa.column(name).is_not(None)
        op.create_index(f"ix_listings_{name}", "listings", [name], sqlite_where=known, postgresql_where=known)
