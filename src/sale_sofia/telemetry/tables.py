"""The tables of what runs count and of what a person should look at."""

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, String, Table

from sale_sofia.storage.tables import Id, Sentence, metadata

# One row for a run and a domain, however many processes counted; `writers` has the last flush of each.
run_metrics = Table(
    "run_metrics",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("domain", String(80), primary_key=True),
    Column("counters", JSON, nullable=False),
    Column("writers", JSON, nullable=False),
    Column("updated_at", Float, nullable=False),
)

incidents = Table(
    "incidents",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("kind", String(40), nullable=False),
    Column("site", String(80), nullable=False),
    Column("job_id", ForeignKey("jobs.id")),
    Column("opened_at", Float, nullable=False),
    Column("seen_at", Float, nullable=False),
    Column("closed_at", Float),
    Column("message", Sentence, nullable=False),
    Column("details", JSON, nullable=False),
)
# At most one open incident of a kind and site.
Index(
    "uq_incidents_open",
    incidents.c.kind,
    incidents.c.site,
    unique=True,
    sqlite_where=incidents.c.closed_at.is_(None),
    postgresql_where=incidents.c.closed_at.is_(None),
)
