"""What each search announced and gave, and what was learnt of a portal's caps and filters."""

import sqlalchemy as sa
from alembic import op

revision = "0015_coverage"
down_revision = "0014_held_news"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables and columns; nothing that is there changes."""
    op.create_table(
        "searches",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("parent_id", _ID),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("way", sa.String(80)),
        sa.Column("announced", sa.Integer),
        sa.Column("exact", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("pages", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("shown", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("first_digest", sa.String(64)),
        sa.Column("last_digest", sa.String(64)),
        sa.Column("next_url", sa.Text),
        sa.Column("ended", sa.String(12)),
        sa.PrimaryKeyConstraint("id", name="pk_searches"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_searches_job_id"),
    )
    op.create_index("ix_searches_job_id", "searches", ["job_id"])
    op.create_table(
        "learnt",
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("value", sa.JSON, nullable=False),
        sa.Column("learnt_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("site", "name", name="pk_learnt"),
    )
    op.add_column("frontier", sa.Column("search_id", _ID))
    for name in ("announced", "reachable", "opened", "stored"):
        op.add_column("sweeps", sa.Column(name, sa.Integer))
    op.add_column("sweeps", sa.Column("missing", sa.Text))
    op.add_column("cards", sa.Column("facts", sa.JSON))
