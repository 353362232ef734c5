"""Scores of all offered flats for all profiles; only what has changed is scored again.

A score is a function of the flat's facts, the profile and the yardstick of its neighbourhood; the digest of
the three is stored with it. So whatever happens between two runs, a run makes again what is not made of
these, and nothing else. A yardstick is kept until a mark of it has moved by more than YARDSTICK_TOLERANCE.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from sale_sofia.advice.scoring import store
from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.profile import Profile, ProfileError, load_profiles
from sale_sofia.advice.scoring.remembering import look
from sale_sofia.advice.scoring.scoring import Score, Scorer, in_scope
from sale_sofia.advice.scoring.settings import SCORING_VERSION
from sale_sofia.advice.scoring.store import ScoredFlat, ScoreRow
from sale_sofia.advice.scoring.yardsticks import (
    Comparable,
    Yardsticks,
    cell_of,
    comparable,
    kept_yardsticks,
    yardstick_rows,
)
from sale_sofia.advice.settings import INCIDENT_SITE, REREAD_SHARE, SCORES_AT_ONCE
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import no_collecting, read_flats
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, DatabaseError
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, close_incident, open_incident

# What a run of scores has to do: what has changed, and which scores are made of something else now.

Profiles = Mapping[str, Profile]
Digests = Mapping[int, str]
"""Property → what its score is made of."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a run has to do. Scores are by profile."""

    properties: int
    """All that there are."""
    changed: Sequence[ScoredFlat]
    vanished: set[int]
    """Properties that are none any more."""
    flats: Sequence[Flat]
    """All that have to be scored, for whichever profile."""
    yardsticks: Yardsticks
    wanted: Mapping[str, Digests]
    """Of what every score has to be made."""
    stale: Mapping[str, set[int]]
    """Scores that are made of something else, or not at all."""
    outdated: Mapping[str, set[int]]
    """Scores of what is gone, or is no longer looked for."""


def find_work(connection: Connection, settings: Settings, profiles: Profiles) -> Work:
    """Look through everything that is stored; only flats that have to be scored are read."""
    facts, known = store.read_facts(connection), store.read_scored_flats(connection)
    new = {one for one, digest in facts.items() if one not in known or known[one].facts != digest}
    flats = _read_flats(connection, new, len(facts))
    changed = [_scored_flat(flat, facts[one]) for one, flat in flats.items()]
    vanished = known.keys() - facts.keys()
    known |= {flat.property_id: flat for flat in changed}
    there = [flat for one, flat in known.items() if one not in vanished]
    yardsticks = _measure(there, Yardsticks(_comparables(there), settings, kept_yardsticks(connection)))
    wanted = {name: _digests(profile, there, yardsticks) for name, profile in profiles.items()}
    stored = {name: store.read_digests(connection, name) for name in profiles}
    stale = {name: _differing(wanted[name], stored[name]) for name in profiles}
    outdated = {name: stored[name].keys() - wanted[name].keys() for name in profiles}
    missing = set().union(*stale.values()) - flats.keys()
    flats |= _read_flats(connection, missing, len(facts))
    return Work(len(facts), changed, vanished, list(flats.values()), yardsticks, wanted, stale, outdated)


def _read_flats(connection: Connection, wanted: set[int], known: int) -> dict[int, Flat]:
    """These properties; where they are many, all are gone through, which is faster than asking for each."""
    asked = wanted if len(wanted) <= REREAD_SHARE * known else None
    found = read_flats(connection, asked, photos=0)
    return {flat.property_id: flat for flat in found if flat.property_id in wanted}


def _scored_flat(flat: Flat, facts: str) -> ScoredFlat:
    cell, compared = cell_of(flat.neighbourhood, flat.rooms), comparable(flat)
    return ScoredFlat(
        flat.property_id,
        facts,
        flat.deal,
        flat.property_type,
        flat.offered,
        flat.neighbourhood,
        cell[1] if cell else 0,
        compared.eur_sqm if compared else None,
    )


def _comparables(known: Sequence[ScoredFlat]) -> Iterator[Comparable]:
    for flat in known:
        if flat.eur_sqm is not None and flat.neighbourhood is not None:
            yield Comparable(flat.deal or "", flat.neighbourhood, flat.rooms, flat.eur_sqm)


def _measure(known: Sequence[ScoredFlat], yardsticks: Yardsticks) -> Yardsticks:
    """Make the yardsticks of all flats, whoever looks for them: those that are not made are forgotten."""
    for cell in {(flat.neighbourhood, flat.rooms) for flat in known if flat.neighbourhood is not None}:
        yardsticks.of(cell)
    return yardsticks


def _digests(profile: Profile, known: Sequence[ScoredFlat], yardsticks: Yardsticks) -> dict[int, str]:
    begun = blake2b(f"{SCORING_VERSION} {profile.model_dump_json()}".encode(), digest_size=16)
    return {
        flat.property_id: _digest(begun, flat, yardsticks)
        for flat in known
        if flat.offered and in_scope(profile, flat.deal, flat.property_type)
    }


def _digest(begun: Any, flat: ScoredFlat, yardsticks: Yardsticks) -> str:  # noqa: ANN401 - a hash that was begun
    measured = "" if flat.neighbourhood is None else yardsticks.digest((flat.neighbourhood, flat.rooms))
    made = begun.copy()
    made.update(f"{flat.facts} {measured}".encode())
    digest: str = made.hexdigest()
    return digest


