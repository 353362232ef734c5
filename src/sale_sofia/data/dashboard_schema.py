"""The tables of who looked at the dashboard, and what they put off."""

from sqlalchemy import Column, Float, ForeignKey, Index, String, Table

from sale_sofia.data.description_schema import description_reads
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.schema import metadata

# A visitor is one browser with one profile. What happened after `since` is new to them until they come again.
dashboard_visits = Table(
    "dashboard_visits",
    metadata,
    Column("visitor", String(120), primary_key=True),
    Column("since", Float, nullable=False),
    Column("began_at", Float, nullable=False),
    Column("seen_at", Float, nullable=False),
)

# Flats that a visitor will decide on later; `property_id` is the id of then, as in evaluations.
dashboard_later = Table(
    "dashboard_later",
    metadata,
    Column("visitor", String(120), primary_key=True),
    Column("property_id", ForeignKey("listings.id"), primary_key=True),
    Column("put_off_at", Float, nullable=False),
)

# Looked through at every page for what has changed since the last one.
Index("ix_listings_last_seen_at", listings.c.last_seen_at)
Index("ix_description_reads_read_at", description_reads.c.read_at)
