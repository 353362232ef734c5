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


def health(url: str) -> str:
    with urlopen(f"{url}/_stcore/health", timeout=PATIENCE) as answer:  # noqa: S310 - our own
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
    """A second one has a port of its own, and lives on until it is asked to end."""
    dashboard = Dashboard(tmp_path)
    assert health(dashboard.url) == "ok"
    assert dashboard.url.startswith("http://127.0.0.1:")
    assert (tmp_path / "sale_sofia.db").exists()
    second = Dashboard(tmp_path, "--host", "localhost")
    assert second.url != dashboard.url
    os.kill(dashboard.process.pid, signal.SIGKILL)
    dashboard.end()
    assert await_silence(dashboard.url)
    assert health(second.url) == "ok"
    assert second.stop() == 0
    assert not listens(second.url)


def test_with_a_password_it_may_be_shown_to_others_until_ctrl_c(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("long enough\n", "ascii")
    words = ("--host", "0.0.0.0", "--port", "0")  # noqa: S104 - that is what is tried
    dashboard = Dashboard(tmp_path, *words, DASHBOARD_PASSWORD_FILE=str(secret))
    assert dashboard.url.startswith("http://0.0.0.0:")
    assert health(dashboard.url) == "ok"
    dashboard.process.send_signal(signal.SIGINT)
    assert dashboard.end() == 0
    assert not listens(dashboard.url)


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
