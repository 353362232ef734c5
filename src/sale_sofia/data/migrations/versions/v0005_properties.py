"""Properties, their adverts and agencies."""

revision = "0005_properties"
down_revision = "0004_history"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing that is there changes."""
