"""The counters of runs, and incidents."""

import sqlalchemy as sa
from alembic import op

revision = "0003_monitoring"
down_revision = "0002_parallel"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make both tables; nothing that is there changes."""
    _run_metrics()
    _incidents()


def _run_metrics() -> None:
    op.create_table(
        "run_metrics",
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("domain", sa.String(80), nullable=False),
        sa.Column("counters", sa.JSON, nullable=False),
        sa.Column("writers", sa.JSON, nullable=False),
        sa.Column("updated_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "domain", name="pk_run_metrics"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_run_metrics_job_id"),
    )


def _incidents() -> None:
    # Only an INTEGER key counts up by itself in SQLite.
    id_type = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "incidents",
        sa.Column("id", id_type, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("job_id", sa.String(40)),
        sa.Column("opened_at", sa.Float, nullable=False),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.Column("closed_at", sa.Float),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("details", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_incidents"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_incidents_job_id"),
    )
    still_open = sa.text("closed_at IS NULL")
    op.create_index(
        "uq_incidents_open",
        "incidents",
        ["kind", "site"],
        unique=True,
        sqlite_where=still_open,
        postgresql_where=still_open,
    )
