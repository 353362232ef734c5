"""From release 2.0: touches by scores alone are told apart, and flats are compared by columns."""

from alembic import op

from sale_sofia.storage.migrations.scripts import run_script

revision = "0044_scores_apart"
down_revision = "0043_lines_near"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """All rows stay."""
    run_script(op.get_bind(), "scores_apart.sql")
