"""The tables of a crawl: its jobs, the rows of its frontier, the turns of the schedule."""

from enum import StrEnum
from typing import Final

from sqlalchemy import (
    JSON,
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

from sale_sofia.storage.tables import Id, Sentence, metadata


class EndCode(StrEnum):
    """Why a row of the frontier ended, beside the error classes and the codes of pages."""

    UNCHANGED = "unchanged"
    """Its card is unchanged: the advert was not opened."""
    UNWANTED = "unwanted"
    """Its card does not fit what the crawl is for: the advert was not opened."""
    LINKED = "linked"
    """It is a copy of an advert that was opened on another portal: it was not opened itself."""
    USELESS_PART = "useless_part"
    """A part of a search that was split by a filter which changes nothing."""
    WORKER_DIED = "worker_died"


LEFT_ALONE: Final = (EndCode.UNCHANGED, EndCode.UNWANTED, EndCode.LINKED)
"""Codes of adverts that were seen and did not have to be opened."""


class Kin(StrEnum):
    """How an advert relates to one of another portal with the same family id."""

    LINKED = "linked"
    """Its card agrees with the other's page: it need not be opened."""
    SAMPLE = "sample"
    """The same, but it is opened to check that."""
    DIFFERS = "differs"
    """Its card differs: it is opened."""
    WAITS = "waits"
    """The other was not opened yet, or not even seen though its portal is crawled."""


def spoken(code: str | None, reason: str | None) -> str:
    """Why a row ended, for people."""
    return ": ".join(filter(None, (code, reason))) or "unknown"


# Moments are seconds since 1970 (UTC); those printed in an advert are ISO texts with Sofia's offset.
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
    Column("error", Sentence),
    Column("requests", Integer, nullable=False, server_default=text("0")),
    Column("new_listings", Integer, nullable=False, server_default=text("0")),
    Column("changed_listings", Integer, nullable=False, server_default=text("0")),
    Column("seconds", Float, nullable=False, server_default=text("0")),
    Column("runner", String(80)),
    Column("generation", Integer, nullable=False, server_default=text("0")),
    Column("woken_at", Float),
    # Until when none of its rows may be claimed, and when that was written, by the writer's clock.
    Column("shut_until", Float),
    Column("shut_at", Float),
    # Batches of at most SCRAPING_CHUNK_SIZE pages that lanes have finished.
    Column("chunks", Integer, nullable=False, server_default=text("0")),
    # Digest of the wishes by which its rows were ranked.
    Column("ranked_by", String(64)),
    # What it is for, names and wishes as of its start; NULL: everything.
    Column("looks_for", JSON(none_as_null=True)),
    # Of its adverts that another portal has too: those linked to the other's page, those opened as a sample
    # or because their cards disagreed, and those of the sample whose pages differed.
    *(
        Column(name, Integer, nullable=False, server_default=text("0"))
        for name in ("linked", "sampled", "disagreed", "differing")
    ),
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
    # Why it ended or waits: the class of an error, or one of `EndCode`; and the words for people.
    Column("code", String(60)),
    Column("reason", Text),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("not_before", Float, nullable=False, server_default=text("0")),
    # When that was written, by the writer's clock; NULL for a row that was never put off.
    Column("put_off_at", Float),
    # The error classes of its tries in order, separated by spaces.
    Column("tried", Text),
    Column("lease_owner", String(80)),
    Column("lease_until", Float),
    Column("fence", Integer, nullable=False, server_default=text("0")),
    Column("deaths", Integer, nullable=False, server_default=text("0")),
    # The search that a page of results belongs to.
    Column("search_id", Id),
    # Due rows are claimed by ascending rank.
    Column("rank", Integer, nullable=False, server_default=text("0")),
    # The `Kin` of an advert that another portal has too.
    Column("kin", String(10)),
    UniqueConstraint("job_id", "url_key"),
    Index(None, "job_id", "state", "not_before"),
)
# Of the rows that wait: whoever takes one removes it here, and nothing is added when it ends.
IS_PENDING: Final = frontier.c.state == text("'pending'")
"""As a text of SQL: SQLite uses the index only for a condition that has the value itself."""
Index(
    None,
    *(frontier.c[name] for name in ("job_id", "rank", "not_before")),
    sqlite_where=IS_PENDING,
    postgresql_where=IS_PENDING,
)

# Counts of the rows of ended jobs that `prune` removed, so that reports on a job stay the same.
frontier_pruned = Table(
    "frontier_pruned",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("kind", String(10), primary_key=True),
    Column("state", String(10), primary_key=True),
    Column("pages", Integer, nullable=False),
)

# How many adverts of a place a job has to open, beside those that may fit: places take turns.
frontier_places = Table(
    "frontier_places",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("place", String(120), primary_key=True),
    Column("adverts", Integer, nullable=False),
)

# A scheduled crawl begins once, however many processes look.
schedule_slots = Table(
    "schedule_slots",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("slot", String(40), primary_key=True),
    Column("taken_at", Float, nullable=False),
)
