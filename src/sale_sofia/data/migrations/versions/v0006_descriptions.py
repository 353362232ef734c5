"""What descriptions say."""

revision = "0006_descriptions"
down_revision = "0005_properties"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing that is there changes."""
