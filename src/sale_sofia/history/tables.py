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
from sale_sofia.storage.tables import Id, Sentence, metadata


def _column(name: str, kind: Any) -> Column[Any]:  # noqa: ANN401 - a type
    """The column of a fact of an advert: what it may be is said by the model alone."""
    plain = {get_origin(one) or one for one in _plain_types(kind)}
    if tuple in plain:
        return Column(name, JSON, nullable=False)
    stored = {bool: Boolean, int: Integer, float: Float}
    return Column(name, next((stored[one] for one in stored if one in plain), Text))


def _plain_types(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - a type
    """A type without its bounds and without None."""
    if get_origin(kind) in (Union, UnionType):
        for one in get_args(kind):
            yield from _plain_types(one)
    else:
        yield get_args(kind)[0] if get_origin(kind) is Annotated else kind


listings = Table(
    "listings",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("site", String(80), nullable=False),
    Column("external_id", String(80), nullable=False),
    Column("url", Text, nullable=False),
    *(_column(name, Listing.model_fields[name].annotation) for name in (*FACTS, "flags")),
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
    # What its page does not show any more and is kept, each with the visits in a row that did not show it.
    Column("unseen", JSON(none_as_null=True)),
    Column("gone_at", Float),
    Column("closed_at", Float),
    Column("closed_reason", String(20)),
    Column("etag", Text),
    Column("last_modified", Text),
    # The run that saw it first and did not read what adverts have: it is not new until it is read right.
    Column("held_by", String(40)),
    # When it was held back, or let go and so is new since; nothing for one that was new from the first.
    Column("new_at", Float),
    # When its own page was read last; nothing for one of which only cards were seen.
    Column("opened_at", Float),
    # Whether its price is the word of a card that no page has confirmed yet.
    Column("price_by_card", Boolean, nullable=False, server_default=text("false")),
    # Of one that was not opened: the advert of another portal whose copy it is, and whose page was read.
    Column("copy_of", Id),
    UniqueConstraint("site", "external_id", "generation"),
    Index(None, "neighbourhood"),
    Index(None, "first_seen_at"),
    Index(None, "site", "last_seen_at"),
)
# Where an index holds some rows alone, it does so on a server too: the releases' SQL says it there. To say it
# here for PostgreSQL would load its dialect and all of its drivers whenever anything is imported.
# Adverts that are, or were, held back are few, and looked for at the end of every run.
for _name in ("held_by", "new_at"):
    Index(
        f"ix_listings_{_name}",
        listings.c[_name],
        sqlite_where=listings.c[_name].is_not(None),
    )
# The adverts of a family are looked up with every card of a portal that has copies.
Index(
    "ix_listings_family_id",
    listings.c.family_id,
    sqlite_where=listings.c.family_id.is_not(None),
)
# At most one generation of an advert is open.
Index(
    "uq_listings_open",
    listings.c.site,
    listings.c.external_id,
    unique=True,
    sqlite_where=listings.c.closed_at.is_(None),
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
    # What moved: first, price, vat (not the price), currency (another one is printed, or one fewer). Or
    # `PRINTED_BEFORE`: not what was asked, but what the page says was asked before; once for each sum.
    Column("kind", String(20), nullable=False),
    Column("visit_id", Id, nullable=False),
    Column("seen_at", Float, nullable=False),
    Index(None, "listing_id", "seen_at"),
)
Index("ix_price_points_moved", price_points.c.seen_at, sqlite_where=price_points.c.kind == "price")
PRINTED_BEFORE: Final = "printed_before"
WAS_ASKED: Final = price_points.c.kind != PRINTED_BEFORE
"""The price points that were asked when we looked: what changes, cuts, figures and alerts are made of."""

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


# The tables of what was seen and what is gone.

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
    # The fields that were known and that the page did not show, where they were kept.
    Column("unseen", JSON(none_as_null=True)),
    # Of an advert that was seen as a card on a page of results: what the card said.
    Column("said", JSON(none_as_null=True)),
    # Whether its price, its type, or what it does not show, says nothing: the pages of its run were not read
    # as they are.
    Column("held", Boolean, nullable=False, server_default=text("false")),
    Column("held_type", Boolean, nullable=False, server_default=text("false")),
    Column("held_gaps", Boolean, nullable=False, server_default=text("false")),
    Index(None, "site", "url_key", "fetched_at"),
)
# Visits that are held back are few, and looked for at the end of every run.
for _name in ("held", "held_gaps"):
    Index(
        f"ix_scrape_history_{_name}",
        scrape_history.c.job_id,
        sqlite_where=scrape_history.c[_name].is_(True),
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
    Column("reason", Sentence),
    # What the searches announced, what of it the portal lets through, what was seen of it, opened, and read
    # with its price and its area.
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
    Column("price_eur", Float),
    Column("seen_at", Float, nullable=False),
    Column("missed_at", Float),
    Column("misses", Integer, nullable=False, server_default=text("0")),
    Index(None, "site", "external_id"),
    Index(None, "scope_id", "seen_at"),
)


# The tables of how pages usually look.

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


# What changed. The counter is one row; each advert has the number of the last transaction that touched it;
# a follower has dealt with all up to its number, by the rules that its version names.
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
    Index(None, "revision"),
)
followers = Table(
    "followers",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("version", String(64), nullable=False),
    Column("revision", Id, nullable=False),
)
