"""The tables of what the buyer decided, noted and planned."""

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from sale_sofia.data.schema import Id, metadata

# `property_id` is everywhere the id the property had then, which is that of its oldest advert. So what was
# said follows that advert through all that matching joins and parts; see `data/evaluations.py`.

# Every change, and nothing but changes: what a property's status is, the newest row says.
evaluation_changes = Table(
    "evaluation_changes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    # Of a change of a viewing: which.
    Column("viewing_id", ForeignKey("viewings.id")),
    Column("field", String(20), nullable=False),
    Column("old", JSON(none_as_null=True)),
    Column("new", JSON(none_as_null=True)),
    Column("changed_by", String(80), nullable=False),
    Column("changed_at", Float, nullable=False),
    Index(None, "property_id"),
    Index(None, "viewing_id"),
)

property_notes = Table(
    "property_notes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    Column("text", Text, nullable=False),
    Column("written_by", String(80), nullable=False),
    Column("written_at", Float, nullable=False),
    Index(None, "property_id"),
)

viewings = Table(
    "viewings",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    # By this name calendars know it; `revision` tells them which of two exports is the newer.
    Column("uid", String(80), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("state", String(10), nullable=False),
    Column("starts_at", Float, nullable=False),
    Column("minutes", Integer, nullable=False),
    *(Column(name, Text) for name in ("agent", "phone", "place", "remarks", "outcome")),
    *(Column(name, JSON, nullable=False) for name in ("positives", "negatives")),
    Column("made_at", Float, nullable=False),
    Column("changed_at", Float, nullable=False),
    UniqueConstraint("uid"),
    Index(None, "property_id"),
    Index(None, "starts_at"),
)

saved_searches = Table(
    "saved_searches",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("query", JSON, nullable=False),
    Column("saved_at", Float, nullable=False),
)
