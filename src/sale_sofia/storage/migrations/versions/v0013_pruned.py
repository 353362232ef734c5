"""How many pages of ended jobs were removed from the frontier."""

import sqlalchemy as sa
from alembic import op

revision = "0013_pruned"
down_revision = "0012_doubts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; nothing that is there changes."""
    op.create_table(
        "frontier_pruned",
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "kind", "state", name="pk_frontier_pruned"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_frontier_pruned_job_id"),
    )
