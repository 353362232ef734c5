"""Scores of all offered flats for all profiles; only what has changed is scored again.

A score is a function of the flat's facts, the profile and the yardstick of its neighbourhood; the digest of
the three is stored with it. A run looks at the flats that were touched since the last one and at those of
their neighbourhoods, whose yardsticks they may move; at all flats when a profile or a rule has changed. A
score whose digest differs is made again. A yardstick stays until a mark of it has moved by more than
YARDSTICK_TOLERANCE.
"""

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b
from itertools import islice
from typing import Final, NamedTuple

from sqlalchemy import Connection

from sale_sofia.advice.scoring import store
from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.profile import Profile, ProfileError, load_profiles
from sale_sofia.advice.scoring.scoring import Scorer, in_scope, look
from sale_sofia.advice.scoring.settings import SCORING_VERSION
from sale_sofia.advice.scoring.store import ScoredFlat, ScoreRow
from sale_sofia.advice.scoring.yardsticks import (
    Cell,
    Comparable,
    Yardstick,
    Yardsticks,
)
from sale_sofia.advice.settings import INCIDENT_SITE, SCORES_AT_ONCE
from sale_sofia.buyer.opinions import agree
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import flat_changes, load_flats, refresh_flats
from sale_sofia.flats.rows import current_properties, no_collecting
from sale_sofia.flats.settings import TRIES
from sale_sofia.flats.store import portions
from sale_sofia.history.revisions import Changes, advance, is_at, position
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import Aftermath, IncidentKind, attempt

FOLLOWER: Final = "scores"
Profiles = Mapping[str, Profile]


@dataclass(frozen=True, slots=True)
class Work:
    """What a run has to do. Scores are by profile."""

    changes: Changes
    version: str
    neighbourhoods: Collection[str] | None
    """Where flats changed; None: all of them were looked at."""
    changed: Sequence[ScoredFlat]
    vanished: set[int]
    """Properties that no longer exist."""
    yardsticks: Yardsticks
    digests: Mapping[str, Mapping[int, str]]
    """What every score has to be made of, by property."""
    stale: Mapping[str, set[int]]
    """Properties whose score is missing, or made of something else."""
    outdated: Mapping[str, set[int]]
    """Properties whose score is of what is gone, or no longer looked for."""


def find_work(connection: Connection, settings: Settings, profiles: Profiles) -> Work:
    """What has to be scored; without any change since the last run nothing more is read."""
    # The version names everything but the flats that scores depend on.
    limits = (settings.score_least_prices, settings.score_least_rents)
    by = (
        SCORING_VERSION,
        limits,
        sorted((name, profile.model_dump_json()) for name, profile in profiles.items()),
    )
    version = blake2b(repr(by).encode(), digest_size=16).hexdigest()
    changes = flat_changes(connection, position(connection, FOLLOWER, version), scores=False)
    touched = current_properties(connection, changes.listing_ids) if changes.since else None
    facts, scored = store.read_facts(connection, touched), store.read_scored_flats(connection, touched)
    new = {
        number for number, digest in facts.items() if number not in scored or scored[number].facts != digest
    }
    changed = store.read_as_scored(connection, new)
    vanished = scored.keys() - facts.keys()
    neighbourhoods = None
    if touched is not None:
        involved = (*scored.values(), *changed)
        neighbourhoods = {flat.neighbourhood for flat in involved if flat.neighbourhood is not None}
        scored |= store.read_neighbours(connection, neighbourhoods)
    scored |= {flat.property_id: flat for flat in changed}
    there = [flat for number, flat in scored.items() if number not in vanished]
    yardsticks = _measure(there, settings, store.read_yardsticks(connection, neighbourhoods))
    digests = {name: _digests(profile, there, yardsticks) for name, profile in profiles.items()}
    looked_at = None if touched is None else scored.keys()
    stale: dict[str, set[int]] = {}
    outdated: dict[str, set[int]] = {}
    for name, current in digests.items():
        stored = store.read_digests(connection, name, looked_at)
        stale[name] = {number for number, digest in current.items() if stored.get(number) != digest}
        outdated[name] = stored.keys() - current.keys()
    return Work(
        changes, version, neighbourhoods, changed, vanished, yardsticks, digests, stale, outdated
    )  # fmt: skip


def _measure(flats: Sequence[ScoredFlat], settings: Settings, stored: Mapping[Cell, Yardstick]) -> Yardsticks:
    """The yardsticks of all flats, whatever profile looks for them: others are deleted."""
    comparables = (
        Comparable(flat.deal or "", flat.neighbourhood, flat.rooms, flat.eur_sqm)
        for flat in flats
        if flat.eur_sqm is not None and flat.neighbourhood is not None
    )
    yardsticks = Yardsticks(comparables, settings, stored)
    for cell in {(flat.neighbourhood, flat.rooms) for flat in flats if flat.neighbourhood is not None}:
        yardsticks.of(cell)
    return yardsticks


def _digests(profile: Profile, flats: Sequence[ScoredFlat], yardsticks: Yardsticks) -> dict[int, str]:
    base = blake2b(f"{SCORING_VERSION} {profile.model_dump_json()}".encode(), digest_size=16)
    digests = {}
    for flat in flats:
        if flat.offered and in_scope(profile, flat.deal, flat.property_type):
            place = flat.neighbourhood
            yardstick = "" if place is None else yardsticks.digest((place, flat.rooms))
            digest = base.copy()
            digest.update(f"{flat.facts} {yardstick}".encode())
            digests[flat.property_id] = digest.hexdigest()
    return digests


