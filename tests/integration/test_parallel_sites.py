"""Portals crawled at once: each at its own rate, and none waits for another that is slow or hostile."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import yaml
from sqlalchemy import insert, select

from crawls import stored
from parallel_crawls import until
from parallel_faults import said, send
from parallel_portals import Portal, RunningPortal, plan_of, portals, silent_portal
from parallel_world import Team, team
from sale_sofia.config.schedule import SCHEDULE_FILE
from sale_sofia.config.settings import TIME_ZONE
from sale_sofia.data.incidents import open_incidents
from sale_sofia.data.schema import jobs, schedule_slots
from windows import excess

QUICK = {"ARCHIVE_ENABLED": "false"}
PATIENCE_SECONDS = 120
# The settings go before the site file: this one may be asked half as often as its file says.
RATES = {"DOMAIN_RATE_LIMITS": json.dumps({"brisk.test": 400})}
FOUR = (
    Portal("brisk.test", adverts=30, per_minute=400, file_per_minute=800),
    Portal("calm.test", 16, 200, like="imot.bg", concurrency=1),
    Portal("eager.test", 36, 500, concurrency=3),
    Portal("shy.test", 10, 120, concurrency=1),
)
HEALTHY = (Portal("brisk.test", 20, 400), Portal("calm.test", 12, 200, concurrency=1))
TEN_INTERVALS = 10 * 60 / 400
BAD = (
    Portal("hostile.test", 20, 300, faults="captcha:1.0"),
    # Ten times as slow as its rate, it takes minutes: whoever waited for it would be seen to.
    Portal("slow.test", 200, 400, faults="slow:1.0", slow_seconds=TEN_INTERVALS),
)
SCHEDULED = (Portal("scheduled.test", 12, 600),)
SILENT = Portal("silent.test", 0, 300)


@contextmanager
def workers(folder: Path, more: Mapping[str, str] = QUICK, processes: int = 8) -> Iterator[Team]:
    """Eight processes, as by default, that know the portals of this folder."""
    variables = {**QUICK, "SITES_DIR": str(folder / "sites"), **more}
    with team(folder / "team", processes, **variables) as made:
        made.forked = True
        made.start_worker()
        made.start_beat()
        made.wait_until_ready()
        yield made


def crawl(made: Team, names: Sequence[str], awaited: Sequence[str] = ()) -> None:
    made.dispatch_plans(plan_of(name, made.environment) for name in names)
    made.wait(PATIENCE_SECONDS, awaited)


def over_the_rate(running: Mapping[str, RunningPortal]) -> dict[str, dict[float, float]]:
    """By portal; what was in flight may arrive together."""
    found = {
        name: excess(one.times(), one.portal.per_minute, 1 + one.portal.concurrency)
        for name, one in running.items()
    }
    return {name: windows for name, windows in found.items() if windows}


def test_portals_are_crawled_at_once_each_at_its_own_rate(tmp_path: Path) -> None:
    with portals(tmp_path, FOUR) as running, workers(tmp_path, RATES) as made:
        crawl(made, list(running))
        spans = [(one.times()[0], one.times()[-1]) for one in running.values()]
        assert max(first for first, _ in spans) < min(last for _, last in spans), "they did not overlap"
        told = {name: (one.status, one.result_count) for name, one in made.progress().items()}
        assert told == {name: ("COMPLETE", len(one.times())) for name, one in running.items()}
        assert over_the_rate(running) == {}


def test_a_silent_a_hostile_and_a_slow_portal_hold_nobody_up_also_with_fewer_processes_than_portals(
    tmp_path: Path,
) -> None:
    """They take turns, and the reconciler gets one too."""
    with (
        portals(tmp_path, (*HEALTHY, *BAD)) as running,
        silent_portal(tmp_path, SILENT),
        workers(tmp_path, {"HTTP_TIMEOUT": "20"}, processes=2) as made,
    ):
        healthy = [one.name for one in HEALTHY]
        crawl(made, [SILENT.name, *(one.name for one in BAD), *healthy], healthy)
        told = made.progress()
        assert {told[name].status for name in healthy} == {"COMPLETE"}
        assert not told[SILENT.name].finished
        assert not told["slow.test"].finished
        assert over_the_rate(running) == {}
        assert 0 < len(running["hostile.test"].times()) < 20, "its circuit opened"
        until(lambda: succeeded(made, "reconcile") > 1, f"two looks{made.tail()}")
        # More turns than lanes would have had that keep their slot to the end of their shift.
        until(lambda: succeeded(made, "scrape_chunk") > len(told), f"turns{made.tail()}")
        assert not made.progress()["slow.test"].finished


def succeeded(made: Team, task: str) -> int:
    return sum(f"{task}[" in line and "succeeded" in line for line in said(made).splitlines())


def test_two_beats_and_a_turn_that_strikes_four_times_are_one_run(tmp_path: Path) -> None:
    long_ago = datetime.now(ZoneInfo(TIME_ZONE)) - timedelta(hours=12)  # no turn ends while we look
    with portals(tmp_path, SCHEDULED) as running, workers(tmp_path, processes=3) as made:
        turn = {"name": "daily", "at": f"{long_ago:%H:%M}", "sites": list(running)}
        (made.folder / "data" / SCHEDULE_FILE).write_text(yaml.safe_dump({"crawls": [turn]}), "utf-8")
        with (
            made.database.write() as connection
        ):  # a turn of before: the crawl is not new, its last turn was missed
            connection.execute(insert(schedule_slots).values(name="daily", slot="2026-01-01", taken_at=0.0))
        made.start_beat()
        for _ in range(4):
            send(made, "begin_scheduled")
        until(lambda: said(made).count("begin_scheduled[") >= 8, f"four messages, read{made.tail()}")
        with made.database.read() as connection:
            (job_id,) = connection.execute(select(jobs.c.id)).scalars()
        made.jobs[SCHEDULED[0].name] = job_id
        made.wait(PATIENCE_SECONDS)
        (portal,) = running.values()
        assert made.progress()[SCHEDULED[0].name].status == "COMPLETE"
        assert {row["external_id"] for row in stored(made.folder / "data")} == portal.adverts()
        asked = [row["path"] for row in portal.requests()]
        assert len(asked) == len(set(asked))


def test_a_circuit_that_is_open_for_long_is_an_incident_while_the_job_goes_on(tmp_path: Path) -> None:
    limits = {
        "INCIDENT_CIRCUIT_SECONDS": "1",
        "CIRCUIT_BREAKER_FAIL_MAX": "2",
        "CIRCUIT_BREAKER_RESET_TIMEOUT": "600",
        "RETRY_BASE_DELAY": "0.05",
        "RETRY_MAX_DELAY": "0.5",
    }
    with portals(tmp_path, BAD[:1]) as running, workers(tmp_path, limits, processes=2) as made:
        made.dispatch_plans(plan_of(name, made.environment) for name in running)
        until(lambda: made.database.run_read(open_incidents), f"an incident{made.tail()}")
        (incident,) = made.database.run_read(open_incidents)
        assert (incident.kind, incident.site) == ("circuit_open_long", "hostile.test")
        assert incident.message.startswith("the circuit was open for ")
        assert not made.finished()
