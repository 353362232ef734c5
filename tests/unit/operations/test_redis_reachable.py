import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from pydantic import SecretStr

from sale_sofia.operations.services.redis import RedisServer, check_reachable, running_redis
from sale_sofia.settings.errors import RedisUnreachable
from sale_sofia.settings.model import Settings
from tables import each_row


class SilentHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing on standard error."""


@contextmanager
def http_server() -> Iterator[int]:
    with http.server.HTTPServer(("127.0.0.1", 0), SilentHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server of users with passwords: `ana` may do all, `bob` only say hello."""
    with RedisServer.start(tmp_path_factory.mktemp("guarded")) as server:
        with redis.Redis(port=server.port) as client:
            client.acl_setuser("ana", enabled=True, passwords=["+hunter2"], commands=["+@all"], keys=["*"])
            client.acl_setuser("bob", enabled=True, passwords=["+hunter2"], commands=["+ping"], keys=["*"])
        yield server


def reason(url: str) -> str:
    """What is said of this URL, on its way through `running_redis`; never the password."""
    settings = Settings(redis_url=SecretStr(url))
    with pytest.raises(RedisUnreachable) as error, running_redis(settings):
        pass
    assert "hunter" not in f"{error.value!r} {error.value.__cause__!r}"
    assert error.value.__suppress_context__
    return str(error.value)


def test_a_server_that_answers_is_given_as_it_was_named(redis_server: RedisServer, tmp_path: Path) -> None:
    url = f"redis://localhost:{redis_server.port}/3?socket_timeout=5"
    settings = Settings(redis_url=SecretStr(url), data_dir=tmp_path / "data")
    with redis.Redis.from_url(url) as client:
        before = client.dbsize()
        with running_redis(settings) as given:
            assert given == url
        assert client.dbsize() == before
    assert redis_server.alive
    assert not (tmp_path / "data").exists()


@each_row(
    ("login", "path", "said"),
    [
        ("ana:hunter3", "", "does not accept this user name and password, or wants some"),
        ("nobody:hunter2", "", "does not accept this user name and password, or wants some"),
        ("bob:hunter2", "", "does not let this user write"),
        ("ana:hunter2", "/99", "has no database of this number"),
    ],
)
def test_a_login_that_is_not_good(login: str, path: str, said: str, guarded: RedisServer) -> None:
    place = f"127.0.0.1:{guarded.port}"
    assert reason(f"redis://{login}@{place}{path}") == f"REDIS_URL: {place} {said}."
    assert check_reachable(f"redis://ana:hunter2@{place}") == place


def test_no_password_where_one_is_wanted(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path) as server:
        with redis.Redis(port=server.port) as client:
            client.config_set("requirepass", "hunter2")
        assert reason(server.url).endswith("does not accept this user name and password, or wants some.")
        assert reason(f"redis://:hunter3@127.0.0.1:{server.port}").endswith("password, or wants some.")


def test_a_read_only_copy(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path, options=["--replicaof", "127.0.0.1", "1"]) as server:
        assert reason(server.url) == (
            f"REDIS_URL: 127.0.0.1:{server.port} is a read-only copy of another server; "
            "name the one that takes writes."
        )


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    said = f"REDIS_URL: 127.0.0.1:{port} cannot be reached (Connection refused)."
    assert reason(f"redis://:hunter2@127.0.0.1:{port}") == said


@pytest.mark.parametrize("login", ["", "ana:hunter2@"])
def test_not_a_redis_server(login: str) -> None:
    with http_server() as port:
        said = f"REDIS_URL: 127.0.0.1:{port} does not speak like a Redis server."
        assert reason(f"redis://{login}127.0.0.1:{port}") == said


def test_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        assert reason(f"redis://:hunter2@{place}") == f"REDIS_URL: {place} did not answer within 5 s."


def test_no_such_socket() -> None:
    said = "REDIS_URL: /no/such.sock cannot be reached (No such file or directory)."
    assert reason("unix://ana:hunter2@/no/such.sock?db=1") == said


@pytest.mark.parametrize(
    "url", ["redis://host:99999", "redis://host?hunter2=1", "redis://host?timeout=hunter2"]
)
def test_a_url_that_the_client_cannot_use(url: str) -> None:
    assert reason(url).startswith("REDIS_URL: ")
