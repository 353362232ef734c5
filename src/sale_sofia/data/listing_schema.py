"""The tables of adverts, what changed in them, what they cost, and their archived pages."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from sale_sofia.data.schema import Id, metadata

_LISTING_TEXTS = (
    "family_id", "deal", "property_type", "title", "description", "vat", "construction", "act_status",
    "furnishing", "condition", "city", "district", "neighbourhood", "street", "metro_station", "seller_kind",
    "seller_name", "posted_at", "updated_at",
)  # fmt: skip
_LISTING_NUMBERS = (
    "price_eur", "price_bgn", "previous_price_eur", "area_sqm", "area_net_sqm", "yard_sqm", "lat", "lon",
)  # fmt: skip
_LISTING_COUNTS = ("rooms", "floor", "floors_total", "year_built", "metro_distance_m", "views")
_LISTING_SWITCHES = ("under_construction", "elevator")
_LISTING_LISTS = ("heating", "orientation", "parking", "phones", "photo_urls", "features", "flags")

listings = Table(
    "listings",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("site", String(80), nullable=False),
    Column("external_id", String(80), nullable=False),
    Column("url", Text, nullable=False),
    *(Column(name, Text) for name in _LISTING_TEXTS),
    *(Column(name, Float) for name in _LISTING_NUMBERS),
    *(Column(name, Integer) for name in _LISTING_COUNTS),
    *(Column(name, Boolean) for name in _LISTING_SWITCHES),
    *(Column(name, JSON, nullable=False) for name in _LISTING_LISTS),
    Column("content_hash", String(64), nullable=False),
    Column("first_seen_at", Float, nullable=False),
    Column("last_seen_at", Float, nullable=False),
    Column("page_digest", String(64)),
    # A portal's advert id may be given to another flat: that is the next generation, a listing of its own.
    Column("generation", Integer, nullable=False, server_default=text("1")),
    Column("visited_at", Float, nullable=False),
    Column("consecutive_unchanged", Integer, nullable=False, server_default=text("0")),
    Column("revisit_seconds", Float, nullable=False),
    Column("revisit_at", Float, nullable=False),
    # A price of another meaning waits here, seen so often in a row, before it is believed.
    Column("odd_price_eur", Float),
    Column("odd_visits", Integer, nullable=False, server_default=text("0")),
    Column("gone_at", Float),
    Column("closed_at", Float),
    Column("closed_reason", String(20)),
    Column("etag", Text),
    Column("last_modified", Text),
    # The run that saw it first and did not read what adverts have: it is not new until it is read right.
    Column("held_by", String(40)),
    # When it was held back, or let go and so is new since; nothing for one that was new from the first.
    Column("new_at", Float),
    UniqueConstraint("site", "external_id", "generation"),
    Index(None, "neighbourhood"),
    Index(None, "first_seen_at"),
)
# Adverts that are, or were, held back are few, and looked for at the end of every run.
for _name in ("held_by", "new_at"):
    Index(
        f"ix_listings_{_name}",
        listings.c[_name],
        sqlite_where=listings.c[_name].is_not(None),
        postgresql_where=listings.c[_name].is_not(None),
    )
# At most one generation of an advert is open.
Index(
    "uq_listings_open",
    listings.c.site,
    listings.c.external_id,
    unique=True,
    sqlite_where=listings.c.closed_at.is_(None),
    postgresql_where=listings.c.closed_at.is_(None),
)

listing_changes = Table(
    "listing_changes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("listing_id", ForeignKey("listings.id"), nullable=False),
    # The row of scrape_history it was seen in; no foreign key, which would cost an index on every change.
    Column("visit_id", Id, nullable=False),
    Column("field", String(40), nullable=False),
    Column("old", JSON),
    Column("new", JSON),
    Column("seen_at", Float, nullable=False),
    Index(None, "listing_id", "seen_at"),
    Index(None, "seen_at"),
)

price_points = Table(
    "price_points",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("listing_id", ForeignKey("listings.id"), nullable=False),
    Column("price_eur", Float),
    Column("price_bgn", Float),
    Column("vat", String(20)),
    # What moved: first, price, vat (not the price), currency (another one is printed, or one fewer).
    Column("kind", String(10), nullable=False),
    Column("visit_id", Id, nullable=False),
    Column("seen_at", Float, nullable=False),
    Index(None, "listing_id", "seen_at"),
)

# Which archived bytes belong to which address, so that everything can be extracted again without the network.
pages = Table(
    "pages",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("site", String(80), nullable=False),
    Column("url", Text, nullable=False),
    Column("kind", String(10), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("content_type", Text),
    Column("fetched_at", Float, nullable=False),
    Index(None, "site", "url"),
    Index(None, "digest"),
)
