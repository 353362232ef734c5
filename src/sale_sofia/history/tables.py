"""The tables of adverts, what changed in them, what they cost, and their archived pages."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

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

from sale_sofia.listings.model import FACTS, Listing
from sale_sofia.listings.settings import LONGEST_ID
from sale_sofia.storage.tables import Digest, Id, Sentence, metadata


def _column(name: str, kind: Any) -> Column[Any]:  # noqa: ANN401 - a type
    """The column of a fact of an advert, by its type in the model."""
    plain = {get_origin(member) or member for member in _plain_types(kind)}
    if tuple in plain:
        return Column(name, JSON, nullable=False)
    stored = {bool: Boolean, int: Integer, float: Float}
    return Column(name, next((column for python, column in stored.items() if python in plain), Text))


def _plain_types(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - a type
    """A type without its bounds and without None."""
    if get_origin(kind) in (Union, UnionType):
        for member in get_args(kind):
            yield from _plain_types(member)
    else:
        yield get_args(kind)[0] if get_origin(kind) is Annotated else kind


listings = Table(
    "listings",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("site", String(80), nullable=False),
    Column("external_id", String(LONGEST_ID), nullable=False),
    Column("url", Text, nullable=False),
    *(_column(name, Listing.model_fields[name].annotation) for name in (*FACTS, "flags")),
    Column("content_hash", String(64), nullable=False),
    Column("first_seen_at", Float, nullable=False),
    Column("last_seen_at", Float, nullable=False),
    # A portal may reuse an advert id for another flat: that is the next generation, a listing of its own.
    Column("generation", Integer, nullable=False, server_default=text("1")),
    Column("visited_at", Float, nullable=False),
    Column("consecutive_unchanged", Integer, nullable=False, server_default=text("0")),
    Column("revisit_seconds", Float, nullable=False),
    Column("revisit_at", Float, nullable=False),
    # A price of another meaning, and how often in a row it was seen, until it is believed.
    Column("odd_price_eur", Float),
    Column("odd_visits", Integer, nullable=False, server_default=text("0")),
    # Stored values that its page no longer shows, each with the number of visits in a row without it.
    Column("unseen", JSON(none_as_null=True)),
    Column("gone_at", Float),
    Column("closed_at", Float),
    Column("closed_reason", String(20)),
    Column("etag", Text),
    Column("last_modified", Text),
    # The run that saw it first but did not read the required facts: it is not new until it is read correctly.
    Column("held_by", String(40)),
    # When it was held back, or released and so is new since; NULL for one that was new at first sight.
    Column("new_at", Float),
    # When its own page was last read; NULL for one seen only on cards.
    Column("opened_at", Float),
    # Whether its price comes from a card that no page has confirmed yet.
    Column("price_by_card", Boolean, nullable=False, server_default=text("false")),
    # For one that was not opened: the advert of another portal that it is a copy of, and whose page was read.
    Column("copy_of", Id),
    UniqueConstraint("site", "external_id", "generation"),
    Index(None, "first_seen_at"),
    Index(None, "site", "last_seen_at"),
)
# Adverts that are or were held back are few, and looked for at the end of every run.
for _name in ("held_by", "new_at"):
    Index(
        f"ix_listings_{_name}",
        listings.c[_name],
        sqlite_where=listings.c[_name].is_not(None),
        postgresql_where=listings.c[_name].is_not(None),
    )
# So are those with a price of another meaning.
HAS_ODD_PRICE: Final = listings.c.odd_visits > text("0")
Index(
    None,
    listings.c.site,
    listings.c.odd_visits,
    sqlite_where=HAS_ODD_PRICE,
    postgresql_where=HAS_ODD_PRICE,
)
# The adverts of a family are looked up with every card of a portal that has copies.
Index(
    "ix_listings_family_id",
    listings.c.family_id,
    sqlite_where=listings.c.family_id.is_not(None),
    postgresql_where=listings.c.family_id.is_not(None),
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
    # The row of scrape_history; no foreign key, which would cost an index on every change.
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
    # What changed: first, price, vat (not the price), currency (another one is printed, or one fewer). Or
    # `PRINTED_BEFORE`: not the asking price, but an earlier one that the page mentions; once for each sum.
    Column("kind", String(20), nullable=False),
    Column("visit_id", Id, nullable=False),
    Column("seen_at", Float, nullable=False),
    Index(None, "listing_id", "seen_at"),
)
_MOVED: Final = price_points.c.kind == "price"
Index("ix_price_points_moved", price_points.c.seen_at, sqlite_where=_MOVED, postgresql_where=_MOVED)
PRINTED_BEFORE: Final = "printed_before"
WAS_ASKED: Final = price_points.c.kind != PRINTED_BEFORE
"""The points that were asking prices when we looked: the basis of changes, cuts, figures and alerts."""

# Which archived pages belong to which address, so that everything can be parsed again without the network.
pages = Table(
    "pages",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("site", String(80), nullable=False),
    Column("url", Text, nullable=False),
    Column("kind", String(10), nullable=False),
    Column("digest", Digest, nullable=False),
    Column("content_type", Text),
    Column("fetched_at", Float, nullable=False),
    Index(None, "site", "url"),
    Index(None, "digest"),
)


# The tables of sightings and removals.

# Every page that was requested. The rows of one advert are its sightings; its history is a function of them.
scrape_history = Table(
    "scrape_history",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("site", String(80), nullable=False),
    # The page's key; NULL for a visit of an advert, whose listing has it.
    Column("url_key", String(500)),
    Column("job_id", ForeignKey("jobs.id")),
    Column("fetched_at", Float, nullable=False),
    Column("verdict", String(40), nullable=False),
    Column("seconds", Float),
    # Of an advert that was read: its content, its page (both by short digests), its listing, and the result.
    Column("content_hash", Digest),
    Column("page_digest", Digest),
    Column("listing_id", Id),
    Column("result", String(12)),
    # The price fields as the page had them, where they were not believed.
    Column("odd", JSON(none_as_null=True)),
    # Stored fields that the page did not show, where they were kept.
    Column("unseen", JSON(none_as_null=True)),
    # The facts on the card of an advert that was seen on a page of results.
    Column("said", JSON(none_as_null=True)),
    # Whether its price, its type, or its missing values are disregarded: the pages of its run were not read
    # correctly.
    Column("held", Boolean, nullable=False, server_default=text("false")),
    Column("held_type", Boolean, nullable=False, server_default=text("false")),
    Column("held_gaps", Boolean, nullable=False, server_default=text("false")),
)
# The visits of an advert are found by its listings.
_OF_ADVERT: Final = scrape_history.c.listing_id.is_not(None)
for _names, _which in (("listing_id",), _OF_ADVERT), (("site", "url_key"), ~_OF_ADVERT):
    _columns = (scrape_history.c[_name] for _name in (*_names, "fetched_at"))
    Index(None, *_columns, sqlite_where=_which, postgresql_where=_which)
# Held visits are few, and looked for at the end of every run.
for _name in ("held", "held_gaps"):
    Index(
        f"ix_scrape_history_{_name}",
        scrape_history.c.job_id,
        sqlite_where=scrape_history.c[_name].is_(True),
        postgresql_where=scrape_history.c[_name].is_(True),
    )

# When an advert left the market and came back: `at` by what was seen, `noted_at` when it became known.
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

# One job's pass through all pages of a scope; complete, or with the reason why absence proves nothing.
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
    Column("reason", Sentence),
    # Adverts that the searches announced, that can be reached, that were seen, opened, and read with price
    # and area.
    Column("announced", Integer),
    Column("reachable", Integer),
    Column("adverts", Integer),
    Column("opened", Integer),
    Column("stored", Integer),
    # Why adverts that were announced, or are known to be there, were not seen.
    Column("missing", Sentence),
    Column("gone", Integer),
    Index(None, "scope_id", "started_at"),
)

# Each search of a job, from its first page to its last: a start, or a part of a search that had to be split.
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
    # Of its pages with a next page: the different adverts on them, and how many of the last brought none.
    Column("different", Integer, nullable=False, server_default=text("0")),
    Column("stale", Integer, nullable=False, server_default=text("0")),
    # Digests of the ids on its first and its last page: a portal may show the same page forever.
    Column("first_digest", String(64)),
    Column("last_digest", String(64)),
    Column("next_url", Text),
    Column("ended", String(12)),
    Index(None, "job_id"),
)

# What a running search has shown, to tell whether a page brings anything new. Deleted when it ends.
shown_adverts = Table(
    "shown_adverts",
    metadata,
    Column("search_id", Id, primary_key=True, autoincrement=False),
    Column("external_id", String(LONGEST_ID), primary_key=True),
)

# What crawls learnt about a portal: ids of its filters, useless filters, how much of a search it shows.
learnt = Table(
    "learnt",
    metadata,
    Column("site", String(80), primary_key=True),
    Column("name", String(120), primary_key=True),
    Column("value", JSON, nullable=False),
    Column("learnt_at", Float, nullable=False),
)

# An advert as last shown by the searches of a scope, and how many complete sweeps have missed it since.
cards = Table(
    "cards",
    metadata,
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("external_id", String(LONGEST_ID), primary_key=True),
    Column("site", String(80), nullable=False),
    Column("card_hash", String(64), nullable=False),
    # Facts that the advert's own page may lack (`fills` in the site file).
    Column("facts", JSON(none_as_null=True)),
    Column("opened_hash", String(64)),
    Column("price_eur", Float),
    Column("seen_at", Float, nullable=False),
    Column("missed_at", Float),
    Column("misses", Integer, nullable=False, server_default=text("0")),
    Index(None, "site", "external_id"),
    Index(None, "scope_id", "seen_at"),
)


# The tables of how pages usually look.

# Counts on the pages of one run: updated in the transactions that store the pages, judged at its end.
drift_runs = Table(
    "drift_runs",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("site", String(80), nullable=False),
    Column("counters", JSON, nullable=False),
    # Runs with the same searches and the same limit are compared.
    Column("scope_id", Integer),
    Column("listing_limit", Integer),
    # The first selector of each field in the site file of that time.
    Column("firsts", JSON(none_as_null=True)),
    Column("findings", JSON(none_as_null=True)),
    # Whether the run counts as usual for later ones; NULL while it is running.
    Column("sound", Boolean),
    Column("judged_at", Float),
    Index(None, "site", "judged_at"),
)


# Revisions. The counter is one row; each advert has the number of the last transaction that touched it, and
# that of the last one that touched more than its scores, if any did; a follower has processed all up to its
# number, by the rules of its version.
revision_counter = Table(
    "revision_counter",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("value", Id, nullable=False),
)
revisions = Table(
    "revisions",
    metadata,
    Column("listing_id", ForeignKey("listings.id"), primary_key=True),
    Column("revision", Id, nullable=False),
    Column("facts_revision", Id),
    Index(None, "revision"),
)
followers = Table(
    "followers",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("version", String(64), nullable=False),
    Column("revision", Id, nullable=False),
)
