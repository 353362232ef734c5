"""How a run is: healthy, degraded or critical, and why; the thresholds are settings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from sale_sofia.config.history import THIN_SHARE
from sale_sofia.config.monitoring import FLOOR_CRITICAL_SHARE
from sale_sofia.config.settings import Settings
from sale_sofia.data.jobs import JobState
from sale_sofia.monitoring.comparison import Comparison
from sale_sofia.monitoring.run_facts import RunFacts


class HealthState(IntEnum):
    """The higher, the worse."""

    HEALTHY = 0
    DEGRADED = 1
    CRITICAL = 2

    @property
    def word(self) -> str:
        """The state as reports say it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason not to be healthy."""

    state: HealthState
    sentence: str


@dataclass(frozen=True, slots=True)
class Health:
    """The worst of the findings; healthy when, and only when, there are none."""

    findings: tuple[Finding, ...] = ()

    @property
    def state(self) -> HealthState:
        """How it is."""
        return worst(finding.state for finding in self.findings)

    @property
    def reasons(self) -> list[str]:
        """Why, the worst first."""
        return [one.sentence for one in sorted(self.findings, key=lambda one: -one.state)]


def worst(states: Iterable[HealthState]) -> HealthState:
    """The worst of several; nothing is healthy."""
    return max(states, default=HealthState.HEALTHY)


END_FINDINGS = {
    JobState.EMPTY: Finding(HealthState.CRITICAL, "the portal showed no advert"),
    JobState.FAILED: Finding(HealthState.CRITICAL, "no advert could be read"),
    JobState.PARTIAL: Finding(HealthState.CRITICAL, "too many adverts could not be read"),
    JobState.CANCELLED: Finding(HealthState.DEGRADED, "the run was cancelled"),
}


def judge(run: RunFacts, comparison: Comparison | None, settings: Settings) -> Health:
    """The run's health, also while it is still going on."""
    shares = (*_shares(run, settings), *_floors(run), *_coverage(run))
    return Health((*_end(run), *shares, *_collapse(run, comparison, settings)))


def has_collapsed(run: RunFacts, comparison: Comparison | None, settings: Settings) -> bool:
    """Whether a completed run brought far fewer adverts than is usual."""
    complete = run.job.state is JobState.COMPLETE
    return complete and comparison is not None and comparison.collapsed(settings.health_collapse_share)


def _end(run: RunFacts) -> Iterator[Finding]:
    if run.job.state in END_FINDINGS:
        yield END_FINDINGS[run.job.state]


def _shares(run: RunFacts, settings: Settings) -> Iterator[Finding]:
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
    for share, degraded, critical, what in limits:
        # A threshold of 0 means "any at all": nothing is never too much.
        if share > 0 and share >= degraded:
            state = HealthState.CRITICAL if share >= critical else HealthState.DEGRADED
            limit = critical if state is HealthState.CRITICAL else degraded
            yield Finding(state, f"{share:.1%} {what} ({state.word} from {limit:.1%})")


def _floors(run: RunFacts) -> Iterator[Finding]:
    """Adverts that lack what the site file asks of them, in the first run as in any other."""
    for one in run.shortfalls:
        critical = one["now"] < one["usual"] * FLOOR_CRITICAL_SHARE
        yield Finding(HealthState.CRITICAL if critical else HealthState.DEGRADED, one["found"])


def _coverage(run: RunFacts) -> Iterator[Finding]:
    """Adverts that the portal has and the run did not see."""
    sweep = run.sweep
    if sweep is not None and sweep.missing is not None:
        few = (sweep.adverts or 0) < THIN_SHARE * (sweep.announced or 0)
        yield Finding(HealthState.CRITICAL if few else HealthState.DEGRADED, sweep.missing)


def _collapse(run: RunFacts, comparison: Comparison | None, settings: Settings) -> Iterator[Finding]:
    if comparison is not None and has_collapsed(run, comparison, settings):
        yield Finding(HealthState.CRITICAL, collapse_sentence(run, comparison))


def collapse_sentence(run: RunFacts, comparison: Comparison) -> str:
    """What was found beside what is usual."""
    return f"{run.pages.adverts} adverts, where {comparison.adverts:g} are usual"
