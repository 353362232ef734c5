from collections import Counter
from dataclasses import replace

from sale_sofia.history.jobs import Job, JobState
from sale_sofia.history.runs.facts import PageCounts, RunComparison, RunFacts
from sale_sofia.history.runs.health import Health, HealthState, judge, worst
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import IncidentKind
from sale_sofia.telemetry.metrics import DomainMetrics, TimeSpans
from tables import each_row

USUAL = RunComparison(7, 100, 100, 0.0, 1.0, 1.0)


def run(
    state: JobState = JobState.COMPLETE,
    *,
    failed: int = 0,
    refused: int = 0,
    open_seconds: float = 0,
    adverts: int = 100,
) -> RunFacts:
    """A run of a hundred pages, a hundred requests and a hundred seconds."""
    job = Job("j", "imot.bg", state, ("u",), None, 999.0, 1000.0, 1100.0, None, 100, 1, 1, 100.0)
    verdicts = {"ok": 100 - refused, "blocked": refused // 2, "rate_limited": -(-refused // 2)}
    counted = DomainMetrics(Counter(verdicts))
    counted.circuit_open = TimeSpans()
    counted.circuit_open.add(1050, open_seconds)
    return RunFacts(job, PageCounts(100 - failed, failed, 0, adverts), {"imot.bg": counted}, 9000.0)


def judged(facts: RunFacts, comparison: RunComparison | None = USUAL, **limits: float) -> Health:
    return judge(facts, comparison, Settings.model_validate(limits))


def test_nothing_wrong_is_healthy() -> None:
    health = judged(run(failed=4, refused=1, open_seconds=4))
    assert (health.state, health.reasons) == (HealthState.HEALTHY, [])


def test_no_run_is_healthy_beside_open_drift() -> None:
    health = judged(replace(run(), drift=[IncidentKind.DRIFT_FILL]))
    assert health.state is HealthState.DEGRADED
    assert health.reasons == ["the portal's pages are not read as usual: drift_fill"]


@each_row(
    ("facts", "state", "reason"),
    [
        (run(failed=5), "degraded", "5.0% of the pages failed (degraded from 5.0%)"),
        (run(failed=29), "degraded", "29.0% of the pages failed (degraded from 5.0%)"),
        (run(failed=30), "critical", "30.0% of the pages failed (critical from 30.0%)"),
        (
            run(refused=2),
            "degraded",
            "2.0% of the requests were blocked or rate-limited (degraded from 2.0%)",
        ),
        (
            run(refused=21),
            "critical",
            "21.0% of the requests were blocked or rate-limited (critical from 20.0%)",
        ),
        (run(open_seconds=5), "degraded", "5.0% of the time the circuit was open (degraded from 5.0%)"),
        # It was told to stay open longer than the run went on.
        (run(open_seconds=500), "critical", "50.0% of the time the circuit was open (critical from 50.0%)"),
        (run(JobState.EMPTY), "critical", "the portal showed no advert"),
        (run(JobState.FAILED), "critical", "no advert could be read"),
        (run(JobState.CANCELLED), "degraded", "the run was cancelled"),
    ],
)
def test_each_threshold(facts: RunFacts, state: str, reason: str) -> None:
    health = judged(facts)
    assert (health.state.word, health.reasons) == (state, [reason])


def below(name: str, part: int, *, usual: float = 0.8) -> dict[str, object]:
    """What a run found too seldom, of thirty adverts."""
    found = f"{name} on {part} of 30 opened adverts (at least {usual:.0%} expected)"
    return {"kind": "drift_floor", "now": part / 30, "usual": usual, "found": found}


def test_adverts_without_what_the_file_asks_for_are_a_reason_in_the_first_run() -> None:
    health = judged(replace(run(), shortfalls=[below("area", 13), below("price", 0)]), None)
    assert health.state is HealthState.CRITICAL
    assert health.reasons == [
        "price on 0 of 30 opened adverts (at least 80% expected)",
        "area on 13 of 30 opened adverts (at least 80% expected)",
    ]
    assert judged(replace(run(), shortfalls=[below("area", 13)])).state is HealthState.DEGRADED
    assert judged(replace(run(), shortfalls=[below("area", 11)])).state is HealthState.CRITICAL
    assert judged(replace(run(), shortfalls=[below("area", 11, usual=0.7)])).state is HealthState.DEGRADED


def test_the_thresholds_are_settings() -> None:
    assert judged(run(failed=5), health_failure_degraded=0.051).reasons == []
    assert judged(run(failed=5), health_failure_critical=0.05).state is HealthState.CRITICAL
    assert judged(run(failed=1), health_failure_degraded=0).state is HealthState.DEGRADED
    assert judged(run(failed=0), health_failure_degraded=0).state is HealthState.HEALTHY


def test_a_collapse_is_critical() -> None:
    few = RunComparison(7, 100, 100, 0.0, 1.0, 0.49)
    assert judged(run(adverts=49), few).reasons == ["49 adverts, where 100 are usual"]
    assert judged(run(adverts=49), few).state is HealthState.CRITICAL
    assert judged(run(adverts=49), few, health_collapse_share=0.4).reasons == []
    assert judged(run(adverts=49), None).reasons == []
    # What is still going on has not collapsed.
    assert judged(run(JobState.PROCESSING, adverts=49), few).reasons == []


def test_the_worst_reason_comes_first() -> None:
    health = judged(run(failed=5, refused=40))
    assert health.state is HealthState.CRITICAL
    assert [reason[:5] for reason in health.reasons] == ["40.0%", "5.0% "]


def test_the_worst_of_several() -> None:
    assert worst([]) is HealthState.HEALTHY
    assert worst([HealthState.DEGRADED, HealthState.CRITICAL, HealthState.HEALTHY]) is HealthState.CRITICAL
