"""The password of our own Redis: kept for those who know it, heard by nobody else."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from sale_sofia.operations.services.redis import RedisServer
from unit.operations.redis_users import servers_in

ONE, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for a server, under a umask that hides nothing; none is left in it."""
    before = os.umask(0)
    yield tmp_path / "redis"
    os.umask(before)
    assert servers_in(tmp_path / "redis") == []


def test_only_its_owner_can_read_it_and_no_list_of_processes_shows_it(folder: Path) -> None:
    with RedisServer.start(folder, password=ONE) as server:
        holding = {
            path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir() if _holds(path, ONE)
        }
        assert holding == {"server.json": "0o600", "server.conf": "0o600"}
        assert ONE.encode() not in Path(f"/proc/{server.pid}/cmdline").read_bytes()
        assert ONE not in repr(server)
        with redis.Redis.from_url(server.url) as client:
            assert client.ping()


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and text.encode() in path.read_bytes()


def test_a_server_that_died_comes_back_with_the_password_its_users_know(folder: Path) -> None:
    dead = RedisServer.start(folder, password=ONE)
    dead.kill()
    with RedisServer.start(folder, password=OTHER) as server:
        assert server.url == dead.url
    with RedisServer.start(folder, password=OTHER) as server:  # that one was stopped, and nobody knows it
        assert server.password == OTHER
        server.restart()
        assert server.password == OTHER


def test_a_stranger_on_the_old_port_hears_no_password_and_the_next_is_another(folder: Path) -> None:
    dead = RedisServer.start(folder, password=ONE)
    dead.kill()
    with socket.create_server(("127.0.0.1", dead.port)) as stranger:
        stranger.settimeout(0.0)
        assert RedisServer.find(folder) is None
        with RedisServer.start(folder, password=OTHER) as server:
            assert (server.port != dead.port, server.password) == (True, OTHER)
        with pytest.raises(BlockingIOError):  # nobody came
            stranger.accept()
