"""How pages of a portal usually look."""

import sqlalchemy as sa
from alembic import op

revision = "0007_drift"
down_revision = "0006_descriptions"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; a visit may from now on be one whose price or type is held back."""
    _drift_runs()
    for name in ("held", "held_type"):
        held = sa.Column(name, sa.Boolean, nullable=False, server_default=sa.text("false"))
        op.add_column("scrape_history", held)
    only_held = sa.column("held", sa.Boolean).is_(True)
    op.create_index(
        "ix_scrape_history_held",
        "scrape_history",
        ["job_id"],
        sqlite_where=only_held,
        postgresql_where=only_held,
    )


def _drift_runs() -> None:
    op.create_table(
        "drift_runs",
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("counters", sa.JSON, nullable=False),
        sa.Column("scope_id", sa.Integer),
        sa.Column("listing_limit", sa.Integer),
        sa.Column("firsts", sa.JSON),
        sa.Column("findings", sa.JSON),
        sa.Column("sound", sa.Boolean),
        sa.Column("judged_at", sa.Float),
        sa.PrimaryKeyConstraint("job_id", name="pk_drift_runs"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_drift_runs_job_id"),
    )
    op.create_index("ix_drift_runs_site_judged_at", "drift_runs", ["site", "judged_at"])
