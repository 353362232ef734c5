"""A world under fire: hosts with their services, the portals they crawl, and the servers they share."""

import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from chaos_faults import Fault
from chaos_host import POLL_SECONDS, Machine, can_have_names, send
from crawls import IMPATIENT, Row, requests
from host_clocks import HostClock
from parallel_guard import guarded
from parallel_world import surroundings
from postgres_servers import PostgresServer
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.frontier.planning import JobPlan, plan_for_workers
from sale_sofia.crawl.runners.dispatching import send_jobs
from sale_sofia.crawl.runners.progress import Progress, read_progress
from sale_sofia.installation import open_database
from sale_sofia.operations.services.redis import RedisServer, connect
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.portal import PortalOptions
from sale_sofia_simulator.running import RunningSimulator, start_in_process
from sale_sofia_simulator.simulation import SimulatorConfig

HOPS = {"imot.bg": 4, "bazar.bg": 2}
"""The portals, and how often each leads on before the page of an advert comes."""
FAULTS = "429:0.01,503:0.01,slow:0.01,reset:0.01,captcha:0.005,truncate:0.01"
PROCESSES = 2
LEASE_SECONDS = 5.0
LONGER_THAN_THE_LEASE = (1.0, 4.0)
"""A process is stopped for so many seconds more than its lease."""
LONGEST_MOMENT = 1.0
"""A start is disturbed within so many seconds after its victim is there."""
LONGEST_OUTAGE = 2.0
WORK_REQUESTS, WORK_SECONDS = 5, 10.0
UNANSWERED_SECONDS = 30.0
"""How long nobody may find Redis before a job is sent to it."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a world is, and how fast it may be asked."""

    adverts: int
    per_minute: int
    hosts: int = 1


@dataclass(slots=True)
class World:
    """All of one round."""

    folder: Path
    machines: list[Machine]
    simulator: RunningSimulator
    settings: Settings
    database: Database
    redis: RedisServer | None
    """One that all hosts share; a host alone has its own."""
    postgres: PostgresServer | None
    per_minute: float
    """What the portals allow."""
    jobs: dict[str, str] = field(default_factory=dict)
    """The last job of each portal."""
    crawls: int = 0

    def begin(self) -> None:
        """All hosts at work, and a crawl under way."""
        for machine in self.machines:
            machine.start()
        for machine in self.machines:
            machine.wait_until_ready()
        self.dispatch()

    def dispatch(self) -> None:
        """A crawl of every advert of each portal, as new jobs."""
        for site in self.simulator.config.sites:
            urls = tuple(self.simulator.start_urls(site))
            plan = JobPlan(get_scraper(site), urls, limit=None, fresh=True, everything=True)
            self.jobs[site] = plan_for_workers(self.settings, self.database, plan)
        made = [self.database.run_read(partial(known_job, job_id=job_id)) for job_id in self.jobs.values()]
        # The message may be lost, as everything else; the jobs are not.
        if url := self.redis_url():
            send_jobs(url, made)
        self.crawls += 1

    def redis_url(self) -> str | None:
        """Where Redis answers now; None when it does not for long."""
        end = time.monotonic() + UNANSWERED_SECONDS
        while time.monotonic() < end:
            if found := self.redis or RedisServer.find(self.machines[0].data / "redis"):
                return found.url
            self.look_after()
            time.sleep(POLL_SECONDS)
        return None

    def look_after(self) -> None:
        """As the system's supervisor does."""
        for machine in self.machines:
            machine.look_after()

    def progress(self) -> dict[str, Progress]:
        """How far the last jobs are."""
        return {
            site: self.database.run_read(partial(read_progress, job_id=job_id))
            for site, job_id in self.jobs.items()
        }

    def finished(self) -> bool:
        """Whether the last jobs have ended."""
        return all(one.finished for one in self.progress().values())

    def wait(self, seconds: float) -> None:
        """Until the last jobs have ended, or none of their pages has for so long: slow is not stuck."""
        ended, end = -1, 0.0
        while not self.finished():
            if (now_ended := self._ended()) != ended:
                ended, end = now_ended, time.monotonic() + seconds
            if time.monotonic() > end:
                return
            self.look_after()
            time.sleep(10 * POLL_SECONDS)

    def _ended(self) -> int:
        return sum(one.result_count + one.error_count for one in self.progress().values())

    def wait_for_work(self) -> None:
        """Until every host is at work and some more pages were asked for; perhaps none is due for long."""
        for machine in self.machines:
            machine.wait_until_ready()
        end = time.monotonic() + WORK_SECONDS
        wanted = len(self.requests()) + WORK_REQUESTS
        while len(self.requests()) < wanted and time.monotonic() < end:
            self.look_after()
            time.sleep(2 * POLL_SECONDS)

    def requests(self) -> list[Row]:
        """All that the portals were asked, hops and robots.txt too."""
        return requests(self.simulator.log) if self.simulator.log else []

    # The faults.

    def meet(self, fault: Fault) -> None:
        """Let it happen, and wait only for what belongs to it."""
        what, _, victim = fault.kind.rpartition(" ")
        _WAYS[what](self, fault, victim)

    def kill(self, fault: Fault, victim: str) -> None:
        """Kill -9, and start what nobody else would."""
        machine = self.machines[fault.host]
        if victim == "postgres" or (victim == "redis" and self.redis):
            self._kill_server(fault, victim)
        elif victim in {"up", "everything"}:
            _end(machine, victim)
            machine.start()
        else:
            send(_one_of(machine.wait_for(victim), fault), signal.SIGKILL)

    def _kill_server(self, fault: Fault, victim: str) -> None:
        """One of those that no host looks after: it comes back after a while."""
        for server in (self.postgres,) if victim == "postgres" else (self.redis,):
            if server is not None:
                server.kill()
                time.sleep(fault.between(0, LONGEST_OUTAGE))
                server.start() if isinstance(server, PostgresServer) else server.restart()

    def wipe(self, _fault: Fault, _victim: str) -> None:
        """All that Redis knew is gone."""
        if url := self.redis_url():
            with connect(url) as client:
                client.flushall()

    def stop(self, fault: Fault, victim: str) -> None:
        """SIGSTOP, and SIGCONT when the lease is long over."""
        machine = self.machines[fault.host]
        if victim == "redis" and self.redis:
            stopped = [self.redis.pid]
        elif victim == "worker":
            stopped = machine.wait_for("worker") + machine.pids("pool")
        else:
            found = machine.wait_for(victim)
            stopped = _one_of(found, fault) if victim == "pool" else found
        send(stopped, signal.SIGSTOP)
        time.sleep(LEASE_SECONDS + fault.between(*LONGER_THAN_THE_LEASE))
        send(stopped, signal.SIGCONT)

    def disturb(self, fault: Fault, victim: str) -> None:
        """Everything is killed and started, and one of it dies within its first second."""
        machine = self.machines[fault.host]
        machine.kill_everything()
        machine.start()
        if victim == "redis" and self.redis:
            time.sleep(fault.between(0, LONGEST_MOMENT))
            self._kill_server(fault, victim)
            return
        victims = machine.wait_for(victim)
        time.sleep(fault.between(0, LONGEST_MOMENT))
        if victim == "up":
            _end(machine, victim)
            machine.start()
        else:
            send(victims, signal.SIGKILL)

    def set_clock(self, fault: Fault, _victim: str) -> None:
        """The time of day of a host is another one from now on."""
        if clock := self.machines[fault.host].clock:
            clock.set(fault.ahead)

    def restful(self) -> None:
        """Nothing is stopped any more, and every host is at work; clocks stay as they are."""
        for machine in self.machines:
            send(machine.pids("everything"), signal.SIGCONT)
            machine.wait_until_ready()


