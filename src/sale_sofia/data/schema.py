"""The tables. A migration makes each change to them; nothing happens on import."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

# Names that do not depend on the database, so that a migration can always find what it changes.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)
Id = BigInteger().with_variant(Integer, "sqlite")

# Moments are seconds since 1970 (UTC); the printed ones of an advert are ISO texts with Sofia's offset.
jobs = Table(
    "jobs",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("site", String(80), nullable=False),
    Column("state", String(20), nullable=False),
    Column("start_urls", JSON, nullable=False),
    Column("listing_limit", Integer),
    Column("created_at", Float, nullable=False),
    Column("started_at", Float),
    Column("finished_at", Float),
    Column("error", Text),
    Column("requests", Integer, nullable=False, server_default=text("0")),
    Column("new_listings", Integer, nullable=False, server_default=text("0")),
    Column("changed_listings", Integer, nullable=False, server_default=text("0")),
    Column("seconds", Float, nullable=False, server_default=text("0")),
    Column("runner", String(80)),
    Column("generation", Integer, nullable=False, server_default=text("0")),
    Column("woken_at", Float),
    Index(None, "site", "created_at"),
)

frontier = Table(
    "frontier",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("job_id", ForeignKey("jobs.id"), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("url", Text, nullable=False),
    Column("url_key", String(500), nullable=False),
    Column("state", String(10), nullable=False, server_default="pending"),
    Column("reason", Text),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("not_before", Float, nullable=False, server_default=text("0")),
    # When that was written, by the clock of whoever wrote it; of a row that was never put off, nothing.
    Column("put_off_at", Float),
    # The classes of the errors that its tries ended in, one after the other, with spaces between them.
    Column("tried", Text),
    Column("lease_owner", String(80)),
    Column("lease_until", Float),
    Column("fence", Integer, nullable=False, server_default=text("0")),
    Column("deaths", Integer, nullable=False, server_default=text("0")),
    # Of a page of results: which of the job's searches it belongs to.
    Column("search_id", Id),
    UniqueConstraint("job_id", "url_key"),
    Index(None, "job_id", "state", "not_before"),
)

# Rows of ended jobs that `prune` removed, counted: what is said of a job stays what it was.
frontier_pruned = Table(
    "frontier_pruned",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("kind", String(10), primary_key=True),
    Column("state", String(10), primary_key=True),
    Column("pages", Integer, nullable=False),
)

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

# A scheduled crawl begins once, however many clocks strike.
schedule_slots = Table(
    "schedule_slots",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("slot", String(40), primary_key=True),
    Column("taken_at", Float, nullable=False),
)

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
    Column("message", Text, nullable=False),
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
