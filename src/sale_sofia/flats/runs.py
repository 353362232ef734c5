"""Matches the stored adverts: after each crawl only what is new, or everything, with the same result."""

import hashlib
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from importlib import resources
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
from sqlalchemy import Connection

from sale_sofia.flats.agencies import forget_private_phones
from sale_sofia.flats.matching.candidates import Rows, find_candidates
from sale_sofia.flats.matching.clustering import (
    Bands,
    Decisions,
    Links,
    Matcher,
    compare_changes,
    group_numbers,
    reach,
    sources,
    with_decisions,
)
from sale_sofia.flats.matching.fingerprint import Adverts, PropertyFingerprinter, Row, load_secret
from sale_sofia.flats.outliers import refresh_outliers
from sale_sofia.flats.photos.store import pictures_by_advert
from sale_sofia.flats.projection import refresh_flats
from sale_sofia.flats.settings import INCIDENT_EXAMPLES, INCIDENT_SITE, MATCHER_VERSION, SAVED_AT_ONCE, TRIES
from sale_sofia.flats.store import (
    ListingSource,
    MatchState,
    StoredLink,
    begin_run,
    changed_listings,
    clear,
    large_properties,
    read_decisions,
    read_fingerprints,
    read_listings,
    read_state,
    replace_links,
    save_fingerprints,
    save_sources,
)
from sale_sofia.history.revisions import Changes, advance, changes_since, position
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import (
    Aftermath,
    IncidentKind,
    Trouble,
    attempt,
    close_incident,
    open_incident,
)

# What a person should review: properties with more adverts than one flat has.


def judge_sizes(connection: Connection, settings: Settings, *, now: float) -> None:
    """Open an incident if there are properties with too many adverts; close it if there are none."""
    large = large_properties(connection, settings.property_alarm_adverts)
    if not large:
        close_incident(connection, IncidentKind.LARGE_PROPERTY, INCIDENT_SITE, now=now)
        return
    examples = [f"{property_id} ({adverts})" for property_id, adverts in large[:INCIDENT_EXAMPLES]]
    most = settings.property_alarm_adverts
    sentence = Said("trouble.large_property", count=len(large), most=most, named=examples)
    trouble = Trouble(IncidentKind.LARGE_PROPERTY, INCIDENT_SITE, sentence, details={"properties": large})
    open_incident(connection, trouble, now=now)


FOLLOWER: Final = "matching"


class MatchSummary(NamedTuple):
    """What a run did."""

    adverts: int
    """Adverts that were new or had changed."""
    looked_at: int
    """Adverts whose property was recomputed."""
    moved: int
    """Adverts whose property, or the reason for it, changed."""
    seconds: float = 0.0


class MatchingBusy(ValueError):
    """Other processes kept matching; nothing was written."""


class _Read(NamedTuple):
    """The input of a run: the state of the last one, the buyer's decisions, and the adverts to match."""

    state: MatchState
    decisions: Decisions
    followed: Changes
    adverts: Adverts
    """Those that are new or have changed, or all."""
    hashes: dict[int, str]


class _Plan(NamedTuple):
    """What a run will write."""

    read: _Read
    links: Links
    linked: Rows | None
    """The adverts of these links; None: all adverts."""
    region: Adverts
    sources: Iterator[ListingSource]


