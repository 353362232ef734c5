"""Portals crawled at once: each at its own rate, and none waits for another that is slow or hostile."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from parallel_portals import Portal, RunningPortal, plan_of, portals, silent_portal
from parallel_world import Team, team
from windows import excess

QUICK = {"ARCHIVE_ENABLED": "false"}
MOST_LATE = 1.1
# The settings go before the site file: this one may be asked half as often as its file says.
RATES = {"DOMAIN_RATE_LIMITS": json.dumps({"brisk.test": 400})}
BRISK = Portal("brisk.test", adverts=50, per_minute=400, file_per_minute=800)
TWO = (BRISK, Portal("calm.test", 30, 200, like="imot.bg", concurrency=1))
FOUR = (*TWO, Portal("eager.test", 60, 500, concurrency=3), Portal("shy.test", 15, 120, concurrency=1))
HEALTHY = (Portal("brisk.test", 70, 400), Portal("calm.test", 40, 200, concurrency=1))
TEN_INTERVALS = 10 * 60 / 400
BAD = (
    Portal("hostile.test", 20, 300, faults="captcha:1.0"),
    Portal("slow.test", 40, 400, faults="slow:1.0", slow_seconds=TEN_INTERVALS),
)
SILENT = Portal("silent.test", 0, 300)


@contextmanager
def workers(folder: Path, **more: str) -> Iterator[Team]:
    """Eight processes, as by default, that know the portals of this folder."""
    variables = {**QUICK, "SITES_DIR": str(folder / "sites"), **more}
    with team(folder / "team", processes=8, **variables) as made:
        made.start_worker()
        made.start_beat()
        made.wait_until_ready()
        yield made


def crawl(made: Team, names: Sequence[str], awaited: Sequence[str] = ()) -> None:
    made.dispatch_plans(plan_of(name, made.environment) for name in names)
    made.wait(60, awaited)


def over_the_rate(running: Mapping[str, RunningPortal]) -> dict[str, dict[float, float]]:
    """By portal; what was in flight may arrive together."""
    found = {
        name: excess(one.times(), one.portal.per_minute, 1 + one.portal.concurrency)
        for name, one in running.items()
    }
    return {name: windows for name, windows in found.items() if windows}


def lateness(running: Mapping[str, RunningPortal], wanted: Sequence[Portal]) -> dict[str, float]:
    """How much longer each portal took than its own rate asks for, in parts of that."""
    return {one.name: round(running[one.name].makespan() / running[one.name].bound(), 3) for one in wanted}


@pytest.mark.parametrize("wanted", [TWO, FOUR], ids=["two", "four"])
def test_portals_are_crawled_at_once_each_at_its_own_rate(tmp_path: Path, wanted: tuple[Portal, ...]) -> None:
    with portals(tmp_path, wanted) as running, workers(tmp_path, **RATES) as made:
        crawl(made, list(running))
        spans = [(one.times()[0], one.times()[-1]) for one in running.values()]
        assert max(first for first, _ in spans) < min(last for _, last in spans), "they did not overlap"
        told = {name: (one.status, one.result_count) for name, one in made.progress().items()}
        assert told == {name: ("COMPLETE", len(one.times())) for name, one in running.items()}
        assert over_the_rate(running) == {}
        assert max(lateness(running, wanted).values()) <= MOST_LATE, lateness(running, wanted)


def test_a_silent_a_hostile_and_a_slow_portal_do_not_delay_the_others(tmp_path: Path) -> None:
    with (
        portals(tmp_path, (*HEALTHY, *BAD)) as running,
        silent_portal(tmp_path, SILENT),
        workers(tmp_path) as made,
    ):
        healthy = [one.name for one in HEALTHY]
        crawl(made, [SILENT.name, *running], healthy)
        told = made.progress()
        assert {told[name].status for name in healthy} == {"COMPLETE"}
        assert max(lateness(running, HEALTHY).values()) <= MOST_LATE, lateness(running, HEALTHY)
        assert not told[SILENT.name].finished
        assert not told["slow.test"].finished
        assert 0 < len(running["hostile.test"].times()) < 20, "its circuit opened"
