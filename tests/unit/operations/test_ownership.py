"""One process at a time runs the services of a data folder."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sale_sofia.operations.services.fleet import Restarts, ServiceDied
from sale_sofia.operations.services.ownership import Ownership, ServicesBusy, take_down
from sale_sofia.operations.services.processes import Interrupted, StopSignals
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import environment_of, load_settings

HOLD = """
import sys
from pathlib import Path
from sale_sofia.operations.services.ownership import Ownership
held = Ownership(Path(sys.argv[1]))
print(held.take(shared=sys.argv[2] == "shared"), flush=True)
sys.stdin.read()
"""


def hold(folder: Path, how: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


@pytest.mark.slow
def test_the_second_is_told_who_the_first_is(tmp_path: Path) -> None:
    with hold(tmp_path, "shared") as first:
        second = Ownership(tmp_path)
        assert not second.take(shared=False)
        holder = second.holder()
        assert holder is not None
        assert (holder.pid, holder.shared) == (first.pid, True)
        first.kill()
        first.communicate()
        assert second.holder() is None
        assert second.take(shared=False)
        second.release()


@pytest.mark.slow
def test_whose_services_may_be_joined(tmp_path: Path) -> None:
    settings = load_settings().model_copy(update={"data_dir": tmp_path})
    with hold(tmp_path / "run", "shared") as up:
        with Orchestrator(settings) as second:
            assert second.fleet.joined
        with pytest.raises(ServicesBusy, match=f"are run by process {up.pid}; stop it first"):
            Orchestrator(settings, shared=True).__enter__()
        up.kill()
    with hold(tmp_path / "run", "alone") as crawl:
        with pytest.raises(ServicesBusy, match=f"are run by process {crawl.pid}; wait for it or stop it"):
            Orchestrator(settings).__enter__()
        with pytest.raises(ServicesBusy, match=f"belong to a crawl, process {crawl.pid}"):
            take_down(settings)
        crawl.kill()
    assert not take_down(settings)
    with Orchestrator(settings) as alone:
        assert not alone.fleet.joined


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    settings = load_settings().model_copy(update={"data_dir": tmp_path / "file"})
    with pytest.raises(ServiceUnavailable, match="file/run cannot be made: Not a directory"):
        Orchestrator(settings).__enter__()


def test_the_first_signal_asks_and_the_second_forces() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals() as signals:
        signals.check()
        signal.raise_signal(signal.SIGTERM)
        assert (signals.requested, signals.forced) == (True, False)
        with pytest.raises(Interrupted):
            signals.check()
        signal.raise_signal(signal.SIGINT)
        assert signals.forced
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_closed_terminal_asks_too_unless_it_is_to_be_outlived() -> None:
    before = signal.getsignal(signal.SIGHUP)
    try:
        for handler, asked in ((signal.SIG_DFL, True), (signal.SIG_IGN, False)):
            signal.signal(signal.SIGHUP, handler)
            with StopSignals() as signals:
                signal.raise_signal(signal.SIGHUP)
                assert signals.requested is asked
            assert signal.getsignal(signal.SIGHUP) is handler
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_another_thread_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with StopSignals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_service_that_keeps_dying_is_given_up() -> None:
    now = [0.0]
    restarts = Restarts(lambda: now[0])
    for _ in range(20):
        restarts.note("worker")
    restarts.note("beat")
    now[0] = 601.0
    for _ in range(20):
        restarts.note("worker")
    with pytest.raises(ServiceDied, match=r"^worker died 21 times in 10 minutes; it said so\.$"):
        restarts.note("worker", "; it said so")


def test_a_program_sees_the_settings_we_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://:secret@somewhere:1/3")
    monkeypatch.setenv("DOMAIN_RATE_LIMITS", '{"imot.bg": 7}')
    monkeypatch.setenv("SQLITE_TIMEOUT", "9")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/x.db")
    settings = load_settings().model_copy(update={"data_dir": tmp_path, "robots_obeyed": False})
    changed = settings.model_copy(update={"redis_url": None, "worker_processes": 3})
    for one in (settings, changed):
        environ = environment_of(one, {"REDIS_URL": "redis://old", "PATH": "/bin", "Sqlite_Timeout": "1"})
        assert environ["PATH"] == "/bin"
        monkeypatch.setattr("os.environ", environ)
        assert load_settings() == one
        monkeypatch.undo()
        monkeypatch.setenv("PATH", "/bin")


def test_two_signals_take_the_patience_of_all_services(tmp_path: Path) -> None:
    settings = load_settings().model_copy(update={"data_dir": tmp_path})
    with Orchestrator(settings) as services:
        signal.raise_signal(signal.SIGINT)
        assert not services.fleet.worker.forced()
        with pytest.raises(Interrupted):
            services.supervise()
        signal.raise_signal(signal.SIGINT)
        assert services.fleet.worker.forced()
        assert services.fleet.beat.forced()


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("sqlite:///x.db", "sqlite:///{folder}/x.db"),
        ("sqlite:///x.db?mode=ro", "sqlite:///{folder}/x.db?mode=ro"),
        ("sqlite:////srv/x.db", "sqlite:////srv/x.db"),
        ("postgresql://me:secret@somewhere/x.db", "postgresql://me:secret@somewhere/x.db"),
    ],
)
def test_a_program_in_another_folder_sees_the_same_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, seen: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", url)
    assert environment_of(load_settings(), {})["DATABASE_URL"] == seen.format(folder=tmp_path)
