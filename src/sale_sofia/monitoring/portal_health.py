"""How a portal's data is: fresh, late, stuck or failing; by the data itself, never by "last run OK"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Final

from sale_sofia.config.monitoring import (
    DATA_LATE_SECONDS,
    LIVELY_CHANGES,
    QUIET_RUNS,
    SECONDS_OF_AN_HOUR,
)
from sale_sofia.data.incidents import IncidentKind


class DataState(StrEnum):
    """What a portal's data is; the first is the worst."""

    FAILING = "failing"
    STUCK = "stuck"
    LATE = "late"
    FRESH = "fresh"
    NEVER = "never"


WORST_FIRST: Final = tuple(DataState)
_FAILING: Final = frozenset(IncidentKind) - {
    # These say nothing of what is fetched: a job that does not move, or what is made of adverts afterwards.
    IncidentKind.STUCK_JOB,
    IncidentKind.LARGE_PROPERTY,
    IncidentKind.MATCHING_FAILED,
}


@dataclass(frozen=True, slots=True)
class RunData:
    """What one run that has ended brought."""

    adverts: int
    new: int = 0
    changed: int = 0

    @property
    def news(self) -> int:
        """How much of it was not known before."""
        return self.new + self.changed


@dataclass(frozen=True, slots=True)
class PortalFacts:
    """What is known of a portal's data at one moment."""

    now: float
    last_listing_at: float | None = None
    """When an advert of it was last seen, on a card or on its own page."""
    runs: Sequence[RunData] = ()
    """Runs that ended, whatever became of them, the newest first."""
    expected: float | None = None
    """Adverts that are usual; None before anything is."""
    incidents: frozenset[IncidentKind] = frozenset()
    """Those that are open."""
    unmoved: bool = False
    """An unfinished crawl of it has not moved for too long."""


@dataclass(frozen=True, slots=True)
class PortalVerdict:
    """A word, and why."""

    state: DataState
    reason: str
    """One of `REASONS`, for whoever says it in words."""
    values: dict[str, float | str] = field(default_factory=dict)


REASONS: Final = (
    "incident", "nothing_found", "unmoved", "no_news", "old", "never_seen", "nothing_collected", "seen",
)  # fmt: skip


def judge_portal(facts: PortalFacts, *, late_seconds: float = DATA_LATE_SECONDS) -> PortalVerdict:
    """The worst that the data says, and why."""
    found = [*_failing(facts), *_stuck(facts), *_late(facts, late_seconds)]
    return min(found, key=lambda one: WORST_FIRST.index(one.state), default=_at_best(facts))


def _failing(facts: PortalFacts) -> Iterator[PortalVerdict]:
    for kind in sorted(facts.incidents & _FAILING):
        yield PortalVerdict(DataState.FAILING, "incident", {"kind": kind.value})
    # A run that ended well and brought nothing is what "last run OK" hides.
    if facts.runs and not facts.runs[0].adverts and (facts.expected or facts.last_listing_at is None):
        yield PortalVerdict(DataState.FAILING, "nothing_found", {"expected": facts.expected or 0.0})


def _stuck(facts: PortalFacts) -> Iterator[PortalVerdict]:
    if facts.unmoved or IncidentKind.STUCK_JOB in facts.incidents:
        yield PortalVerdict(DataState.STUCK, "unmoved")
    if _fell_silent(facts.runs):
        yield PortalVerdict(DataState.STUCK, "no_news", {"runs": QUIET_RUNS})


def _fell_silent(runs: Sequence[RunData]) -> bool:
    """Adverts come, and always the same: a portal that used to move shows an old copy of itself."""
    latest, before = runs[:QUIET_RUNS], runs[QUIET_RUNS:]
    if len(latest) < QUIET_RUNS or not before or any(run.news for run in latest):
        return False
    return median(run.news for run in before) >= LIVELY_CHANGES


def _late(facts: PortalFacts, late_seconds: float) -> Iterator[PortalVerdict]:
    if facts.last_listing_at is None:
        if facts.runs:
            yield PortalVerdict(DataState.LATE, "never_seen")
        return
    age = facts.now - facts.last_listing_at
    if age > late_seconds:
        yield PortalVerdict(DataState.LATE, "old", {"hours": age / SECONDS_OF_AN_HOUR})


def _at_best(facts: PortalFacts) -> PortalVerdict:
    if facts.last_listing_at is None:
        return PortalVerdict(DataState.NEVER, "nothing_collected")
    return PortalVerdict(DataState.FRESH, "seen")
