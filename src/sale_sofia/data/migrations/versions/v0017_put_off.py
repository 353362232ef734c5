"""When a page was put off, and for which errors.

A wait by a clock that was wrong can be told and shortened; a page has as many tries as each error allows.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017_put_off"
down_revision = "0016_endless"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns; nothing that is there changes."""
    op.add_column("frontier", sa.Column("put_off_at", sa.Float))
    op.add_column("frontier", sa.Column("tried", sa.Text))
