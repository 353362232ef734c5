"""Matching the stored adverts: after each crawl only what is new, or everything; both give the same."""

import hashlib
import logging
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import resources
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
from sqlalchemy import Connection

from sale_sofia.flats.agencies import forget_private_phones
from sale_sofia.flats.matching.candidates import Rows, find_candidates
from sale_sofia.flats.matching.clustering import (
    Decisions,
    Region,
    compare_changes,
    group_numbers,
    reach,
    with_decisions,
)
from sale_sofia.flats.matching.fingerprint import Adverts, PropertyFingerprinter, Row, load_secret
from sale_sofia.flats.matching.links import Bands, Links, sources
from sale_sofia.flats.matching.matcher import Matcher
from sale_sofia.flats.settings import INCIDENT_EXAMPLES, INCIDENT_SITE, MATCHER_VERSION, SAVED_AT_ONCE, TRIES
from sale_sofia.flats.store import (
    Source,
    State,
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
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, DatabaseError
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, close_incident, open_incident

# What a person should look at: properties with more adverts than one flat has, and matching that failed.


def judge_sizes(connection: Connection, settings: Settings, *, now: float) -> None:
    """Open an incident while there are properties with too many adverts; close it when there are none."""
    large = large_properties(connection, settings.property_alarm_adverts)
    if not large:
        close_incident(connection, IncidentKind.LARGE_PROPERTY, INCIDENT_SITE, now=now)
        return
    named = ", ".join(f"{one} ({adverts})" for one, adverts in large[:INCIDENT_EXAMPLES])
    sentence = (
        f"{len(large)} properties have more than {settings.property_alarm_adverts} adverts: {named}; "
        "look at them with `sale-sofia properties show`"
    )
    trouble = Trouble(IncidentKind.LARGE_PROPERTY, INCIDENT_SITE, sentence, details={"properties": large})
    open_incident(connection, trouble, now=now)


def judge_failure(connection: Connection, error: Exception | None, *, now: float) -> None:
    """Open an incident when matching failed; close it when it went well."""
    if error is None:
        close_incident(connection, IncidentKind.MATCHING_FAILED, INCIDENT_SITE, now=now)
        return
    sentence = f"matching failed: {error or type(error).__name__}; `sale-sofia match` tries again"
    open_incident(connection, Trouble(IncidentKind.MATCHING_FAILED, INCIDENT_SITE, sentence), now=now)


class MatchSummary(NamedTuple):
    """What a run did."""

    adverts: int
    """Adverts that were new or had changed."""
    looked_at: int
    """Adverts whose property was worked out again."""
    moved: int
    """Adverts that have another property, or another reason for it, than before."""
    seconds: float = 0.0


class MatchingBusy(ValueError):
    """Others matched all the time; nothing was written."""


@dataclass(frozen=True, slots=True)
class _Changes:
    """The adverts that are new or have changed, with what they have to be stored with."""

    adverts: Adverts
    hashes: dict[int, str]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a run is going to write."""

    state: State
    changes: _Changes
    links: Links
    linked: Rows | None
    """Whose links these are; of all adverts, if not said."""
    region: Adverts
    sources: Iterator[Source]


class PropertyMatching:
    """Brings `listing_sources` up to date. May be called by many processes at once, at any time."""

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
        """Match what is new or has changed, and those in `also`; everything, if the rules have changed."""
        return self._run(partial(self._plan_new, also))

    def match_all(self) -> MatchSummary:
        """Match every advert, as if for the first time; the buyer's word stays."""
        return self._run(self._plan_all)

    def _run(self, plan: Callable[[], _Plan]) -> MatchSummary:
        started = time.monotonic()
        for _ in range(TRIES):
            if summary := self.database.run_write(partial(self._write, plan=plan())):
                return summary._replace(seconds=time.monotonic() - started)
        raise MatchingBusy("others were matching all the time; try again when their crawls have ended")

    def _plan_all(self) -> _Plan:
        state, decisions, changes = self.database.run_read(self._read_all)
        adverts = changes.adverts
        links = self.matcher.links(adverts, find_candidates(adverts))
        return _Plan(state, changes, links, None, adverts, self._sources(adverts, links, decisions))

    def _plan_new(self, also: Collection[int]) -> _Plan:
        state, decisions, old, changes = self.database.run_read(self._read_changes)
        if state.version != self.version:
            return self._plan_all()
        new = old.with_changes(changes.adverts)
        touched, candidates = compare_changes(old, new, changes.adverts.ids)
        links = self.matcher.links(new, candidates)
        region: Region = self.database.run_read(
            partial(reach, touched=frozenset(touched.tolist()), also=also, links=links, decisions=decisions)
        )
        there = new.take(new.rows_of(np.array(sorted(region.ids), np.int64)))
        found = self._sources(there, region.links, decisions.within(region.ids))
        return _Plan(state, changes, links, touched, there, found)

    def _sources(self, adverts: Adverts, links: Links, decisions: Decisions) -> Iterator[Source]:
        groups = group_numbers(adverts, links, decisions)
        return sources(adverts, groups, with_decisions(links, decisions), self.matcher.weights)

    def _write(self, connection: Connection, plan: _Plan) -> MatchSummary | None:
        """All of it, or nothing if somebody else has matched since it was planned."""
        now = self.clock()
        if not begin_run(connection, plan.state, self.version, now=now):
            return None
        if plan.linked is None:
            clear(connection)
        _save_changes(connection, plan.changes)
        linked = [] if plan.linked is None else plan.linked.tolist()
        replace_links(connection, linked, _stored(plan.links))
        moved = _save_sources(connection, plan.sources, now)
        judge_sizes(connection, self.settings, now=now)
        return MatchSummary(len(plan.changes.adverts), len(plan.region), moved)

    def _read_all(self, connection: Connection) -> tuple[State, Decisions, _Changes]:
        return read_state(connection), _decisions(connection), self._changes(read_listings(connection))

    def _read_changes(self, connection: Connection) -> tuple[State, Decisions, Adverts, _Changes]:
        old = Adverts.of_bytes(*read_fingerprints(connection))
        changes = self._changes(read_listings(connection, changed_listings(connection)))
        return read_state(connection), _decisions(connection), old, changes

    def _changes(self, rows: Iterator[Row]) -> _Changes:
        hashes: dict[int, str] = {}

        def noted() -> Iterator[Row]:
            for row in rows:
                hashes[row["id"]] = row["content_hash"]
                yield row

        records = self.fingerprinter.fingerprints(noted())
        return _Changes(Adverts.of(hashes, records), hashes)


def _version(bands: Bands, secret: bytes) -> str:
    """Names everything but the adverts that the result depends on."""
    folder = resources.files("sale_sofia.flats.matching")
    weights, words = (folder.joinpath(name).read_bytes() for name in ("weights.yaml", "words.yaml"))
    told = f"{MATCHER_VERSION} {bands.link} {bands.review}".encode()
    return hashlib.sha256(b"|".join((told, weights, words, secret))).hexdigest()


def _decisions(connection: Connection) -> Decisions:
    said = read_decisions(connection)
    same = frozenset(pair for pair, is_same in said.items() if is_same)
    return Decisions(same, frozenset(said.keys() - same))


def _save_changes(connection: Connection, changes: _Changes) -> None:
    ids = changes.adverts.ids.tolist()
    for begin in range(0, len(ids), SAVED_AT_ONCE):
        rows = np.arange(begin, min(begin + SAVED_AT_ONCE, len(ids)))
        records = changes.adverts.take(rows).packed()
        some = zip(ids[begin : begin + SAVED_AT_ONCE], records, strict=True)
        save_fingerprints(connection, [(one, changes.hashes[one], record.tobytes()) for one, record in some])


def _stored(links: Links) -> Iterator[StoredLink]:
    columns = (links.low, links.high, links.probability, links.kind)
    return (StoredLink(*row) for row in zip(*(column.tolist() for column in columns), strict=True))


def _save_sources(connection: Connection, found: Iterator[Source], now: float) -> int:
    """Some at a time, so that a million of them are never held at once."""
    moved = 0
    while some := list(islice(found, SAVED_AT_ONCE)):
        moved += save_sources(connection, some, now=now)
    return moved


# What is done with new adverts when a crawl ends. It may fail without the crawl failing.

log: Final = logging.getLogger(__name__)


def match_new(settings: Settings, database: Database) -> bool:
    """Match what the crawl brought, forget phones that may not be kept; never raises, `False` if it failed.

    A failure is logged and, where the database can be written, opens an incident; the next call does what is
    left undone.
    """
    try:
        PropertyMatching(settings, database).match_new()
        database.run_write(partial(forget_private_phones, settings=settings))
        database.run_write(partial(judge_failure, error=None, now=time.time()))
    except (DatabaseError, OSError) as error:  # they say themselves what is wrong
        log.warning("matching after a crawl failed: %s", error)
        _report(database, error)
        return False
    except Exception as error:
        log.exception("matching after a crawl failed")
        _report(database, error)
        return False
    return True


def _report(database: Database, error: Exception) -> None:
    try:
        database.run_write(partial(judge_failure, error=error, now=time.time()))
    except DatabaseError as unwritten:
        log.warning("the failure of matching could not be stored: %s", unwritten)
