"""A portal's word by its data: each case a state, and why."""

from dataclasses import dataclass, field

from sale_sofia.history.runs.health import REASONS, DataState, PortalFacts, RunData, judge_portal
from sale_sofia.telemetry.incidents import IncidentKind
from sale_sofia.telemetry.settings import DATA_LATE_SECONDS, LIVELY_CHANGES, QUIET_RUNS
from tables import each_row

NOW = 1_800_000_000.0
HOUR = 3600.0
LIVELY = RunData(adverts=100, new=3, changed=4)
SILENT = RunData(adverts=100)
NOTHING = RunData(adverts=0)


@dataclass(frozen=True)
class Case:
    """What is known, and what must be said of it."""

    name: str
    says: DataState
    why: str
    hours: float | None = 1.0
    runs: tuple[RunData, ...] = (LIVELY, LIVELY)
    expected: float | None = 100.0
    incidents: frozenset[IncidentKind] = field(default=frozenset())
    unmoved: bool = False

    def facts(self) -> PortalFacts:
        last = None if self.hours is None else NOW - self.hours * HOUR
        return PortalFacts(NOW, last, self.runs, self.expected, self.incidents, self.unmoved)


def having(*kinds: IncidentKind) -> frozenset[IncidentKind]:
    return frozenset(kinds)


FAILING, STUCK, LATE, FRESH, NEVER = DataState
CASES = (
    Case("all is well", FRESH, "seen"),
    Case("the first crawl is under way", FRESH, "seen", runs=(), expected=None),
    Case("never crawled", NEVER, "nothing_collected", hours=None, runs=(), expected=None),
    Case("26 hours are not late yet", FRESH, "seen", hours=26.0),
    Case("more are", LATE, "old", hours=26.01),
    Case("long ago, though its last run was good", LATE, "old", hours=40.0),
    Case("completed with zero adverts where 100 are usual", FAILING, "nothing_found", runs=(NOTHING, LIVELY)),
    Case("the same, two hours after good data", FAILING, "nothing_found", hours=2, runs=(NOTHING, NOTHING)),
    Case("zero adverts ever", FAILING, "nothing_found", hours=None, runs=(NOTHING,), expected=None),
    Case("zero and nothing usual, but adverts by hand", FRESH, "seen", runs=(NOTHING,), expected=None),
    Case("a run brought adverts that are not stored", LATE, "never_seen", hours=None, runs=(LIVELY,)),
    Case("an empty job is open", FAILING, "incident", incidents=having(IncidentKind.EMPTY_JOB)),
    Case("a collapse is open", FAILING, "incident", incidents=having(IncidentKind.COLLAPSE)),
    Case(
        "the circuit is open for long", FAILING, "incident", incidents=having(IncidentKind.CIRCUIT_OPEN_LONG)
    ),
    Case("prices mean something else", FAILING, "incident", incidents=having(IncidentKind.PRICE_MEANING)),
    Case("fields are no longer filled", FAILING, "incident", incidents=having(IncidentKind.DRIFT_FILL)),
    Case("matching failed: the data is fresh", FRESH, "seen", incidents=having(IncidentKind.MATCHING_FAILED)),
    Case("a large property: the data is fresh", FRESH, "seen", incidents=having(IncidentKind.LARGE_PROPERTY)),
    Case("a crawl does not move", STUCK, "unmoved", unmoved=True),
    Case("the same as an incident", STUCK, "unmoved", incidents=having(IncidentKind.STUCK_JOB)),
    Case("stuck is worse than late", STUCK, "unmoved", hours=50, unmoved=True),
    Case("failing is worse than stuck", FAILING, "nothing_found", runs=(NOTHING, LIVELY), unmoved=True),
    Case("always the same adverts", STUCK, "no_news", runs=(SILENT,) * QUIET_RUNS + (LIVELY,) * 4),
    Case("two silent runs are chance", FRESH, "seen", runs=(SILENT,) * 2 + (LIVELY,) * 4),
    Case("one change among them", FRESH, "seen", runs=(SILENT, RunData(100, 0, 1), SILENT, LIVELY)),
    Case("it was always quiet", FRESH, "seen", runs=(SILENT,) * 8),
    Case(
        "hardly anything ever moved",
        FRESH,
        "seen",
        runs=(SILENT,) * QUIET_RUNS + (RunData(100, LIVELY_CHANGES - 1),) * 4,
    ),
    Case(
        "just enough moved",
        STUCK,
        "no_news",
        runs=(SILENT,) * QUIET_RUNS + (RunData(100, LIVELY_CHANGES),) * 4,
    ),
)


@each_row("case", CASES)
def test_the_word_comes_from_the_data(case: Case) -> None:
    verdict = judge_portal(case.facts())
    assert (verdict.state, verdict.reason) == (case.says, case.why)


def test_every_state_and_reason_has_a_case() -> None:
    assert {case.says for case in CASES} == set(DataState)
    assert {case.why for case in CASES} == set(REASONS)


def test_it_says_how_old_and_which() -> None:
    late = judge_portal(PortalFacts(NOW, NOW - 30 * HOUR))
    assert late.values == {"hours": 30.0}
    two = PortalFacts(NOW, NOW, incidents=having(IncidentKind.EMPTY_JOB, IncidentKind.COLLAPSE))
    assert judge_portal(two).values == {"kind": "collapse"}
    drift = PortalFacts(NOW, NOW, incidents=having(IncidentKind.COLLAPSE, IncidentKind.DRIFT_FILL))
    assert judge_portal(drift).values == {"kind": "drift_fill"}
    assert judge_portal(PortalFacts(NOW, NOW - HOUR), late_seconds=HOUR - 1).state is DataState.LATE
    assert DATA_LATE_SECONDS == 26 * HOUR
