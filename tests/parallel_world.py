"""Simulated portals, a Redis, Celery workers and a beat, all our own, and somebody who pulls plugs."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import select

from celery_server import Forked
from crawls import Row, differences, environment, requests, stored_at, truth
from forked_simulators import start_forked
from parallel_guard import guarded
from process_sizes import children
from ready_files import put_ready_file
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.frontier.planning import JobPlan, plan_for_workers
from sale_sofia.crawl.runners.dispatching import result_url, send_jobs
from sale_sofia.crawl.runners.progress import Progress, read_progress
from sale_sofia.history.tables import WAS_ASKED, listing_changes, price_points
from sale_sofia.installation import open_database
from sale_sofia.operations.services.redis import RedisServer, connect
from sale_sofia.settings.model import DATABASE_FILE, Settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

CELERY = [sys.executable, "-m", "celery", "-A", "sale_sofia.celery_app"]
OUR_KEYS = ("circuit:", "ratelimit:", "bulkhead:", "scraping:")
FOR_EVER = -1
"""What Redis says of a key without an end; 0 of one that has less than half a second left."""
WORKER = [*CELERY, "worker", "-Q", "sale_sofia", "--without-gossip", "--without-mingle", "-l", "info"]

HURRIED: Mapping[str, float] = {
    "BROKER_SOCKET_SECONDS": 3,
    "CONCLUSION_GRACE_SECONDS": 20.0,
    "DISPATCH_GRACE_SECONDS": 4.0,
    "LANE_IDLE_SECONDS": 0.8,
    "LANE_LOOK_SECONDS": 0.2,
    "LANE_ROOM_LOOK_SECONDS": 0.5,
    "LANE_ROOM_PAUSE_SECONDS": 1.0,
    "LANE_TURN_SECONDS": 2.5,
    "RECONCILE_SECONDS": 2.0,
    "SOFT_SHUTDOWN_SECONDS": 3,
    "UNACKED_RESTORE_SECONDS": 1,
}
"""Pauses of `crawl/settings.py` in tests; much shorter, a slow machine would not get round to its work."""


@dataclass(slots=True)
class Team:
    """Redis, workers, a beat and the database they share. What it starts, it ends."""

    folder: Path
    redis: RedisServer
    settings: Settings
    database: Database
    environment: Mapping[str, str]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    beats: list[subprocess.Popen[bytes]] = field(default_factory=list)
    jobs: dict[str, str] = field(default_factory=dict)
    forked: bool = False
    """Whether its processes are forked from one that has imported everything: they start at once."""
    numbers: Mapping[str, float] = field(default_factory=lambda: HURRIED)
    """Fixed numbers that forked processes have in place of those of the settings."""
    _started: int = 0
    _names: list[str] = field(default_factory=list)

    def start_worker(self) -> None:
        self.workers.append(self._start("worker", [*WORKER, "-n", f"w{self._started}@%h"]))

    def start_beat(self) -> None:
        memory = str(self.folder / f"beat{self._started}")
        self.beats.append(self._start("beat", [*CELERY, "beat", "-s", memory]))

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        """Until every worker takes messages."""
        deadline = time.monotonic() + seconds
        logs = [self.folder / f"{name}.log" for name in self._names if name.startswith("worker")]
        while not all(b" ready." in log.read_bytes() for log in logs):
            assert time.monotonic() < deadline, f"no worker in {seconds} s{self.tail()}"
            time.sleep(0.1)

    def dispatch_plans(self, plans: Iterable[JobPlan]) -> None:
        """Make the jobs and send their message; the message may be lost, the jobs are not."""
        for plan in plans:
            self.jobs[plan.site.name] = plan_for_workers(self.settings, self.database, plan)
        made = [self.database.run_read(partial(known_job, job_id=job_id)) for job_id in self.jobs.values()]
        send_jobs(self.redis.url, made)

    def progress(self) -> dict[str, Progress]:
        return {
            site: self.database.run_read(partial(read_progress, job_id=job_id))
            for site, job_id in self.jobs.items()
        }

    def finished(self, sites: Collection[str] = ()) -> bool:
        """Whether the jobs of these portals have ended, or all."""
        return all(one.finished for site, one in self.progress().items() if not sites or site in sites)

    def wait(self, seconds: float, sites: Collection[str] = ()) -> None:
        """Until the jobs of these portals have ended, or all."""
        deadline = time.monotonic() + seconds
        while not self.finished(sites):
            assert time.monotonic() < deadline, f"not finished in {seconds} s: {self.progress()}{self.tail()}"
            self.supervise()
            time.sleep(0.2)

    def processes(self) -> list[int]:
        """The worker's own process and those of its pool."""
        mains = [worker.pid for worker in self.workers if worker.poll() is None]
        return mains + [child for main in mains for child in children(main)]

    def kill_one(self, rng: random.Random) -> int:
        """Kill -9 one of the workers' processes; a main process is replaced, as a supervisor would."""
        self.supervise()
        pid = rng.choice(self.processes())
        mains = {worker.pid: worker for worker in self.workers}
        if pid in mains:
            self._kill_group(mains[pid])
            self.supervise()
        else:
            os.kill(pid, signal.SIGKILL)
        return pid

    def supervise(self) -> None:
        """Replace workers that ended: one whose pool is killed while it starts gives up by itself."""
        for worker in [one for one in self.workers if one.poll() is not None]:
            self.workers.remove(worker)
            self.start_worker()

    def kill_everything(self) -> None:
        """The machine's plug is pulled."""
        for process in (*self.workers, *self.beats):
            self._kill_group(process)
        self.workers.clear()
        self.redis.kill()

    def wipe_redis(self) -> None:
        """Everything in Redis is gone: messages, limits, circuits."""
        with connect(self.redis.url) as client:
            client.flushall()

    def redis_bytes(self) -> int:
        """The memory that Redis uses now."""
        with connect(self.redis.url) as client:
            return int(client.info("memory")["used_memory"])

    def keys_of_ours(self) -> dict[str, int]:
        """The seconds that each key of ours has still to live, rounded; Celery's own are not counted."""
        found: dict[str, int] = {}
        for url in (self.redis.url, result_url(self.redis.url)):
            with connect(url) as client:
                names = {key.decode() if isinstance(key, bytes) else key for key in client.scan_iter()}
                found |= {name: int(client.ttl(name)) for name in names if name.startswith(OUR_KEYS)}
        return found

    def tail(self) -> str:
        """The last words of every process, for the message of a failure."""
        logs = sorted(self.folder.glob("*.log"))
        return "".join(f"\n== {log.name}\n{log.read_text(errors='replace')[-3000:]}" for log in logs)

    def close(self) -> None:
        for process in (*self.beats, *self.workers):
            self._kill_group(process)
        self.database.dispose()

    def _start(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        self._started += 1
        self._names.append(f"{name}{self._started}")
        path = self.folder / f"{self._names[-1]}.log"
        if self.forked:
            return Forked(command[3:], self.environment, path, self.numbers)
        with path.open("wb") as log:
            return subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    @staticmethod
    def _kill_group(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@dataclass(slots=True)
class Party(Team):
    """A team and the simulated portals that it crawls."""

    simulator: RunningSimulator = field(kw_only=True)

    def dispatch(self) -> None:
        """See `dispatch_plans`."""
        simulator = self.simulator
        self.dispatch_plans(
            JobPlan(get_scraper(site), tuple(simulator.start_urls(site)), limit=None, fresh=False)
            for site in simulator.config.sites
        )

    def requests(self) -> list[Row]:
        """What the portals were asked for and have answered."""
        assert self.simulator.log is not None
        return requests(self.simulator.log)

    def stored(self) -> list[Row]:
        """Every advert in the database, whichever it is."""
        return stored_at(self.settings.database_url.get_secret_value(), self.folder)

    def wrong(self) -> dict[object, object]:
        """Where the database and the portals' truth differ, or what is there twice; empty is right."""
        found: dict[object, object] = {
            site: one.status for site, one in self.progress().items() if one.status != "COMPLETE"
        }
        found |= differences(self.stored(), truth(self.simulator))
        return found | doubled(self.database)

    def fetched_again(self) -> int:
        """Answers of an advert's page beyond the first of each."""
        asked = Counter(
            (row["site"], row["path"]) for row in self.requests() if row["status"] == 200 and is_advert(row)
        )
        return sum(asked.values()) - len(asked)


def doubled(database: Database) -> dict[object, object]:
    """Adverts with more history than one sight of an unchanged portal gives, printed earlier prices aside."""
    with database.read() as connection:
        points = connection.execute(select(price_points.c.listing_id).where(WAS_ASKED)).scalars()
        changes = connection.execute(select(listing_changes.c.listing_id)).scalars()
        rows = Counter([*points, *(one for change in changes for one in (change, change))])
    return {f"listing {one}": f"{count} rows of history" for one, count in rows.items() if count > 1}


def is_advert(row: Row) -> bool:
    return get_scraper(row["site"]).kind_of(row["path"]) == "listing"


Made = TypeVar("Made", bound=Team)


@contextmanager
def party(folder: Path, config: SimulatorConfig, processes: int, **more: str) -> Iterator[Party]:
    """All of it but the workers and the beat; gone without a trace at the end."""
    assert config.log is not None
    config.log.parent.mkdir(parents=True, exist_ok=True)
    config.log.touch()
    with (
        start_forked(config) as simulator,
        _closing(folder, processes, more, partial(Party, simulator=simulator)) as made,
    ):
        yield made


@contextmanager
def team(folder: Path, processes: int, **more: str) -> Iterator[Team]:
    """Redis and a database, for portals of the caller's own; gone without a trace at the end."""
    with _closing(folder, processes, more, Team) as made:
        yield made


@contextmanager
def _closing(
    folder: Path, processes: int, more: Mapping[str, str], make: Callable[..., Made]
) -> Iterator[Made]:
    folder.mkdir(parents=True, exist_ok=True)
    with guarded(folder / "data", folder / "redis"), RedisServer.start(folder / "redis") as redis:
        variables = {
            "REDIS_URL": redis.url,
            "PARALLEL_SCRAPING": "true",
            "WORKER_PROCESSES": str(processes),
            "SPT_NOENV": "1",  # a process's title is not written over its environment, by which it is found
        }
        environ = environment(folder / "data", {**variables, **more})
        with surroundings(environ):
            settings = load_settings()
        if "DATABASE_URL" not in more:
            put_ready_file(folder / "data" / DATABASE_FILE)
        database = open_database(settings)
        initialize_database(database)
        made = make(folder, redis, settings, database, environ)
        try:
            yield made
        finally:
            made.close()


@contextmanager
def surroundings(environ: Mapping[str, str]) -> Iterator[None]:
    """Inside, the environment of this process is `environ`."""
    before = dict(os.environ)
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
