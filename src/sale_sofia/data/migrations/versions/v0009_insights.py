"""Scores and the fair-price model."""

revision = "0009_insights"
down_revision = "0008_evaluation"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing that is there changes."""
