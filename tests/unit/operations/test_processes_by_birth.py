import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from sale_sofia.crawl.resilience.owners import birth_by_ps
from sale_sofia.operations.services.processes import Process, born

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def process_of(child: subprocess.Popen[bytes]) -> Process:
    birth = born(child.pid)
    assert birth is not None
    return Process(child.pid, birth)


def test_a_birth_stays_the_same_and_is_its_own() -> None:
    with subprocess.Popen(SLEEP) as child:
        assert process_of(child) == process_of(child)
        assert born(child.pid) != born(os.getpid())
        child.kill()


def test_nobody_has_no_birth() -> None:
    with subprocess.Popen(SLEEP) as child:
        child.kill()
    assert born(child.pid) is None


def test_a_dead_child_that_nobody_asked_after_is_dead_and_left_to_its_parent() -> None:
    with subprocess.Popen(SLEEP) as child:
        process = process_of(child)
        process.send(signal.SIGTERM)
        assert process.gone_within(10)
        process.send(signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM


@pytest.mark.parametrize("by_number", [True, False])
def test_another_process_with_the_number_gets_no_signal(
    by_number: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if by_number:
        monkeypatch.delattr(os, "pidfd_open")
    with subprocess.Popen(SLEEP) as child:
        Process(child.pid, "another time").send(signal.SIGKILL)
        time.sleep(0.1)
        assert child.poll() is None
        process_of(child).send(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL


def test_waiting_has_an_end() -> None:
    with subprocess.Popen(SLEEP) as child:
        begin = time.monotonic()
        assert not process_of(child).gone_within(0.1)
        assert 0.1 <= time.monotonic() - begin < 30
        child.kill()


@pytest.mark.skipif(shutil.which("ps") is None, reason="no ps on this machine")
def test_ps_knows_births_too() -> None:
    with subprocess.Popen(SLEEP) as child:
        birth = birth_by_ps(child.pid)
        assert birth
        assert birth == birth_by_ps(child.pid)
        child.kill()
        while child.poll() is None:
            time.sleep(0.01)
    assert birth_by_ps(child.pid) is None