def _differing(wanted: Digests, stored: Digests) -> set[int]:
    return {one for one, digest in wanted.items() if stored.get(one) != digest}


class ScoreSummary(NamedTuple):
    """What a run did."""

    properties: int
    """All that there are."""
    changed: int
    """Of these, whose facts are not what they were."""
    scored: int
    """Scores that were made: one for a property and a profile."""
    removed: int
    """Scores of what is gone, or is no longer looked for."""
    seconds: float


def score_all(
    settings: Settings, database: Database, *, clock: Callable[[], float] = time.time
) -> ScoreSummary:
    """Score what has changed for every profile that can be used; scores of deleted profiles go.

    Raises:
        ProfileError: a profile cannot be used; the others are scored, and its scores stay as they were.
    """
    loaded = load_profiles(settings.data_dir)
    summary = ScoreRun(settings, database, loaded.profiles).run(clock)
    kept = [*loaded.profiles, *loaded.mistakes]
    forgotten = database.run_write(partial(store.forget_profiles, kept=kept))
    if loaded.mistakes:
        raise ProfileError("\n".join(map(str, loaded.mistakes.values())))
    return summary._replace(removed=summary.removed + forgotten)


class ScoreRun:
    """One run. What it reads is one view of the database; what it writes may be read while it writes."""

    def __init__(self, settings: Settings, database: Database, profiles: Profiles) -> None:
        self._settings = settings
        self._database = database
        self._profiles = profiles

    def run(self, clock: Callable[[], float] = time.time) -> ScoreSummary:
        """Score what has to be; a run that is killed has done a part, and the next one does the rest."""
        began = time.perf_counter()
        with no_collecting():
            work = self._database.run_read(
                partial(find_work, settings=self._settings, profiles=self._profiles)
            )
            self._database.run_write(partial(_save_flats, work=work))
            scored = self._save_scores(work, now=clock())
            removed = self._database.run_write(partial(_forget, outdated=work.outdated))
        return ScoreSummary(work.properties, len(work.changed), scored, removed, time.perf_counter() - began)

    def _save_scores(self, work: Work, *, now: float) -> int:
        rows, scored = self._rows(work, now=now), 0
        while some := list(islice(rows, SCORES_AT_ONCE)):
            self._database.run_write(partial(store.save_scores, rows=some))
            scored += len(some)
        return scored

    def _rows(self, work: Work, *, now: float) -> Iterator[ScoreRow]:
        scorers = {name: Scorer(profile) for name, profile in self._profiles.items()}
        for flat in work.flats:
            seen = None
            for name, scorer in scorers.items():
                if flat.property_id in work.stale[name]:
                    seen = seen or look(flat, work.yardsticks.of)
                    yield _row(name, work.wanted[name][flat.property_id], scorer.score(seen), now)


def _row(profile: str, digest: str, score: Score, now: float) -> ScoreRow:
    return ScoreRow(
        score.property_id,
        profile,
        digest,
        score.value,
        score.known,
        score.points,
        score.verdict.value,
        _names(score.named(State.FAIL)),
        _names(score.named(State.UNKNOWN)),
        f"{{{','.join([one.stored for one in score.criteria])}}}",
        now,
    )


@cache
def _names(breakers: tuple[str, ...]) -> str:
    return json.dumps(breakers)


def _save_flats(connection: Connection, work: Work) -> None:
    store.save_scored_flats(connection, work.changed)
    store.forget_flats(connection, work.vanished)
    store.save_yardsticks(connection, yardstick_rows(work.yardsticks.made))


def _forget(connection: Connection, outdated: Mapping[str, set[int]]) -> int:
    for profile, property_ids in outdated.items():
        store.forget_scores(connection, profile, property_ids)
    return sum(map(len, outdated.values()))


# What is scored when a crawl ends. It may fail without the crawl failing.

log: Final = logging.getLogger(__name__)


def score_new(settings: Settings, database: Database) -> bool:
    """Score what has changed, for every profile that can be used; never raises, `False` if it failed.

    A failure, or a profile that cannot be used, is logged and opens an incident; the next call does what is
    left undone.
    """
    try:
        score_all(settings, database)
        database.run_write(partial(_judge_failure, error=None, now=time.time()))
    except (DatabaseError, OSError, ProfileError) as error:  # they say themselves what is wrong
        log.warning("scoring after a crawl failed: %s", error)
        _report(database, error)
        return False
    except Exception as error:
        log.exception("scoring after a crawl failed")
        _report(database, error)
        return False
    return True


def _judge_failure(connection: Connection, error: Exception | None, *, now: float) -> None:
    if error is None:
        close_incident(connection, IncidentKind.SCORING_FAILED, INCIDENT_SITE, now=now)
        return
    sentence = f"scoring failed: {error or type(error).__name__}; `sale-sofia score` tries again"
    open_incident(connection, Trouble(IncidentKind.SCORING_FAILED, INCIDENT_SITE, sentence), now=now)


def _report(database: Database, error: Exception) -> None:
    try:
        database.run_write(partial(_judge_failure, error=error, now=time.time()))
    except DatabaseError as unwritten:
        log.warning("the failure of scoring could not be stored: %s", unwritten)
