"""Matching the stored adverts: after each crawl only what is new, or everything; both give the same."""

import hashlib
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import resources
from itertools import islice
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from sale_sofia.config.matching import MATCHER_VERSION, SAVED_AT_ONCE, TRIES
from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database
from sale_sofia.data.properties import Source, read_decisions, save_sources
from sale_sofia.data.properties_state import (
    State,
    StoredLink,
    begin_run,
    changed_listings,
    clear,
    read_fingerprints,
    read_listings,
    read_state,
    replace_links,
    save_fingerprints,
)
from sale_sofia.properties.alarms import judge_sizes
from sale_sofia.properties.candidates import find_candidates
from sale_sofia.properties.clustering import Decisions, group_numbers, with_decisions
from sale_sofia.properties.evidence import sources
from sale_sofia.properties.fingerprint import PropertyFingerprinter, Row
from sale_sofia.properties.joins import Rows
from sale_sofia.properties.links import Bands, Links
from sale_sofia.properties.matcher import Matcher
from sale_sofia.properties.records import Adverts
from sale_sofia.properties.region import Region, compare_changes, reach
from sale_sofia.properties.secret import load_secret


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
    weights = resources.files("sale_sofia.config").joinpath("matching_weights.yaml").read_bytes()
    words = resources.files("sale_sofia.properties").joinpath("matching_words.yaml").read_bytes()
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