class ScoreSummary(NamedTuple):
    """What a run did."""

    changed: int
    """Properties whose facts are not what they were."""
    scored: int
    """Scores that were made: one for a property and a profile."""
    removed: int
    """Scores of what is gone, or is no longer looked for."""
    seconds: float


class ScoringBusy(ValueError):
    """Other runs were always first; the last of them has scored everything."""


def score_all(
    settings: Settings, database: Database, *, clock: Callable[[], float] = time.time
) -> ScoreSummary:
    """Score what has changed for every profile that can be used; scores of deleted profiles go.

    Raises:
        ProfileError: a profile cannot be used; the others are scored, and its scores stay as they were.
    """
    loaded = load_profiles(settings.data_dir)
    summary = ScoreRun(settings, database, loaded.profiles).run(clock)
    remaining = [*loaded.profiles, *loaded.mistakes]
    forgotten = database.run_write(partial(store.forget_other_profiles, names=remaining))
    if loaded.mistakes:
        raise ProfileError(Said("wrong_file.lines", lines=[*map(Said.of, loaded.mistakes.values())]))
    return summary._replace(removed=summary.removed + forgotten)


class ScoreRun:
    """One run for these profiles, which are all there are: a run for other profiles starts from scratch.

    It reads one view of the database; what it writes can be read while it goes on. Of two concurrent runs the
    later starts again and finds what is left. A killed run has done a part, which the next repeats with the
    rest: only the last transaction marks everything as done.
    """

    def __init__(self, settings: Settings, database: Database, profiles: Profiles) -> None:
        self._settings = settings
        self._database = database
        self._profiles = profiles

    def run(self, clock: Callable[[], float] = time.time) -> ScoreSummary:
        """Score what has changed. Raises ScoringBusy if other runs were always first."""
        began = time.perf_counter()
        find = partial(find_work, settings=self._settings, profiles=self._profiles)
        for _ in range(TRIES):
            refresh_flats(self._database)
            with no_collecting():
                work = self._database.run_read(find)
                if work.changes.since and work.changes.upto == work.changes.since:
                    return ScoreSummary(0, 0, 0, time.perf_counter() - began)
                scored = self._save_scores(work, now=clock())
                if scored is not None and self._database.run_write(partial(_finish, work=work, now=clock())):
                    removed = sum(map(len, work.outdated.values()))
                    return ScoreSummary(len(work.changed), scored, removed, time.perf_counter() - began)
        raise ScoringBusy("others were scoring all the time; try again when they have ended")

    def _save_scores(self, work: Work, *, now: float) -> int | None:
        """Save the scores; how many, or None if another run was first: these may be older than its own."""
        rows, scored = self._rows(work, now=now), 0
        while some := list(islice(rows, SCORES_AT_ONCE)):
            if not self._database.run_write(partial(_save_some, work=work, rows=some)):
                return None
            scored += len(some)
        return scored

    def _rows(self, work: Work, *, now: float) -> Iterator[ScoreRow]:
        scorers = {name: Scorer(profile) for name, profile in self._profiles.items()}
        for flat in self._flats(sorted(set().union(*work.stale.values()))):
            seen = None
            for name, scorer in scorers.items():
                if flat.property_id in work.stale[name]:
                    seen = seen or look(flat, work.yardsticks.of)
                    score = scorer.score(seen)
                    yield ScoreRow(
                        score.property_id,
                        name,
                        work.digests[name][flat.property_id],
                        score.value,
                        score.known,
                        score.points,
                        score.verdict.value,
                        _names(score.breakers_in(State.FAIL)),
                        _names(score.breakers_in(State.UNKNOWN)),
                        f"{{{','.join([criterion.stored for criterion in score.criteria])}}}",
                        now,
                    )

    def _flats(self, property_ids: Sequence[int]) -> Iterator[Flat]:
        """The flats as they are now, in portions; the next run scores again what changes meanwhile."""
        for some in portions(property_ids):
            yield from self._database.run_read(
                lambda connection, some=some: list(load_flats(connection, some))  # type: ignore[misc]
            )


_names = cache(json.dumps)
"""Names of breakers as they are stored; there are few different lists."""


def _save_some(connection: Connection, work: Work, rows: Sequence[ScoreRow]) -> bool:
    if not is_at(connection, FOLLOWER, work.version, work.changes.since):
        return False
    store.save_scores(connection, rows)
    return True


def _finish(connection: Connection, work: Work, now: float) -> bool:
    if not advance(connection, FOLLOWER, work.version, work.changes):
        return False
    store.save_scored_flats(connection, work.changed)
    store.forget_flats(connection, work.vanished)
    store.save_yardsticks(connection, work.yardsticks.made, work.neighbourhoods)
    for profile, property_ids in work.outdated.items():
        store.forget_scores(connection, profile, property_ids)
    agree(connection, now=now)  # flats were joined or parted perhaps; a new status is seen by the next run
    return True


def score_new(settings: Settings, database: Database, clock: Callable[[], float] = time.time) -> bool:
    """Score what a crawl changed, for every usable profile; never raises, `False` if it failed.

    An unusable profile is a failure too. The next call does what is left undone.
    """
    aftermath = Aftermath("scoring", IncidentKind.SCORING_FAILED, INCIDENT_SITE, "sale-sofia score")
    work = partial(score_all, settings, database, clock=clock)
    return attempt(database, aftermath, work, ProfileError, clock=clock)
