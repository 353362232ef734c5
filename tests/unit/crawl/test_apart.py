"""Work in a process of its own: its answer comes back, and it can be ended whatever it does."""

import asyncio
import mmap
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from sale_sofia.crawl.visit.apart import Apart, Bounds, EndedApart

BOUNDS = Bounds(seconds=0.3, patience=60, memory=200_000_000, desk=1_000_000)
PATIENCE_SECONDS = 60.0


def work(task: Any, body: bytes) -> Any:  # noqa: ANN401, C901 - what each test asks for
    match task:
        case "loop":
            return sum(repeat(1))  # in C, where no handler of Python's is ever called
        case "memory":
            return len(bytearray(10**9))
        case "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "fail":
            raise LookupError("no such thing")
        case "once":  # the first process that gets it dies
            path = Path(body.decode())
            if not path.exists():
                path.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        case "open files":
            return [int(one.name) for one in Path("/proc/self/fd").iterdir()]
        case "pages of memory":  # those the kernel had to give
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            del [bytearray(2_000_000) for _ in range(4)][:]
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        case "signals":
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(os.getpid(), number)
    return os.getpid(), body


@pytest.fixture
def apart() -> Iterator[Apart]:
    made = Apart(work, BOUNDS)
    yield made
    made.close()


def test_one_process_does_it_all_and_is_not_ours(apart: Apart) -> None:
    async def both() -> list[tuple[int, bytes]]:
        return list(await asyncio.gather(apart.do("a", b"1" * 500_000), apart.do("b", b"2")))

    (first, one), (second, two) = asyncio.run(both())
    assert (one, two) == (b"1" * 500_000, b"2")
    assert first == second != os.getpid()
    assert apart.do_now("c", b"3") == (first, b"3")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep memory as they like")
def test_memory_that_was_needed_once_is_not_asked_for_again(apart: Apart) -> None:
    # How much of it lies together depends on what the process had before: one more turn may need more.
    first, *_, last = (apart.do_now("pages of memory", b"") for _ in range(5))
    assert first > 4 * 2_000_000 // mmap.PAGESIZE / 2
    assert last < first / 10


def test_what_the_work_raises_is_raised_here(apart: Apart) -> None:
    with pytest.raises(LookupError, match="no such thing"):
        asyncio.run(apart.do("fail", b""))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "why"),
    [
        ("loop", r"it took more than 0\.3 s of computing"),
        ("memory", "it needed more than 200 MB of memory"),
        ("die", "its process did not come to an end: Segmentation fault"),
    ],
)
def test_work_that_costs_too_much_is_ended_and_the_next_is_done(apart: Apart, task: str, why: str) -> None:
    before, _ = apart.do_now("a", b"")
    with pytest.raises(EndedApart, match=why):
        asyncio.run(apart.do(task, b""))
    after, body = asyncio.run(apart.do("b", b"next"))
    assert (after != before, body) == (True, b"next")


@pytest.mark.slow
def test_others_go_on_while_work_hangs(apart: Apart) -> None:
    async def run() -> int:
        hanging = asyncio.create_task(apart.do("loop", b""))
        turns = 0
        while not hanging.done():
            await asyncio.sleep(0)
            turns += 1
        with suppress(EndedApart):
            hanging.result()
        return turns

    assert asyncio.run(run()) > 100


def test_work_whose_process_was_killed_by_another_is_done_once_more(apart: Apart, tmp_path: Path) -> None:
    flag = tmp_path / "died"
    assert asyncio.run(apart.do("once", str(flag).encode()))[1] == str(flag).encode()
    assert flag.exists()


def test_who_is_called_off_leaves_no_answer_for_the_next(apart: Apart) -> None:
    async def run() -> bytes:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await apart.do("loop", b"first")
        told: tuple[int, bytes] = await apart.do("a", b"second")
        return told[1]

    assert asyncio.run(run()) == b"second"


def test_more_than_fits_is_not_begun(apart: Apart) -> None:
    with pytest.raises(EndedApart, match="1000001 bytes"):
        apart.do_now("a", b"x" * 1_000_001)


def test_it_holds_no_file_of_ours_and_hears_no_signal_meant_for_us(apart: Apart) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept = apart.do_now("open files", b"")
        assert len(kept) == 5  # /dev/null three times, its channel, and the list itself
        assert listening.fileno() > 3
    assert apart.do_now("signals", b"heard")[1] == b"heard"


def test_it_is_gone_when_closed_and_when_forgotten() -> None:
    made = Apart(work, BOUNDS)
    first, _ = made.do_now("a", b"")
    made.close()
    second, _ = made.do_now("a", b"")
    del made
    assert not any(Path(f"/proc/{pid}").exists() for pid in (first, second))


@pytest.mark.slow
def test_threads_of_ours_do_not_disturb_it(apart: Apart) -> None:
    stop = threading.Event()
    threads = [threading.Thread(target=_busy, args=(stop,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in range(5):
            assert apart.do_now("a", b"%d" % number)[1] == b"%d" % number
            apart.close()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _busy(stop: threading.Event) -> None:
    while not stop.is_set():
        sorted(range(1000))


PARENT = """
import os, sys, time
from sale_sofia.crawl.visit.apart import Apart
from sale_sofia.crawl.visit.apart import Bounds
apart = Apart(lambda task, body: os.getpid(), Bounds(600, 600, 10**9, 10**6))
print(apart.do_now(None, b""), flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_it_does_not_outlive_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = Path("/proc") / parent.stdout.readline().strip()
    assert child.exists()
    parent.kill()
    parent.communicate()
    end = time.monotonic() + PATIENCE_SECONDS
    while child.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not child.exists()
