"""`sale-sofia dashboard`: says where it is once it answers, refuses in one sentence, leaves nothing."""

import os
import signal
import socket
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from crawls import run
from dashboards import PATIENCE, Dashboard
from listening import OTHER, answers


def health(url: str) -> str:
    with urlopen(f"{url}/healthz", timeout=PATIENCE) as answer:  # noqa: S310 - our own
        return str(answer.read(), "ascii")


def listens(url: str) -> bool:
    host, _, port = url.removeprefix("http://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except ConnectionRefusedError:
        return False
    return True


def await_silence(url: str) -> bool:
    end = time.monotonic() + PATIENCE
    while listens(url) and time.monotonic() < end:
        time.sleep(0.1)
    return not listens(url)


def test_it_answers_when_it_says_so_and_leaves_nothing_even_when_it_is_killed(tmp_path: Path) -> None:
    """One with a password may be shown to others; it has a port of its own, and lives on until Ctrl-C."""
    dashboard = Dashboard(tmp_path, "--host", "localhost", "--port", "0")
    assert health(dashboard.url) == "ok"
    assert dashboard.url.startswith("http://127.0.0.1:")
    assert not answers(OTHER, int(dashboard.url.rpartition(":")[2]))
    assert (tmp_path / "sale_sofia.db").exists()
    secret = tmp_path / "password"
    secret.write_text("long enough\n", "ascii")
    words = ("--host", "0.0.0.0")  # noqa: S104 - that is what is tried
    second = Dashboard(tmp_path, *words, DASHBOARD_PASSWORD_FILE=str(secret))
    assert second.url.startswith("http://0.0.0.0:")
    os.kill(dashboard.process.pid, signal.SIGKILL)
    dashboard.end()
    assert await_silence(dashboard.url)
    assert health(second.url) == "ok"
    second.process.send_signal(signal.SIGINT)
    assert second.end() == 0
    assert not listens(second.url)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--host", "0.0.0.0"), "DASHBOARD_PASSWORD: not set; on 0.0.0.0 others could read"),  # noqa: S104 - it is refused
        (("--host", "::"), "DASHBOARD_PASSWORD: not set; on :: others could read"),
        (("--host", "example.com"), "--host: 'example.com' is no address"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    told = run(tmp_path / "data", "dashboard", *arguments)
    assert told.returncode == 2
    assert sentence in " ".join(told.stderr.split())
    assert "Traceback" not in told.stderr
    assert not (tmp_path / "data").exists()


def test_a_taken_port_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = run(tmp_path, "dashboard", "--port", str(port))
    assert told.returncode == 2
    assert told.stderr.startswith(f"sale-sofia: --port: {port} cannot be had on 127.0.0.1")
    assert len(told.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_short_password_is_refused(tmp_path: Path) -> None:
    told = run(tmp_path, "dashboard", DASHBOARD_PASSWORD="short")  # noqa: S106 - it is refused
    assert told.returncode == 2
    assert told.stderr.startswith("sale-sofia: DASHBOARD_PASSWORD: ")
    assert "short" not in told.stderr.partition("DASHBOARD_PASSWORD")[2].replace("shorter", "")
