"""When a page was put off, beside until when: a wait by a clock that was wrong can be told and shortened."""

import sqlalchemy as sa
from alembic import op

revision = "0017_put_off"
down_revision = "0016_endless"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column; nothing that is there changes."""
    op.add_column("frontier", sa.Column("put_off_at", sa.Float))
