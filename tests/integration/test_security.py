"""Everything that `up` runs, looked at as another user of the machine or another machine would."""

import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from crawls import crawl_arguments, end_of, in_background, run, start
from dashboards import commanded_dashboard
from fleet_certificates import make_certificates
from foreign_folders import foreign_folder, imported_from
from forked_simulators import start_forked
from listening import OTHER, answers, free_port, listening
from parallel_crawls import PATIENCE_SECONDS, QUICK, running_in, services_up, until
from sale_sofia.operations.services.celery import sender
from sale_sofia.operations.services.redis import RedisServer, ServerRecord, read_record
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

FLOWER = "fl0wer-Geheim-4471"
DASHBOARD = "dashb0ard-Geheim-9023"
PROXY = "pr0xy-Geheim-1183"
TASK = "sale_sofia.crawl.runners.tasks."
PORTS = {"judge": 2, "rotator": 1}
"""How many each program listens on."""


@dataclass(frozen=True)
class World:
    """`sale-sofia up` with all its services, begun under a umask that hides nothing, after a crawl."""

    data: Path
    environ: dict[str, str]
    simulator: RunningSimulator
    foreign: Path
    """The folder in which all was started."""

    @property
    def server(self) -> ServerRecord:
        found = read_record(self.data / "redis")
        assert found is not None
        return found

    def looked_at(self, look: Callable[[Path], Any]) -> dict[str, Any]:
        """What a look at the folder and at all in it gives; drafts may be gone before that."""
        found = {}
        for path in (self.data, *self.data.rglob("*")):
            with suppress(FileNotFoundError):
                found[str(path.relative_to(self.data))] = look(path)
        return found

    def worker_log(self) -> str:
        return (self.data / "logs" / "worker.log").read_text("utf-8")

    def send(self, task: str, *arguments: object, **options: Any) -> None:  # noqa: ANN401 - Celery's own
        server = RedisServer.find(self.data / "redis")
        assert server is not None
        with sender(server.url) as app:
            app.send_task(task, args=arguments, **options)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("security")
    data = folder / "data"
    environ = {
        "FLOWER_PASSWORD": FLOWER,
        "DASHBOARD_PASSWORD": DASHBOARD,
        "FLOWER_PORT": str(free_port()),
        "METRICS_PORT": str(free_port()),
        "ARCHIVE_ENABLED": "true",
    }
    before = os.umask(0)
    try:
        config = SimulatorConfig(
            sites=("imot.bg",), properties=5, seed=3, port=0, truth=folder / "truth", log=folder / "log"
        )
        with (
            foreign_folder(folder / "foreign") as foreign,
            start_forked(config) as simulator,
            services_up(data, **environ),
        ):
            said = f"http://user:{PROXY}@127.0.0.1:9\n"
            told = end_of(in_background(data, "proxies", "add", "-", "--tier", "own", said=said, **environ))
            assert (told.returncode, PROXY in told.stdout + told.stderr) == (0, False), told.stderr
            told = run(data, *crawl_arguments(simulator, "imot.bg"), "--parallel", **{**QUICK, **environ})
            assert told.returncode == 0, told.stderr
            yield World(data, environ, simulator, foreign)
    finally:
        os.umask(before)
    assert running_in(data) == {}


def test_nothing_is_imported_from_the_folder_we_are_in(world: World) -> None:
    until(lambda: is_answered(f"http://127.0.0.1:{world.environ['FLOWER_PORT']}/healthcheck"), "Flower")
    assert imported_from(world.foreign) == []


def is_answered(url: str) -> bool:
    try:
        return httpx.get(url, timeout=PATIENCE_SECONDS).is_success
    except httpx.HTTPError:
        return False


def test_up_tells_of_itself_what_prometheus_asks_for(world: World) -> None:
    text = httpx.get(
        f"http://127.0.0.1:{world.environ['METRICS_PORT']}/metrics", timeout=PATIENCE_SECONDS
    ).text
    assert {f"sale_sofia_{name} 1.0" for name in ("database_up", "redis_up", "workers")} <= {
        *text.splitlines()
    }


def test_the_password_of_redis_is_hidden_in_logs(world: World) -> None:
    """They are in the form of every log."""
    connected_to = r"\[info +\] Connected to redis://\*\*\*@127\.0\.0\.1:\d+/0 \[celery\.worker"
    assert re.search(connected_to, world.worker_log())


def test_no_other_user_can_open_a_file_of_ours(world: World) -> None:
    modes = world.looked_at(lambda path: path.stat().st_mode)
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
    names = {name.partition("/")[0] for name in modes}
    assert {"logs", "run", "redis", "archive", "proxies", "reports", "sale_sofia.db"} <= names


def test_no_password_stands_in_the_list_of_processes(world: World) -> None:
    commands = " ".join(running_in(world.data).values())
    assert "flower" in commands
    assert "celery" in commands
    for secret in (world.server.password, FLOWER, DASHBOARD, PROXY):
        assert secret
        assert secret not in commands


