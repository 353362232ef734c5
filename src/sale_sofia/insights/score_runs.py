"""Scores of all offered flats for all profiles; only what has changed is scored again.

A score is a function of the flat's facts, the profile and the yardstick of its neighbourhood; the digest of
the three is stored with it. So whatever happens between two runs, a run makes again what is not made of
these, and nothing else. A yardstick is kept until a mark of it has moved by more than YARDSTICK_TOLERANCE.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection

from sale_sofia.config.insights import SCORES_AT_ONCE
from sale_sofia.config.settings import Settings
from sale_sofia.data import scores as store
from sale_sofia.data.database import Database
from sale_sofia.data.scores import ScoreRow
from sale_sofia.insights.collecting import no_collecting
from sale_sofia.insights.judging import State
from sale_sofia.insights.profiles import ProfileError, load_profiles
from sale_sofia.insights.remembering import look
from sale_sofia.insights.score_work import Profiles, Work, find_work
from sale_sofia.insights.scoring import Score, Scorer
from sale_sofia.insights.yardstick_rows import yardstick_rows


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
