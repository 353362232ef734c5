"""The tables of scores and of the fair-price model."""

from sqlalchemy import JSON, Boolean, Column, Float, Index, Integer, String, Table, Text

from sale_sofia.storage.tables import Id, metadata

# A property as it was scored last: `facts` moves when anything does that its adverts or descriptions say. The
# rest is what neighbours are compared by; `eur_sqm` is null where it says nothing of the market.
scored_flats = Table(
    "scored_flats",
    metadata,
    Column("property_id", Id, primary_key=True, autoincrement=False),
    Column("facts", String(32), nullable=False),
    Column("deal", String(10)),
    Column("property_type", String(20)),
    Column("offered", Boolean, nullable=False),
    Column("neighbourhood", Text),
    Column("rooms", Integer, nullable=False),
    Column("eur_sqm", Float),
    Index(None, "neighbourhood"),
)

# What the prices of a neighbourhood and a number of rooms (0: it is not told) were measured by last.
score_yardsticks = Table(
    "score_yardsticks",
    metadata,
    Column("neighbourhood", Text, primary_key=True),
    Column("rooms", Integer, primary_key=True, autoincrement=False),
    Column("marks", JSON, nullable=False),
    Column("scope", String(20)),
    Column("flats", Integer, nullable=False),
    Column("rent_eur_sqm", Float),
    Column("rents", Integer, nullable=False),
)

# The score of an offered property for a profile. `digest` is of all it was made of; another one means that it
# has to be made again.
scores = Table(
    "scores",
    metadata,
    Column("property_id", Id, primary_key=True, autoincrement=False),
    Column("profile", String(80), primary_key=True),
    Column("digest", String(32), nullable=False),
    Column("value", Float),
    Column("known", Float, nullable=False),
    Column("points", Float, nullable=False),
    Column("verdict", String(10), nullable=False),
    Column("failed", JSON, nullable=False),
    Column("unknown", JSON, nullable=False),
    # Criterion → its value (null when nothing is known of it) and the share of it that is known.
    Column("criteria", JSON, nullable=False),
    Column("scored_at", Float, nullable=False),
    Index(None, "profile", "verdict", "points"),
)

# The fair-price models that were fitted: how well each tells prices, and which file (by its digest) holds it.
valuation_models = Table(
    "valuation_models",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("format", Integer, nullable=False),
    Column("made_at", Float, nullable=False),
    Column("flats", Integer, nullable=False),
    Column("report", JSON, nullable=False),
    Index(None, "made_at"),
)
