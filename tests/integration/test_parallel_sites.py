"""Portals crawled at once: each at its own rate, and none waits for another that is slow or hostile."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import yaml
from sqlalchemy import insert, select

from crawls import ALONE, stored
from parallel_crawls import until
from parallel_faults import said, send
from parallel_portals import Portal, RunningPortal, plan_of, portals, silent_portal
from parallel_world import Team, team
from sale_sofia.crawl.runners.schedule import SCHEDULE_FILE
from sale_sofia.crawl.tables import jobs, schedule_slots
from sale_sofia.settings.files import write_whole
from sale_sofia.settings.model import TIME_ZONE
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents
from windows import excess

QUICK = {"ARCHIVE_ENABLED": "false", **ALONE}
PATIENCE_SECONDS = 120
# The settings go before the site file: this one may be asked half as often as its file says.
RATES = {"DOMAIN_RATE_LIMITS": json.dumps({"brisk.test": 400})}
FOUR = (
    Portal("brisk.test", adverts=16, per_minute=400, file_per_minute=800),
    Portal("calm.test", 8, 200, like="imot.bg", concurrency=1),
    Portal("eager.test", 20, 500, concurrency=3),
    Portal("shy.test", 5, 120, concurrency=1),
)
HEALTHY = (Portal("brisk.test", 12, 400), Portal("calm.test", 8, 200, concurrency=1))
TEN_INTERVALS = 10 * 60 / 400
BAD = (
    Portal("hostile.test", 20, 300, faults="captcha:1.0"),
    # Ten times as slow as its rate, it takes minutes: whoever waited for it would be seen to.
    Portal("slow.test", 200, 400, faults="slow:1.0", slow_seconds=TEN_INTERVALS),
)
SCHEDULED = Portal("scheduled.test", 12, 600)
SILENT = Portal("silent.test", 0, 300)
IMPATIENT = {
    "HTTP_TIMEOUT": "60",
    "INCIDENT_CIRCUIT_SECONDS": "1",
    "CIRCUIT_BREAKER_FAIL_MAX": "2",
    "CIRCUIT_BREAKER_RESET_TIMEOUT": "600",
    "RETRY_BASE_DELAY": "0.05",
    "RETRY_MAX_DELAY": "0.5",
}


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


def test_portals_are_crawled_at_once_each_at_its_own_rate_also_by_the_schedule(tmp_path: Path) -> None:
    kept = {"ARCHIVE_ENABLED": "true", "ARCHIVE_MAX_MB": "1"}
    with portals(tmp_path, (*FOUR, SCHEDULED)) as running, workers(tmp_path, RATES | kept) as made:
        old = made.folder / "data" / "archive" / "ab" / f"{'0' * 62}.zst"
        write_whole(old, bytes(2_000_000))
        os.utime(old, (0, 0))
        check_schedule(made, running[SCHEDULED.name])
        assert not old.exists(), "the archive is larger than its limit"
        names = [one.name for one in FOUR]
        crawl(made, names)
        spans = [(running[name].times()[0], running[name].times()[-1]) for name in names]
        assert max(first for first, _ in spans) < min(last for _, last in spans), "they did not overlap"
        told = {name: (one.status, one.result_count) for name, one in made.progress().items()}
        assert told == {name: ("COMPLETE", len(running[name].times())) for name in names}
        assert over_the_rate(running) == {}


def check_schedule(made: Team, portal: RunningPortal) -> None:
    """Two beats, and a turn that strikes four times, are one run."""
    long_ago = datetime.now(ZoneInfo(TIME_ZONE)) - timedelta(hours=12)  # no turn ends while we look
    turn = {"name": "daily", "at": f"{long_ago:%H:%M}", "sites": [SCHEDULED.name]}
    (made.folder / "data" / SCHEDULE_FILE).write_text(yaml.safe_dump({"crawls": [turn]}), "utf-8")
    with made.database.write() as connection:  # a turn of before: the crawl is not new, it missed its last
        connection.execute(insert(schedule_slots).values(name="daily", slot="2026-01-01", taken_at=0.0))
    made.start_beat()
    for _ in range(4):
        send(made, "begin_scheduled")
    until(lambda: said(made).count("begin_scheduled[") >= 8, f"four messages, read{made.tail()}")
    with made.database.read() as connection:
        (made.jobs[SCHEDULED.name],) = connection.execute(select(jobs.c.id)).scalars()
    made.wait(PATIENCE_SECONDS)
    assert made.progress()[SCHEDULED.name].status == "COMPLETE"
    made.jobs.clear()
    assert {row["external_id"] for row in stored(made.folder / "data")} == portal.adverts()
    asked = [row["path"] for row in portal.requests()]
    assert len(asked) == len(set(asked))


def open_circuits(made: Team) -> dict[str, str]:
    """The portals of which it is told, and how; on a busy machine another may be called stuck beside."""
    found = made.database.run_read(open_incidents)
    return {one.site: one.message[:24] for one in found if one.kind is IncidentKind.CIRCUIT_OPEN_LONG}


def test_a_silent_a_hostile_and_a_slow_portal_hold_nobody_up_also_with_fewer_processes_than_portals(
    tmp_path: Path,
) -> None:
    """They take turns, and the reconciler gets one too, which sees that a circuit is open for long."""
    with (
        portals(tmp_path, (*HEALTHY, *BAD)) as running,
        silent_portal(tmp_path, SILENT),
        workers(tmp_path, IMPATIENT, processes=2) as made,
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
        until(lambda: open_circuits(made), f"an incident{made.tail()}")
        assert open_circuits(made) == {"hostile.test": "the circuit was open for"}
        told = made.progress()
        assert not told["hostile.test"].finished
        assert not told["slow.test"].finished


def succeeded(made: Team, task: str) -> int:
    return sum(f"{task}[" in line and "succeeded" in line for line in said(made).splitlines())
