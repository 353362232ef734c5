"""The tables of release 1.0.0, the oldest database that is brought up to date."""

from alembic import op

from sale_sofia.storage.migrations.scripts import run_script

revision = "0013_pruned"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table and its indexes."""
    run_script(op.get_bind(), "release_1_0.sql")
