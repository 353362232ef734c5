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


class Code(StrEnum):
    """Why a row of the frontier ended, beside the classes of errors and what a page says it is."""

    UNCHANGED = "unchanged"
    """Its card says nothing new: the advert was not opened."""
    UNWANTED = "unwanted"
    """Its card cannot be what the crawl is for: the advert was not opened."""
    LINKED = "linked"
    """It is a copy of an advert that was opened on another portal: it was not opened itself."""
    USELESS_PART = "useless_part"
    """Of a search cut by a filter that changes nothing."""
    WORKER_DIED = "worker_died"


LEFT_ALONE: Final = (Code.UNCHANGED, Code.UNWANTED, Code.LINKED)
"""Of adverts that were seen and did not have to be opened."""


class Kin(StrEnum):
    """What an advert is to one of another portal that has the same family id."""

    LINKED = "linked"
    """Its card says what the other's page says: it need not be opened."""
    SAMPLE = "sample"
    """The same, and it is opened to see whether that is so."""
    DIFFERS = "differs"
    """Its card says otherwise: it is opened."""
    WAITS = "waits"
    """The other was not opened yet, or not even seen though its portal is crawled: whichever comes first."""


def spoken(code: str | None, reason: str | None) -> str:
    """Why a row ended, as people read it."""
    return ": ".join(filter(None, (code, reason))) or "unknown"


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
    Column("error", Sentence),
    Column("requests", Integer, nullable=False, server_default=text("0")),
    Column("new_listings", Integer, nullable=False, server_default=text("0")),
    Column("changed_listings", Integer, nullable=False, server_default=text("0")),
    Column("seconds", Float, nullable=False, server_default=text("0")),
    Column("runner", String(80)),
    Column("generation", Integer, nullable=False, server_default=text("0")),
    Column("woken_at", Float),
    # Until when none of its rows is handed out, and when that was written, by the clock of whoever wrote it.
    Column("shut_until", Float),
    Column("shut_at", Float),
    # Batches of at most SCRAPING_CHUNK_SIZE pages that lanes have brought to their end.
    Column("chunks", Integer, nullable=False, server_default=text("0")),
    # What was looked for when its rows were ranked.
    Column("ranked_by", String(64)),
    # What it is for, by name and as it was then; without it, for everything.
    Column("looks_for", JSON(none_as_null=True)),
    # Of its adverts that another portal has too: those that were linked to the other's page, those opened as
    # a sample or because their cards disagreed, and those of the sample whose pages said something else.
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
    # Why it ended or waits: the class of an error, or one of `Code`; and the words for people.
    Column("code", String(60)),
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
    # Of those that are due, the smallest first.
    Column("rank", Integer, nullable=False, server_default=text("0")),
    # Of an advert that another portal has too: what it is to it (`Kin`).
    Column("kin", String(10)),
    UniqueConstraint("job_id", "url_key"),
    Index(None, "job_id", "state", "not_before"),
    Index(None, "job_id", "state", "rank", "not_before"),
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

# How many adverts of a place a job has been given to open, beside what may fit: they are opened in turns.
frontier_places = Table(
    "frontier_places",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("place", String(120), primary_key=True),
    Column("adverts", Integer, nullable=False),
)

# A scheduled crawl begins once, however many clocks strike.
schedule_slots = Table(
    "schedule_slots",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("slot", String(40), primary_key=True),
    Column("taken_at", Float, nullable=False),
)
