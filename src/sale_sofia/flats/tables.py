"""The tables of properties."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from sale_sofia.storage.tables import Id, metadata

# Every id a property ever had: the id of its oldest advert. If that advert is in another property now,
# `merged_into` is the id of that.
properties = Table(
    "properties",
    metadata,
    Column("id", ForeignKey("listings.id"), primary_key=True),
    Column("merged_into", Id),
    Column("made_at", Float, nullable=False),
)

# The property of each advert, with its evidence, probability, who decided it, and since when it has that one.
listing_sources = Table(
    "listing_sources",
    metadata,
    Column("listing_id", ForeignKey("listings.id"), primary_key=True),
    Column("property_id", ForeignKey("properties.id"), nullable=False),
    Column("probability", Float, nullable=False),
    Column("decided_by", String(10), nullable=False),
    Column("evidence", JSON, nullable=False),
    Column("decided_at", Float, nullable=False),
    Index(None, "property_id"),
)

# Pairs of adverts that are one property, or may be; the lower id first.
match_links = Table(
    "match_links",
    metadata,
    Column("low", ForeignKey("listings.id"), primary_key=True),
    Column("high", ForeignKey("listings.id"), primary_key=True),
    Column("probability", Float, nullable=False),
    Column("kind", Integer, nullable=False),
    Index(None, "high"),
    Index(None, "kind"),
)

# The buyer's decisions on pairs. They always win; only the buyer can change them.
match_decisions = Table(
    "match_decisions",
    metadata,
    Column("low", ForeignKey("listings.id"), primary_key=True),
    Column("high", ForeignKey("listings.id"), primary_key=True),
    Column("same", Boolean, nullable=False),
    Column("decided_at", Float, nullable=False),
    # Who decided it; None: before that was recorded.
    Column("said_by", String(80)),
)

# Pairs on which the buyer is unsure, by the ids their properties had then: their oldest adverts.
match_doubts = Table(
    "match_doubts",
    metadata,
    Column("low", ForeignKey("listings.id"), primary_key=True),
    Column("high", ForeignKey("listings.id"), primary_key=True),
    Column("said_at", Float, nullable=False),
)

# An advert as it was last matched; if `content_hash` is not the advert's, it has changed since.
match_fingerprints = Table(
    "match_fingerprints",
    metadata,
    Column("listing_id", ForeignKey("listings.id"), primary_key=True),
    Column("content_hash", String(64), nullable=False),
    Column("record", LargeBinary, nullable=False),
)

# One row: the rules of the last run, and the number of runs.
match_state = Table(
    "match_state",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Text, nullable=False),
    Column("runs", Integer, nullable=False),
    Column("matched_at", Float, nullable=False),
)

# Adverts that stand out from the market, and the range in which they would not, as of the last run.
outliers = Table(
    "outliers",
    metadata,
    Column("listing_id", ForeignKey("listings.id"), primary_key=True),
    Column("code", String(40), primary_key=True),
    Column("least", Float, nullable=False),
    Column("most", Float, nullable=False),
)

# Every property merged (`flats/projection.py`): the columns for searching and sorting. `digest` covers all it
# is made of, `revision` is the number of changes at which it last changed. Lists are a text with bars around
# each value ("|gas|district|"); a price without an upper limit has no `price_most`,
# a flat without traps no `traps`. `lines` have stops near
# the flat for certain, `some_lines` in some part of its neighbourhood.
flats = Table(
    "flats",
    metadata,
    Column("property_id", Id, primary_key=True, autoincrement=False),
    Column("digest", String(32), nullable=False),
    Column("revision", Id, nullable=False),
    Column("offered", Boolean, nullable=False),
    Column("deal", String(10)),
    Column("property_type", String(20)),
    Column("city", Text),
    Column("district", Text),
    Column("neighbourhood", Text),
    Column("price_eur", Float),
    Column("price_least", Float),
    Column("price_most", Float),
    Column("eur_sqm", Float),
    Column("area_sqm", Float),
    Column("area_net_sqm", Float),
    Column("rooms", Integer),
    Column("bathrooms", Integer),
    Column("floor", Integer),
    Column("floors_total", Integer),
    Column("year_built", Integer),
    Column("construction", Text),
    Column("condition", Text),
    Column("furnishing", Text),
    Column("heating", Text, nullable=False),
    Column("orientation", Text, nullable=False),
    Column("act", Text),
    Column("balcony", Boolean),
    Column("parking", Boolean),
    Column("elevator", Boolean),
    Column("metro_least", Float),
    Column("metro_most", Float),
    Column("metro_metres_least", Float),
    Column("metro_metres_most", Float),
    *(
        Column(f"{name}_{end}", Integer)
        for name in ("school", "rank", "shop", "stop", "road")
        for end in ("least", "most")
    ),
    Column("lines", Text),
    Column("some_lines", Text),
    Column("lat", Float),
    Column("lon", Float),
    Column("first_seen_at", Float, nullable=False),
    Column("since_at", Float, nullable=False),
    Column("gone_at", Float),
    Column("new_at", Float),
    Column("without_vat", Boolean, nullable=False),
    Column("saving_eur", Float),
    Column("sites", Text, nullable=False),
    Column("sellers", Text, nullable=False),
    Column("flags", Text, nullable=False),
    Column("contradicted", Boolean, nullable=False),
    Column("traps", Text),
    Index(None, "new_at"),
    Index(None, "saving_eur"),
)

# The same properties in full, as JSON: read only for those that are shown, so in a table of its own.
flat_contents = Table(
    "flat_contents",
    metadata,
    Column("property_id", Id, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
)

# The buyer's corrections of a property's facts: the last one of a fact counts, null removes it. `property_id`
# is the id at that time, that of its oldest advert, which the correction follows.
corrections = Table(
    "corrections",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    Column("fact", String(40), nullable=False),
    Column("value", JSON(none_as_null=True)),
    Column("said_by", String(80), nullable=False),
    Column("said_at", Float, nullable=False),
    Index(None, "property_id"),
)

# A requested photo of an advert, by its position in the gallery. `picture` is one number for all copies of a
# picture; `stock`: it shows no particular flat. `code`: why there is none; `again`: a later try may succeed.
advert_photos = Table(
    "advert_photos",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("listing_id", ForeignKey("listings.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("url", Text, nullable=False),
    Column("requests", Integer, nullable=False),
    Column("asked_at", Float, nullable=False),
    Column("code", String(60)),
    Column("again", Boolean, nullable=False),
    Column("signature", LargeBinary),
    Column("picture", Id),
    Column("stock", Boolean, nullable=False),
    Column("thumbnail", LargeBinary),
    UniqueConstraint("listing_id", "position"),
    Index(None, "picture"),
)
