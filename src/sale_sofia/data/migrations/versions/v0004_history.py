"""Sweeps, visits and the generations of re-used advert ids."""

revision = "0004_history"
down_revision = "0003_monitoring"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing that is there changes."""