def _one_of(pids: list[int], fault: Fault) -> list[int]:
    return [pids[int(fault.chance * len(pids))]] if pids else []


def _end(machine: Machine, victim: str) -> None:
    if victim == "everything":
        machine.kill_everything()
    elif machine.up is not None:
        machine.up.kill()
        machine.up.wait()


_WAYS: Mapping[str, Callable[[World, Fault, str], None]] = {
    "kill": World.kill,
    "wipe": World.wipe,
    "stop": World.stop,
    "start, kill": World.disturb,
    "set": World.set_clock,
}


@contextmanager
def world(
    folder: Path, size: Size, seed: int, clock: HostClock | None, postgres: PostgresServer | None
) -> Iterator[World]:
    """A world that has not begun yet; nothing of it is left at the end."""
    folder.mkdir(parents=True)
    (folder / "requests.jsonl").touch()
    with ExitStack() as stack:
        simulator = stack.enter_context(start_in_process(_portals(folder, size, seed)))
        redis = stack.enter_context(RedisServer.start(folder / "redis")) if size.hosts > 1 else None
        environ = _environment(size, redis, postgres)
        names = itertools.islice("abcdefgh", size.hosts)
        machines = [_machine(folder / name, name, environ, clock, size) for name in names]
        for machine in machines:
            stack.enter_context(guarded(machine.data, machine.data / "redis"))
            stack.callback(machine.kill_everything)
        with surroundings({**environ, "DATA_DIR": str(machines[0].data)}):
            settings = load_settings()
        database = open_database(settings)
        stack.callback(database.dispose)
        initialize_database(database)
        yield World(folder, machines, simulator, settings, database, redis, postgres, size.per_minute)


def _portals(folder: Path, size: Size, seed: int) -> SimulatorConfig:
    return SimulatorConfig(
        sites=tuple(HOPS),
        properties=size.adverts,
        seed=seed,
        port=0,
        faults=FAULTS,
        slow_seconds=1.0,
        options={site: PortalOptions(redirects=hops) for site, hops in HOPS.items()},
        log=folder / "requests.jsonl",
        truth=folder / "truth.jsonl",
    )


def _environment(size: Size, redis: RedisServer | None, postgres: PostgresServer | None) -> dict[str, str]:
    shared = {"REDIS_URL": redis.url} if redis else {}
    stored = {"DATABASE_URL": postgres.new_database()} if postgres else {}
    return {
        **os.environ,
        **IMPATIENT,
        "DOMAIN_RATE_LIMITS": json.dumps(dict.fromkeys(HOPS, size.per_minute)),
        "LEASE_SECONDS": str(LEASE_SECONDS),
        "WORKER_PROCESSES": str(PROCESSES),
        "ARCHIVE_ENABLED": "false",
        "COPY_CHECK_EVERY": "1",  # every advert is opened, and compared with the truth
        "COLUMNS": "120",
        "SPT_NOENV": "1",  # a process's title is not written over its environment, by which it is found
        **shared,
        **stored,
    }


def _machine(
    folder: Path, name: str, environ: Mapping[str, str], clock: HostClock | None, size: Size
) -> Machine:
    own = clock.beside(folder / "clock") if clock else None
    apart = size.hosts > 1 and can_have_names()
    shared = tuple(f"127.0.0.1:{port}" for port in _ports(environ))
    return Machine(name, folder, environ, own, apart, shared)


def _ports(environ: Mapping[str, str]) -> list[int | None]:
    urls = (environ[name] for name in ("REDIS_URL", "DATABASE_URL") if name in environ)
    return [urlsplit(url).port for url in urls]
