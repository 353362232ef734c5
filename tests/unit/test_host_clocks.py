"""A clock of some programs alone, which can be set while they run."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from host_clocks import HostClock, NoClock, make_clock

TELL = """
import time
while input():
    print(time.time(), time.monotonic(), flush=True)
"""


@pytest.fixture
def clock(tmp_path: Path) -> HostClock:
    try:
        return make_clock(tmp_path)
    except NoClock as reason:
        pytest.skip(str(reason))


def told(program: "subprocess.Popen[str]") -> tuple[float, float]:
    """How far its time of day is ahead of ours, and its measure."""
    assert program.stdin
    assert program.stdout
    program.stdin.write("now\n")
    program.stdin.flush()
    now, measure = map(float, program.stdout.readline().split())
    return now - time.time(), measure - time.monotonic()


def test_a_program_sees_its_clock_set_and_measures_as_before(clock: HostClock, tmp_path: Path) -> None:
    environ = {**os.environ, **clock.environ}
    with subprocess.Popen(
        [sys.executable, "-c", TELL], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        for ahead in (0, -86_400, 3600):
            clock.set(ahead)
            clock.beside(tmp_path / "other").set(7)
            assert told(program) == pytest.approx((ahead, 0), abs=30)
        program.kill()
    assert clock.ahead == 3600
