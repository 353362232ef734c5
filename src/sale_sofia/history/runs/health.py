"""The health of a run: healthy, degraded or critical, and why; the thresholds are settings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from statistics import median
from typing import Final

from sale_sofia.history.drift.store import DRIFT_KINDS
from sale_sofia.history.jobs import JobState
from sale_sofia.history.runs.facts import RunComparison, RunFacts
from sale_sofia.history.settings import THIN_SHARE
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind
from sale_sofia.telemetry.settings import (
    DATA_LATE_SECONDS,
    FLOOR_CRITICAL_SHARE,
    LIVELY_CHANGES,
    QUIET_RUNS,
    SECONDS_OF_AN_HOUR,
)


class HealthState(IntEnum):
    """The higher, the worse."""

    HEALTHY = 0
    DEGRADED = 1
    CRITICAL = 2

    @property
    def word(self) -> str:
        """The state as printed in reports."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """One reason not to be healthy."""

    state: HealthState
    sentence: str


@dataclass(frozen=True, slots=True)
class Health:
    """The worst of the findings; healthy when, and only when, there are none."""

    findings: tuple[HealthFinding, ...] = ()

    @property
    def state(self) -> HealthState:
        """The worst state among the findings."""
        return worst(finding.state for finding in self.findings)

    @property
    def reasons(self) -> list[str]:
        """The reasons, the worst first."""
        return [finding.sentence for finding in sorted(self.findings, key=lambda finding: -finding.state)]


def worst(states: Iterable[HealthState]) -> HealthState:
    """The worst of several states; healthy without any."""
    return max(states, default=HealthState.HEALTHY)


END_FINDINGS = {
    JobState.EMPTY: (HealthState.CRITICAL, "job.empty"),
    JobState.FAILED: (HealthState.CRITICAL, "job.failed"),
    JobState.PARTIAL: (HealthState.CRITICAL, "job.partial"),
    JobState.CANCELLED: (HealthState.DEGRADED, "job.cancelled"),
}
"""How bad an end is, and the code of its sentence."""


def judge(run: RunFacts, comparison: RunComparison | None, settings: Settings) -> Health:
    """The run's health, even while it is running; never healthy while its portal's pages have drifted."""
    findings = [
        HealthFinding(HealthState.DEGRADED, Said("trouble.drift", kind=kind.value)) for kind in run.drift
    ]
    findings += _shares(run, settings)
    if run.job.state in END_FINDINGS:
        state, code = END_FINDINGS[run.job.state]
        findings.insert(0, HealthFinding(state, Said(code)))
    for floor in run.shortfalls:  # adverts that lack what the site file requires, even in the first run
        critical = floor["now"] < floor["usual"] * FLOOR_CRITICAL_SHARE
        state = HealthState.CRITICAL if critical else HealthState.DEGRADED
        findings.append(HealthFinding(state, floor["found"]))
    if run.sweep is not None and run.sweep.missing is not None:  # adverts that the run did not see
        few = (run.sweep.adverts or 0) < THIN_SHARE * (run.sweep.announced or 0)
        state = HealthState.CRITICAL if few else HealthState.DEGRADED
        findings.append(HealthFinding(state, run.sweep.missing))
    if comparison is not None and has_collapsed(run, comparison, settings):
        findings.append(HealthFinding(HealthState.CRITICAL, collapse_sentence(run, comparison)))
    return Health(tuple(findings))


def has_collapsed(run: RunFacts, comparison: RunComparison | None, settings: Settings) -> bool:
    """Whether a completed run brought far fewer adverts than is usual."""
    complete = run.job.state is JobState.COMPLETE
    return complete and comparison is not None and comparison.collapsed(settings.health_collapse_share)


def _shares(run: RunFacts, settings: Settings) -> Iterator[HealthFinding]:
    limits = (
        (
            run.pages.failure_share,
            settings.health_failure_degraded,
            settings.health_failure_critical,
            "of the pages failed",
        ),
        (
            run.block_share,
            settings.health_block_degraded,
            settings.health_block_critical,
            "of the requests were blocked or rate-limited",
        ),
        (
            run.circuit_open_share,
            settings.health_circuit_degraded,
            settings.health_circuit_critical,
            "of the time the circuit was open",
        ),
    )
    for share, degraded, critical, description in limits:
        # A threshold of 0 means "any at all": nothing is never too much.
        if share > 0 and share >= degraded:
            state = HealthState.CRITICAL if share >= critical else HealthState.DEGRADED
            limit = critical if state is HealthState.CRITICAL else degraded
            yield HealthFinding(state, f"{share:.1%} {description} ({state.word} from {limit:.1%})")


def collapse_sentence(run: RunFacts, comparison: RunComparison) -> Said:
    """The number of adverts compared with the usual one."""
    return Said("trouble.collapse", count=run.pages.adverts, usual=comparison.adverts)


# The state of a portal's data: fresh, late, stuck or failing; by the data itself, never by "last run OK".


class DataState(StrEnum):
    """The state of a portal's data; the first is the worst."""

    FAILING = "failing"
    STUCK = "stuck"
    LATE = "late"
    FRESH = "fresh"
    NEVER = "never"


