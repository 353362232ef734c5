"""The tables of what descriptions say."""

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, String, Table, Text

from sale_sofia.storage.tables import metadata

# What the description of an advert says, by which rules, and which fields they left open.
description_reads = Table(
    "description_reads",
    metadata,
    Column("listing_id", ForeignKey("listings.id"), primary_key=True),
    # Of the advert when it was read; another one means that it has to be read again.
    Column("content_hash", String(64), nullable=False),
    Column("rules", String(64), nullable=False),
    Column("attributes", JSON, nullable=False),
    Column("open_fields", JSON, nullable=False),
    Column("open_count", Integer, nullable=False),
    # What the model was asked with: schema, rules and model; null before it was asked.
    Column("asked", String(64)),
    Column("read_at", Float, nullable=False),
    Index(None, "rules"),
)

# Where the portal's own field and the description differ: the portal is believed, the difference stored.
description_disagreements = Table(
    "description_disagreements",
    metadata,
    Column("listing_id", ForeignKey("listings.id"), primary_key=True),
    Column("field", String(40), primary_key=True),
    Column("portal", JSON),
    Column("text", JSON),
    Column("quote", Text, nullable=False),
    Column("seen_at", Float, nullable=False),
)

# Answers of the language model. The key covers everything an answer depends on, so none is ever stale.
llm_answers = Table(
    "llm_answers",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("text_hash", String(64), nullable=False),
    Column("schema_hash", String(64), nullable=False),
    Column("rules", String(64), nullable=False),
    Column("model", String(200), nullable=False),
    Column("answer", JSON, nullable=False),
    Column("created_at", Float, nullable=False),
    Index(None, "created_at"),
)
