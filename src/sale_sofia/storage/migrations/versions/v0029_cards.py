"""Cards as sightings: what they said, which adverts were opened, whose word a price is; ranks of pages."""

import sqlalchemy as sa
from alembic import op

revision = "0029_cards"
down_revision = "0027_parallel"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns; of every advert that is there the page was read."""
    op.add_column("listings", sa.Column("opened_at", sa.Float))
    by_card = sa.Column("price_by_card", sa.Boolean, nullable=False, server_default=sa.text("false"))
    op.add_column("listings", by_card)
    op.add_column("scrape_history", sa.Column("said", sa.JSON))
    op.add_column("cards", sa.Column("price_eur", sa.Float))
    op.add_column("jobs", sa.Column("ranked_by", sa.String(64)))
    op.add_column("frontier", sa.Column("rank", sa.Integer, nullable=False, server_default=sa.text("0")))
    ordered = ["job_id", "state", "rank", "not_before"]
    op.create_index("ix_frontier_job_id_state_rank_not_before", "frontier", ordered)
    op.execute(sa.text("UPDATE listings SET opened_at = visited_at"))
