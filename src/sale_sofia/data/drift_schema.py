"""The tables of how pages usually look."""

from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Index, Integer, String, Table

from sale_sofia.data.schema import metadata

# What the pages of one run were like: counted in the transactions that store the pages, judged at its end.
drift_runs = Table(
    "drift_runs",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("site", String(80), nullable=False),
    Column("counters", JSON, nullable=False),
    # Runs are compared when they went through the same searches with the same limit.
    Column("scope_id", Integer),
    Column("listing_limit", Integer),
    # The first selector of each field as the site file had it then.
    Column("firsts", JSON(none_as_null=True)),
    Column("findings", JSON(none_as_null=True)),
    # Whether the run says how pages usually look; unknown while it goes on.
    Column("sound", Boolean),
    Column("judged_at", Float),
    Index(None, "site", "judged_at"),
)
