"""The tables of what was seen and what is gone."""

from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Index, Integer, String, Table, Text, text

from sale_sofia.data.schema import Id, metadata

# Every page that was asked for. The rows of one advert are its sightings, of which its history is a function.
scrape_history = Table(
    "scrape_history",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("site", String(80), nullable=False),
    Column("url_key", String(500), nullable=False),
    Column("job_id", ForeignKey("jobs.id")),
    Column("fetched_at", Float, nullable=False),
    Column("verdict", String(40), nullable=False),
    Column("seconds", Float),
    # Of an advert that was read: its content, its page, the listing it is a sighting of, what came of it.
    Column("content_hash", String(64)),
    Column("page_digest", String(64)),
    Column("listing_id", Id),
    Column("result", String(12)),
    # The price fields as the page had them, where they were not believed.
    Column("odd", JSON(none_as_null=True)),
    # Whether its price, or its type, says nothing: the pages of its run were not read as they are.
    Column("held", Boolean, nullable=False, server_default=text("false")),
    Column("held_type", Boolean, nullable=False, server_default=text("false")),
    Index(None, "site", "url_key", "fetched_at"),
)
# Visits that are held back are few, and looked for at the end of every run.
Index(
    "ix_scrape_history_held",
    scrape_history.c.job_id,
    sqlite_where=scrape_history.c.held.is_(True),
    postgresql_where=scrape_history.c.held.is_(True),
)

# When an advert left the market and when it came back: dated by what was seen, noted when it was known.
market_events = Table(
    "market_events",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("listing_id", ForeignKey("listings.id"), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("at", Float, nullable=False),
    Column("noted_at", Float, nullable=False),
    Column("reason", String(40), nullable=False),
    Index(None, "listing_id", "at"),
    Index(None, "noted_at"),
)

# The searches of a crawl: an advert belongs to those that showed it, and only they can miss it.
scopes = Table(
    "scopes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("site", String(80), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("start_urls", JSON, nullable=False),
)
Index("uq_scopes_site_digest", scopes.c.site, scopes.c.digest, unique=True)

# One job's way through all pages of a scope; complete, or with the reason why it says nothing of absence.
sweeps = Table(
    "sweeps",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("scope_id", ForeignKey("scopes.id"), nullable=False),
    Column("site", String(80), nullable=False),
    Column("everything", Boolean, nullable=False, server_default=text("false")),
    Column("started_at", Float, nullable=False),
    Column("finished_at", Float),
    Column("complete", Boolean),
    Column("reason", Text),
    # What the searches announced, what of it the portal lets through, what was seen of it, opened, and read
    # with its price and its area.
    Column("announced", Integer),
    Column("reachable", Integer),
    Column("adverts", Integer),
    Column("opened", Integer),
    Column("stored", Integer),
    # Why adverts that were announced, or are known to be there, were not seen.
    Column("missing", Text),
    Column("gone", Integer),
    Index(None, "scope_id", "started_at"),
)

# Each search of a job, from its first page to its last: a start, or a part of a search that had to be cut.
searches = Table(
    "searches",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("job_id", ForeignKey("jobs.id"), nullable=False),
    Column("parent_id", Id),
    Column("url", Text, nullable=False),
    Column("way", String(80)),
    Column("announced", Integer),
    Column("exact", Boolean, nullable=False, server_default=text("false")),
    Column("pages", Integer, nullable=False, server_default=text("0")),
    Column("shown", Integer, nullable=False, server_default=text("0")),
    # Of its pages that are followed by another: the different adverts on them, the last that brought none.
    Column("different", Integer, nullable=False, server_default=text("0")),
    Column("stale", Integer, nullable=False, server_default=text("0")),
    # Of the adverts on its first page and on the one read last: a portal may show the same page for ever.
    Column("first_digest", String(64)),
    Column("last_digest", String(64)),
    Column("next_url", Text),
    Column("ended", String(12)),
    Index(None, "job_id"),
)

# What a search that goes on has shown: whether a page of it brings anything new. Forgotten when it ends.
shown_adverts = Table(
    "shown_adverts",
    metadata,
    Column("search_id", Id, primary_key=True, autoincrement=False),
    Column("external_id", String(80), primary_key=True),
)

# What crawls learnt of a portal: ids of its filters, filters without effect, how much of a search it shows.
learnt = Table(
    "learnt",
    metadata,
    Column("site", String(80), primary_key=True),
    Column("name", String(120), primary_key=True),
    Column("value", JSON, nullable=False),
    Column("learnt_at", Float, nullable=False),
)

# An advert as the searches of a scope showed it last, and how many complete sweeps have missed it since.
cards = Table(
    "cards",
    metadata,
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("external_id", String(80), primary_key=True),
    Column("site", String(80), nullable=False),
    Column("card_hash", String(64), nullable=False),
    # What of it an advert's own page may lack (`fills` in the site file).
    Column("facts", JSON(none_as_null=True)),
    Column("opened_hash", String(64)),
    Column("seen_at", Float, nullable=False),
    Column("missed_at", Float),
    Column("misses", Integer, nullable=False, server_default=text("0")),
    Index(None, "site", "external_id"),
    Index(None, "scope_id", "seen_at"),
)
