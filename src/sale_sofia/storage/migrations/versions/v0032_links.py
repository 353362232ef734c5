"""Adverts linked to a relative's page instead of being opened; how many of a place a job has to open."""

import sqlalchemy as sa
from alembic import op

revision = "0032_links"
down_revision = "0031_scope"
branch_labels = None
depends_on = None
_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make columns, an index and a table; nothing that is there changes."""
    op.add_column("listings", sa.Column("copy_of", _ID))
    is_told = sa.text("family_id IS NOT NULL")
    op.create_index(
        "ix_listings_family_id", "listings", ["family_id"], sqlite_where=is_told, postgresql_where=is_told
    )
    op.add_column("frontier", sa.Column("kin", sa.String(10)))
    for name in ("linked", "sampled", "disagreed", "differing"):
        op.add_column("jobs", sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0")))
    op.create_table(
        "frontier_places",
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("place", sa.String(120), nullable=False),
        sa.Column("adverts", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "place", name="pk_frontier_places"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_frontier_places_job_id"),
    )
