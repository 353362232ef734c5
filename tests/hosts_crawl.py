"""A crawl on three hosts: Redis, PostgreSQL, the portal and beat on `a`, workers on `b` and `c`.

The servers are guarded as deploy/ guards them: its passwords, its Redis users, its certificates, its list of
who may connect to PostgreSQL; workers reach both by their address alone.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, select

from compose_files import DEPLOY
from crawls import ALONE, IMPATIENT, Row, differences, environment, requests, truth
from hosts import Host, Network, inside, network
from parallel_world import CELERY, WORKER, surroundings
from postgres_servers import PASSWORD, USER, PostgresServer, end_server, start_server, unprivileged
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.frontier.planning import JobPlan, plan_for_workers
from sale_sofia.crawl.runners.dispatching import send_jobs
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.history.export import export_listings
from sale_sofia.installation import open_database
from sale_sofia.operations.services.redis import RedisServer, connect
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.running import RunningSimulator, start_in_process
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "imot.bg"
NAMES = ("a", "b", "c")
PROCESSES = 2
PER_MINUTE = 1200
"""So that two lanes are at work at once."""
MORE = {
    **ALONE,
    **IMPATIENT,
    "LEASE_SECONDS": "5",
    "HTTP_TIMEOUT": "3",
    "POSTGRES_CONNECT_TIMEOUT": "2",
    "POSTGRES_SILENCE_TIMEOUT": "4",
    "ARCHIVE_ENABLED": "false",
    "PARALLEL_SCRAPING": "true",
    "WORKER_PROCESSES": str(PROCESSES),
}


@dataclass(slots=True)
class ThreeHosts:
    """The hosts, their servers, and one job."""

    network: Network
    simulator: RunningSimulator
    database: Database
    settings: Settings
    environ: Mapping[str, str]
    logs: list[Path] = field(default_factory=list)
    job: str = ""

    @property
    def hosts(self) -> dict[str, Host]:
        return self.network.hosts

    def start_worker(self, name: str) -> None:
        """With a data folder of its own, and an address of each server."""
        host = self.hosts[name]
        environ = {**self.environ, "DATA_DIR": str(host.folder / "data")}
        self.logs.append(host.start("worker", [*WORKER, "-n", f"{name}@%h"], environ))

    def start_beat(self) -> None:
        host = self.hosts["a"]
        command = [*CELERY, "beat", "-s", str(host.folder / "beat")]
        self.logs.append(host.start("beat", command, {**self.environ, "DATA_DIR": str(host.folder / "data")}))

    def wait_until_ready(self) -> None:
        workers = [log for log in self.logs if log.name.startswith("worker")]
        self.until(lambda: all(b" ready." in log.read_bytes() for log in workers), 90, "workers")

    def dispatch(self) -> None:
        plan = JobPlan(get_scraper(SITE), tuple(self.simulator.start_urls(SITE)), limit=None, fresh=False)
        self.job = plan_for_workers(self.settings, self.database, plan)
        assert self.settings.redis_url is not None
        made = self.database.run_read(partial(known_job, job_id=self.job))
        send_jobs(self.settings.redis_url.get_secret_value(), [made])

    def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"no {what} in {seconds} s{self.tail()}"
            time.sleep(0.1)

    def held_by(self, name: str) -> dict[int, int]:
        """Rows that the host has leased, with their fences; any host, where they have no names."""
        owner = f"{name}/" if self.network.apart else ""

        def held(connection: Connection) -> dict[int, int]:
            leased = select(frontier.c.id, frontier.c.fence).where(
                frontier.c.state == "leased", frontier.c.lease_owner.startswith(owner)
            )
            return {row.id: row.fence for row in connection.execute(leased)}

        return self.database.run_read(held)

    def rows(self) -> list[Any]:
        return self.database.run_read(lambda connection: list(connection.execute(select(frontier))))

    def state(self) -> str:
        return str(self.database.run_read(lambda connection: connection.scalar(select(jobs.c.state))))

    def pages(self) -> list[Row]:
        """What the portal was asked for, but robots.txt."""
        assert self.simulator.log is not None
        return [row for row in requests(self.simulator.log) if row["path"] != "/robots.txt"]

    def wrong(self) -> dict[Any, Any]:
        """What is missing, twice there, or not as it should be."""
        path = self.hosts["a"].folder / "stored.jsonl"
        export_listings(self.database, path)
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return differences(rows, truth(self.simulator))

    def fenced(self, name: str) -> int:
        """Pages that the host read and was not let write, as its lanes counted them."""
        texts = [log.read_text("utf-8", "replace") for log in self.logs if log.parent.name == name]
        return sum(
            int(part.partition("}")[0].partition(",")[0])
            for text in texts
            for part in text.split("'lost': ")[1:]
        )

    def tail(self) -> str:
        return "".join(
            f"\n== {log.parent.name}/{log.name}\n{log.read_text(errors='replace')[-3000:]}"
            for log in self.logs
        )


@contextmanager
def three_hosts(
    folder: Path, config: SimulatorConfig, more: Mapping[str, str] | None = None
) -> Iterator[ThreeHosts]:
    """All of it but the programs, which have these variables too; gone without a trace at the end."""
    with network(folder, NAMES) as hosts, inside(hosts.hosts["a"]), ExitStack() as stack:
        first = hosts.hosts["a"]
        secrets = make_secrets(folder / "secrets", first.address)
        simulated = replace(config, host=first.address, log=folder / "log", truth=folder / "truth")
        # A program of its own: a forked one would not be in the network of its host.
        simulator = stack.enter_context(start_in_process(simulated))
        redis = stack.enter_context(RedisServer.start(folder / "redis", options=_listening(first)))
        guard_redis(redis, secrets)
        open_to_all = Path(stack.enter_context(TemporaryDirectory(prefix="hosts-")))
        postgres = start_server(durable=True, more=_guarded(first, secrets, open_to_all))
        stack.callback(end_server, postgres)
        yield stack.enter_context(_crawl(hosts, simulator, redis, postgres, secrets, more or {}))


@contextmanager
def _crawl(
    hosts: Network,
    simulator: RunningSimulator,
    redis: RedisServer,
    postgres: PostgresServer,
    secrets: Path,
    more: Mapping[str, str],
) -> Iterator[ThreeHosts]:
    first = hosts.hosts["a"]
    rates = {"DOMAIN_RATE_LIMITS": json.dumps({SITE: PER_MINUTE})}
    environ = environment(
        first.folder / "data", {**MORE, **rates, **_addresses(first, redis, postgres, secrets), **more}
    )
    with surroundings(environ):
        settings = load_settings()
    database = open_database(settings)
    initialize_database(database)
    try:
        yield ThreeHosts(hosts, simulator, database, settings, environ)
    finally:
        database.dispose()


def _addresses(first: Host, redis: RedisServer, postgres: PostgresServer, secrets: Path) -> dict[str, str]:
    name = postgres.new_database().rpartition("/")[2]
    tls = f"sslmode=verify-full&sslrootcert={secrets}/ca.crt"
    (secrets / "password_of_user").write_text(PASSWORD)
    return {
        "REDIS_URL": f"redis://sale_sofia@{first.address}:{redis.port}/0",
        "REDIS_PASSWORD_FILE": str(secrets / "redis_password"),
        "DATABASE_URL": f"postgresql://{USER}@{first.address}:{postgres.port}/{name}?{tls}",
        "DATABASE_PASSWORD_FILE": str(secrets / "password_of_user"),
    }


def make_secrets(folder: Path, name: str) -> Path:
    """As an operator makes them."""
    made = subprocess.run(
        [DEPLOY / "make-secrets.sh", "--tls", name],
        env={**os.environ, "SECRETS_DIR": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder


def guard_redis(redis: RedisServer, secrets: Path) -> None:
    """Give it the users of deploy/; nobody else may do anything from now on."""
    with connect(redis.url) as client:
        for line in reversed((secrets / "redis_users").read_text("ascii").splitlines()):
            client.execute_command("ACL", "SETUSER", *line.split()[1:])


def _listening(host: Host) -> tuple[str, ...]:
    return ("--bind", *_places(host), "--protected-mode", "no")


def _places(host: Host) -> list[str]:
    """Loopback for the test itself, and the host's own address, which may be the same."""
    return list(dict.fromkeys(("127.0.0.1", host.address)))


def _guarded(host: Host, secrets: Path, place: Path) -> dict[str, str]:
    """PostgreSQL as compose.serve.yaml starts it; the test itself comes in through loopback."""
    place.chmod(0o755)  # the server has a user of its own
    list_ = (DEPLOY / "pg_hba.conf").read_text("utf-8").replace("sale_sofia  sale_sofia", f"all  {USER}")
    (place / "hba").write_text(f"host all all 127.0.0.1/32 scram-sha-256\n{list_}", "utf-8")
    (place / "hba").chmod(0o644)  # the server is another user, whatever we keep from others
    for name in ("server.crt", "postgres.key"):
        shutil.copy(secrets / name, place / name)
        if os.geteuid() == 0:
            shutil.chown(place / name, unprivileged().pw_uid)
        (place / name).chmod(0o600)
    return {
        "listen_addresses": ",".join(_places(host)),
        "hba_file": str(place / "hba"),
        "ssl": "on",
        "ssl_cert_file": str(place / "server.crt"),
        "ssl_key_file": str(place / "postgres.key"),
    }