_FAILING: Final = frozenset(IncidentKind) - {
    # These say nothing about fetching: a job that does not move, or later processing of adverts.
    IncidentKind.STUCK_JOB,
    IncidentKind.LARGE_PROPERTY,
    IncidentKind.MATCHING_FAILED,
    IncidentKind.PHOTOS_FAILED,
}


@dataclass(frozen=True, slots=True)
class RunData:
    """The results of one ended run."""

    adverts: int
    new: int = 0
    changed: int = 0

    @property
    def news(self) -> int:
        """How many adverts were new or changed."""
        return self.new + self.changed


@dataclass(frozen=True, slots=True)
class PortalFacts:
    """The facts about a portal's data at one moment."""

    now: float
    last_listing_at: float | None = None
    """When one of its adverts was last seen, on a card or on its own page."""
    runs: Sequence[RunData] = ()
    """Ended runs, successful or not, the newest first."""
    expected: float | None = None
    """The usual number of adverts; None before there is one."""
    incidents: frozenset[IncidentKind] = frozenset()
    """The open incidents."""
    unmoved: bool = False
    """An unfinished crawl of it has not moved for too long."""


@dataclass(frozen=True, slots=True)
class PortalVerdict:
    """A state, and why."""

    state: DataState
    reason: str
    """One of `REASONS`, a code for its sentence."""
    values: dict[str, float | str] = field(default_factory=dict)


REASONS: Final = (
    "incident", "nothing_found", "unmoved", "no_news", "old", "never_seen", "nothing_collected", "seen",
)  # fmt: skip


def judge_portal(facts: PortalFacts, *, late_seconds: float = DATA_LATE_SECONDS) -> PortalVerdict:
    """The worst state that applies, and why."""
    verdicts = [
        PortalVerdict(DataState.FAILING, "incident", {"kind": kind.value})
        for kind in sorted(facts.incidents & _FAILING, key=lambda kind: (kind not in DRIFT_KINDS, kind))
    ]
    # A run that ended well and brought nothing is what "last run OK" hides.
    if facts.runs and not facts.runs[0].adverts and (facts.expected or facts.last_listing_at is None):
        verdicts.append(
            PortalVerdict(DataState.FAILING, "nothing_found", {"expected": facts.expected or 0.0})
        )
    if facts.unmoved or IncidentKind.STUCK_JOB in facts.incidents:
        verdicts.append(PortalVerdict(DataState.STUCK, "unmoved"))
    if _fell_silent(facts.runs):
        verdicts.append(PortalVerdict(DataState.STUCK, "no_news", {"runs": QUIET_RUNS}))
    if facts.last_listing_at is None:
        verdicts.append(
            PortalVerdict(DataState.LATE, "never_seen")
            if facts.runs
            else PortalVerdict(DataState.NEVER, "nothing_collected")
        )
    elif (age := facts.now - facts.last_listing_at) > late_seconds:
        verdicts.append(PortalVerdict(DataState.LATE, "old", {"hours": age / SECONDS_OF_AN_HOUR}))
    else:
        verdicts.append(PortalVerdict(DataState.FRESH, "seen"))
    return min(verdicts, key=lambda verdict: list(DataState).index(verdict.state))


def _fell_silent(runs: Sequence[RunData]) -> bool:
    """Whether a portal that used to change now always shows the same adverts, perhaps a stale copy."""
    latest, before = runs[:QUIET_RUNS], runs[QUIET_RUNS:]
    if len(latest) < QUIET_RUNS or not before or any(run.news for run in latest):
        return False
    return median(run.news for run in before) >= LIVELY_CHANGES
