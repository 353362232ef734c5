"""What the buyer decided, noted and planned; saved searches."""

revision = "0008_evaluation"
down_revision = "0007_drift"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing that is there changes."""
