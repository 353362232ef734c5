"""A program in the background: started once, stopped whole, found again, never mistaken."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sale_sofia.operations.services.processes import (
    QUIT,
    TERMINATE,
    Child,
    ChildRecord,
    Process,
    born,
    processes_of,
    read_child,
    write_child,
)

POLITE = """
import subprocess, sys, time
from sale_sofia.operations.services.processes import tell_ready
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("my child is", child.pid, flush=True)
tell_ready()
time.sleep(60)
"""
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "from sale_sofia.operations.services.processes import tell_ready; tell_ready(); time.sleep(60)"
)
STEPS = ((TERMINATE, 5.0),)


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    made = Child("thing", tmp_path / "run", tmp_path / "logs" / "thing.log")
    yield made
    made.end_leftovers()


def start(child: Child, program: str = POLITE) -> list[Process]:
    child.start([sys.executable, "-c", program], os.environ)
    end = time.monotonic() + 30
    while not child.ready:
        assert time.monotonic() < end, child.log.read_text("utf-8")
        time.sleep(0.02)
    record = read_child(child.record_file)
    assert record is not None
    return processes_of(record)


@pytest.mark.slow
def test_a_program_and_its_children_are_stopped(child: Child) -> None:
    running = start(child)
    assert len(running) == 2
    assert child.alive
    child.stop(STEPS)
    assert [process.alive for process in running] == [False, False]
    assert not child.alive
    assert not child.ready
    assert list(child.run_folder.iterdir()) == []


@pytest.mark.slow
def test_starting_twice_starts_once(child: Child) -> None:
    first = start(child)
    assert {process.pid for process in start(child)} == {process.pid for process in first}


@pytest.mark.slow
def test_children_of_a_killed_program_are_found(child: Child) -> None:
    running = start(child)
    main = child.process
    assert main is not None
    os.kill(main.pid, 9)
    assert main.gone_within(5)
    assert sum(process.alive for process in running) == 1
    left = [process.pid for process in running if process.alive]
    assert child.end_leftovers() == left
    assert not any(process.alive for process in running)


@pytest.mark.slow
def test_a_start_that_was_not_written_to_the_end_is_found_by_its_nonce(child: Child) -> None:
    running = start(child)
    record = read_child(child.record_file)
    assert record is not None
    write_child(child.record_file, ChildRecord(nonce=record.nonce))
    assert sorted(child.end_leftovers()) == sorted(process.pid for process in running)


def test_a_stranger_with_the_recorded_number_and_birth_is_left_alone(child: Child) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stranger:
        child.run_folder.mkdir(parents=True)
        record = ChildRecord(nonce="0" * 32, pid=stranger.pid, born=born(stranger.pid))
        write_child(child.record_file, record)
        assert child.end_leftovers() == []
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.slow
def test_one_that_does_not_listen_is_quit_and_then_killed(child: Child) -> None:
    (process,) = start(child, STUBBORN)
    began = time.monotonic()
    child.stop(((TERMINATE, 0.3), (QUIT, 60.0)))
    assert 0.3 <= time.monotonic() - began < 30
    assert not process.alive


@pytest.mark.slow
def test_force_takes_all_patience(child: Child) -> None:
    (process,) = start(child, STUBBORN)
    child.forced = lambda: True
    began = time.monotonic()
    child.stop(((TERMINATE, 60.0),))
    assert time.monotonic() - began < 30
    assert not process.alive


@pytest.mark.slow
def test_the_log_is_kept_small_and_the_last_one_beside_it(child: Child) -> None:
    start(child)
    said = child.log.read_text("utf-8")
    assert said.startswith("my child is")
    child.put_log_aside(beyond=1000)
    assert child.log.read_text("utf-8") == said
    child.put_log_aside(beyond=5)
    assert child.log.read_text("utf-8") == ""
    assert child.log.with_suffix(".log.1").read_text("utf-8") == said
    assert child.last_words() == ""


def test_a_damaged_record_kills_nobody(child: Child) -> None:
    child.run_folder.mkdir(parents=True)
    child.record_file.write_text('{"nonce": 5', "utf-8")
    assert child.end_leftovers() == []
    assert child.process is None
