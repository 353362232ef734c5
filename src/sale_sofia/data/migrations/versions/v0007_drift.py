"""How pages of a portal usually look."""

revision = "0007_drift"
down_revision = "0006_descriptions"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing that is there changes."""
