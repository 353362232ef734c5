"""Rules, messages to be sent, and what was sent."""

revision = "0010_alerts"
down_revision = "0009_insights"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing that is there changes."""