class PropertyMatching:
    """Brings `listing_sources` up to date. Safe to call from many processes at any time."""

    def __init__(
        self, settings: Settings, database: Database, *, clock: Callable[[], float] = time.time
    ) -> None:
        secret = load_secret(settings.data_dir)
        bands = Bands(settings.match_link_probability, settings.match_review_probability)
        self.settings = settings
        self.database = database
        self.clock = clock
        self.matcher = Matcher.of(bands)
        self.fingerprinter = PropertyFingerprinter(secret)
        self.version = _version(bands, secret)

    def match_new(self, also: Collection[int] = ()) -> MatchSummary:
        """Match new and changed adverts, and those in `also`; all adverts if the rules changed."""
        return self._run(partial(self._plan_new, also))

    def match_all(self) -> MatchSummary:
        """Match every advert as if for the first time; the buyer's decisions stay."""
        return self._run(self._plan_all)

    def _run(self, plan: Callable[[], _Plan]) -> MatchSummary:
        started = time.monotonic()
        for _ in range(TRIES):
            if summary := self.database.run_write(partial(self._write, plan=plan())):
                return summary._replace(seconds=time.monotonic() - started)
        raise MatchingBusy("others were matching all the time; try again when their crawls have ended")

    def _plan_all(self) -> _Plan:
        read = self.database.run_read(partial(self._read, everything=True))
        links = self.matcher.links(read.adverts, find_candidates(read.adverts))
        found = self._sources(read.adverts, links, read.decisions)
        return _Plan(read, links, None, read.adverts, found)

    def _plan_new(self, also: Collection[int]) -> _Plan:
        stored = self.database.run_read(self._read_stored)
        if stored is None:
            return self._plan_all()
        old, read = stored
        new = old.with_changes(read.adverts)
        touched, candidates = compare_changes(old, new, read.adverts.ids)
        links, decisions = self.matcher.links(new, candidates), read.decisions
        region, joining = self.database.run_read(
            partial(reach, touched=frozenset(touched.tolist()), also=also, links=links, decisions=decisions)
        )
        there = new.take(new.rows_of(np.array(sorted(region), np.int64)))
        found = self._sources(there, joining, decisions.within(region))
        return _Plan(read, links, touched, there, found)

    def _sources(self, adverts: Adverts, links: Links, decisions: Decisions) -> Iterator[ListingSource]:
        groups = group_numbers(adverts, links, decisions)
        return sources(adverts, groups, with_decisions(links, decisions), self.matcher.weights)

    def _write(self, connection: Connection, plan: _Plan) -> MatchSummary | None:
        """Write all of the plan, or nothing if another process has matched since it was made."""
        now = self.clock()
        if not begin_run(connection, plan.read.state, self.version, now=now):
            return None
        advance(connection, FOLLOWER, self.version, plan.read.followed)
        if plan.linked is None:
            clear(connection)
        adverts, hashes = plan.read.adverts, plan.read.hashes
        ids = adverts.ids.tolist()
        for begin in range(0, len(ids), SAVED_AT_ONCE):
            some = np.arange(begin, min(begin + SAVED_AT_ONCE, len(ids)))
            records = zip(some.tolist(), adverts.take(some).packed(), strict=True)
            rows = [(ids[place], hashes[ids[place]], record.tobytes()) for place, record in records]
            save_fingerprints(connection, rows)
        linked = [] if plan.linked is None else plan.linked.tolist()
        replace_links(connection, linked, _stored(plan.links))
        moved = 0
        while found := list(islice(plan.sources, SAVED_AT_ONCE)):  # a million are never held at once
            moved += save_sources(connection, found, now=now)
        judge_sizes(connection, self.settings, now=now)
        return MatchSummary(len(adverts), len(plan.region), moved)

    def _read_stored(self, connection: Connection) -> tuple[Adverts, _Read] | None:
        """All matched adverts, and the new ones; None if they were matched by other rules."""
        if read_state(connection).version != self.version:
            return None
        old = Adverts.of_bytes(*read_fingerprints(connection))
        return old, self._read(connection, everything=False)

    def _read(self, connection: Connection, *, everything: bool) -> _Read:
        followed = changes_since(connection, position(connection, FOLLOWER, self.version), scores=False)
        chosen = None if everything else changed_listings(connection, followed.listing_ids)
        hashes: dict[int, str] = {}

        def with_pictures() -> Iterator[Row]:
            pictures = pictures_by_advert(connection, chosen)
            for row in read_listings(connection, chosen):
                hashes[row["id"]] = row["content_hash"]
                yield {**row, "pictures": pictures[row["id"]]} if row["id"] in pictures else row

        records = self.fingerprinter.fingerprints(with_pictures())
        decided = read_decisions(connection)
        same = frozenset(pair for pair, is_same in decided.items() if is_same)
        decisions = Decisions(same, frozenset(decided.keys() - same))
        return _Read(read_state(connection), decisions, followed, Adverts.of(hashes, records), hashes)


def _version(bands: Bands, secret: bytes) -> str:
    """A digest of everything but the adverts that the result depends on."""
    folder = resources.files("sale_sofia.flats.matching")
    weights, words = (folder.joinpath(name).read_bytes() for name in ("weights.yaml", "words.yaml"))
    parameters = f"{MATCHER_VERSION} {bands.link} {bands.review}".encode()
    return hashlib.sha256(b"|".join((parameters, weights, words, secret))).hexdigest()


def _stored(links: Links) -> Iterator[StoredLink]:
    columns = (links.low, links.high, links.probability, links.kind)
    return (StoredLink(*row) for row in zip(*(column.tolist() for column in columns), strict=True))


_AFTERMATH: Final = Aftermath("matching", IncidentKind.MATCHING_FAILED, INCIDENT_SITE, "sale-sofia match")


def match_new(settings: Settings, database: Database, clock: Callable[[], float] = time.time) -> bool:
    """Match new adverts, refresh outliers and merge flats after a crawl; never raises, False if it failed.

    The next call does the rest.
    """

    def match() -> None:
        PropertyMatching(settings, database, clock=clock).match_new()
        database.run_write(partial(forget_private_phones, settings=settings))
        refresh_outliers(database, settings)
        refresh_flats(database)

    return attempt(database, _AFTERMATH, match, clock=clock)
