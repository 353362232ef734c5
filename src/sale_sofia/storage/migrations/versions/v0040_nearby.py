"""What is near a flat, to be searched by: walks, the rank of its school, the class of a big road."""

import sqlalchemy as sa
from alembic import op

revision = "0040_nearby"
down_revision = "0039_shares"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns; all flats are merged anew when they are next asked for."""
    for name in ("school", "rank", "shop", "stop", "road"):
        for end in ("least", "most"):
            op.add_column("flats", sa.Column(f"{name}_{end}", sa.Integer))