def test_our_redis_wants_its_password(world: World) -> None:
    for password in (None, "", "0" * 64):
        with connected(world, password) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.llen("sale_sofia")
    with connected(world, world.server.password) as ours:
        assert ours.ping()


def connected(world: World, password: str | None) -> redis.Redis:
    return redis.Redis(port=world.server.port, password=password, retry=Retry(NoBackoff(), 0))


def test_nothing_of_ours_listens_on_another_address(world: World) -> None:
    places = listening(running_in(world.data))
    assert {port for _, port in places} >= {
        world.server.port,
        int(world.environ["FLOWER_PORT"]),
        int(world.environ["METRICS_PORT"]),
    }
    simulated = {int(url.rpartition(":")[2].rstrip("/")) for url in world.simulator.urls.values()}
    for port in {port for _, port in places} | simulated:
        assert answers("127.0.0.1", port)
        assert not answers(OTHER, port)
    assert {host for host, _ in places} == {"127.0.0.1"}


def test_no_password_is_written_anywhere_but_in_the_files_made_for_it(world: World) -> None:
    known = {
        world.server.password: {"redis/server.json", "redis/server.conf"},
        FLOWER: set(),
        DASHBOARD: set(),
        PROXY: {"proxies/sources.json"},
    }
    texts = world.looked_at(lambda path: path.read_bytes() if path.is_file() else b"")
    for secret, allowed in known.items():
        found = {name for name, text in texts.items() if secret.encode() in text}
        assert found == allowed, secret


@pytest.mark.parametrize("command", [("settings", "--json"), ("doctor", "--json"), ("proxies", "list")])
def test_no_password_is_told(world: World, command: tuple[str, ...]) -> None:
    url = f"redis://:{world.server.password}@127.0.0.1:{world.server.port}/0"
    named = {"REDIS_URL": url} if command[0] == "settings" else {}  # the others find our own
    told = run(world.data, *command, **named, **world.environ)
    said = told.stdout + told.stderr
    assert said
    for secret in (world.server.password, FLOWER, DASHBOARD, PROXY):
        assert secret not in said


class Evil:
    """Unpickled, it makes a folder."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self._place),)


def test_messages_that_are_not_ours_are_refused_and_the_worker_works_on(world: World, tmp_path: Path) -> None:
    world.send(TASK + "reconcile", Evil(tmp_path / "made"), serializer="pickle")
    world.send("os.system", "true")
    world.send("sale_sofia.proxies.tasks.refresh_proxies", "../*")
    until(lambda: "Refusing to deserialize" in world.worker_log(), "the refusal of a pickle")
    until(lambda: "unregistered task of type 'os.system'" in world.worker_log(), "the refusal of a task")
    until(lambda: "no refresh of ours is called '../*'" in world.worker_log(), "the refusal of a name")
    assert not (tmp_path / "made").exists()
    with connected(world, world.server.password) as ours:
        until(lambda: ours.llen("sale_sofia") == 0, "the end of the queue")


@pytest.mark.parametrize("program", ["judge", "rotator"])
def test_what_is_started_by_hand_listens_on_loopback_unless_told_otherwise(
    world: World, tmp_path: Path, program: str
) -> None:
    make_certificates(tmp_path)
    pair = ("--certificate", tmp_path / "server.pem", "--key", tmp_path / "server.key")
    words: dict[str, tuple[str | Path, ...]] = {
        "judge": ("proxies", "judge", *pair, "--port", "0", "--http-port", "0"),
        "rotator": ("rotator",),
    }
    before = listening(running_in(world.data))
    process = start(world.data, *words[program], **world.environ, ROTATOR_PORT=str(free_port()))
    try:
        until(lambda: len(listening(running_in(world.data)) - before) == PORTS[program], f"the {program}")
        for host, port in listening(running_in(world.data)) - before:
            assert (host, answers(host, port), answers(OTHER, port)) == ("127.0.0.1", True, False)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def test_a_page_elsewhere_gets_nothing_out_of_a_dashboard_without_a_password(
    world: World, tmp_path: Path
) -> None:
    """And what is in the folder where it was started is nothing to it."""
    with commanded_dashboard(tmp_path) as dashboard:
        assert is_answered(f"{dashboard.url}/healthz")
        own = dashboard.url.removeprefix("http://")
        port = own.rpartition(":")[2]
        assert status(own, origin=dashboard.url, host=own) == 200
        assert status(own, origin="http://evil.example", host=own) == 403
        assert status(own, origin="null", host=own) == 403
        led_here = f"evil.example:{port}"  # its name was made to lead here
        assert status(own, origin=f"http://{led_here}", host=led_here) == 421
    assert imported_from(world.foreign) == []


def status(place: str, *, origin: str, host: str) -> int:
    """With which a page of this origin is answered, also where it asks for a socket."""
    head = (
        f"GET /today HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    name, _, port = place.rpartition(":")
    with socket.create_connection((name, int(port)), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(head.encode())
        return int(connection.recv(1024).split(b" ")[1])
