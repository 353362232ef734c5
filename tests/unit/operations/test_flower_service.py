"""Flower beside `sale-sofia up`: told of, watched, stopped. A small server plays its part."""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

from sale_sofia.operations.services import fleet
from sale_sofia.operations.services.celery import flower_command, flower_environment
from sale_sofia.operations.services.fleet import FlowerService
from sale_sofia.operations.services.processes import Child
from sale_sofia.operations.settings import FLOWER_LOOK_SECONDS, MOST_RESTARTS, SERVICE_SILENT_SECONDS
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings

PASSWORD = SecretStr("correct horse")
REDIS = "redis://127.0.0.1:1/0"
PATIENCE_SECONDS = 120
SERVER = """
import os, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if os.path.exists(sys.argv[2]): time.sleep(1000)
        self.send_response(200 if self.path == "/healthcheck" else 404); self.end_headers()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@dataclass
class World:
    """Flower's port, a clock that is moved by hand, and what was said."""

    folder: Path
    port: int
    said: list[str] = field(default_factory=list)
    now: float = 1000.0

    def service(self, password: SecretStr | None = PASSWORD) -> FlowerService:
        settings = Settings(data_dir=self.folder, flower_port=self.port, flower_password=password)
        child = Child("flower", self.folder / "run", self.folder / "logs" / "flower.log")
        return FlowerService(settings, child, self.said.append, lambda: self.now)

    def until(self, flower: FlowerService, condition: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < end, self.said
            flower.supervise(REDIS)
            time.sleep(0.02)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    made = World(tmp_path, port)
    yield made
    made.service().stop()


def play(monkeypatch: pytest.MonkeyPatch, *command: str) -> None:
    monkeypatch.setattr(fleet, "flower_command", lambda _host, _port: list(command))


@pytest.mark.slow
def test_it_is_told_of_once_started_again_and_stopped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, sys.executable, "-c", SERVER, str(world.port), "/no/such/file")
    address = f"Flower: http://127.0.0.1:{world.port}, user sale-sofia, password FLOWER_PASSWORD"
    flower = world.service()
    flower.start(REDIS)
    world.until(flower, lambda: world.said)
    monkeypatch.setattr("sale_sofia.operations.settings.FLOWER_ANSWER_SECONDS", PATIENCE_SECONDS)
    for _ in range(5):  # well for longer than a silent one may be
        world.now += FLOWER_LOOK_SECONDS
        flower.supervise(REDIS)
    assert world.said == [address]
    first = flower.child.process
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    assert first.gone_within(PATIENCE_SECONDS)
    world.until(flower, lambda: len(world.said) == 3)
    assert world.said == [address, "Flower died; started again", address]
    second = flower.child.process
    assert second is not None
    flower.stop()
    assert (second.alive, flower.child.alive) == (False, False)


def test_one_that_hangs_is_killed_and_started_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    hang = world.folder / "hang"
    play(monkeypatch, sys.executable, "-c", SERVER, str(world.port), str(hang))
    flower = world.service()
    flower.start(REDIS)
    world.until(flower, lambda: world.said)
    hang.touch()
    monkeypatch.setattr("sale_sofia.operations.settings.FLOWER_ANSWER_SECONDS", 0.05)
    hung = flower.child.process
    flower.supervise(REDIS)
    world.now += FLOWER_LOOK_SECONDS + 1
    flower.supervise(REDIS)
    assert len(world.said) == 1, "silent for a while is not hanging"
    world.now += SERVICE_SILENT_SECONDS
    flower.supervise(REDIS)
    assert world.said[1:] == ["Flower hangs", "Flower died; started again"]
    assert hung is not None
    assert not hung.alive
    assert flower.child.alive


@pytest.mark.slow
def test_one_that_dies_all_the_time_is_left_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, "/bin/sh", "-c", "echo no luck; exit 1")
    flower = world.service()
    flower.start(REDIS)
    world.until(flower, lambda: any("not started again" in line for line in world.said))
    assert world.said.count("Flower died; started again") == MOST_RESTARTS
    assert world.said[-1].startswith(f"Flower died {MOST_RESTARTS + 1} times in 10 minutes; its last words")
    assert world.said[-1].endswith("It is not started again; all else goes on.")
    flower.supervise(REDIS)
    assert (len(world.said), flower.child.alive) == (MOST_RESTARTS + 1, False)


def test_without_a_password_it_is_said_how_it_is_had(world: World) -> None:
    flower = world.service(password=None)
    flower.start(REDIS)
    flower.supervise(REDIS)
    sentence = "no Flower: set FLOWER_PASSWORD (8 characters or more) to see the tasks in a browser"
    assert (world.said, list(world.folder.iterdir())) == ([sentence], [])


def test_a_port_of_another_program_is_left_to_it(world: World) -> None:
    flower = world.service()
    with socket.create_server(("127.0.0.1", world.port)):
        flower.start(REDIS)
        flower.supervise(REDIS)
    sentence = f"no Flower: another program has port {world.port}; set FLOWER_PORT to one that is free"
    assert (world.said, flower.child.alive) == ([sentence], False)


def test_it_listens_here_alone_and_its_password_is_no_argument(world: World) -> None:
    settings = world.service().settings
    command = flower_command("127.0.0.1", 5555)
    assert command[-3:] == ["--address=127.0.0.1", "--port=5555", "--conf=/dev/null"]
    assert "horse" not in " ".join(command)
    assert flower_environment(settings, REDIS)["FLOWER_BASIC_AUTH"] == "sale-sofia:correct horse"
    with pytest.raises(ServiceUnavailable, match="FLOWER_PASSWORD: not set; Flower can stop tasks"):
        flower_environment(Settings(), REDIS)
