"""The thread beside the event loop: one, in order, its own in every process."""

import asyncio
import os
import threading
import time

import pytest

from sale_sofia.storage.connections import OwnThread


def test_work_is_done_in_order_in_one_other_thread() -> None:
    thread = OwnThread("test")
    done: list[tuple[int, int]] = []

    def work(number: int) -> None:
        time.sleep(0.01 if number == 0 else 0)
        done.append((number, threading.get_ident()))

    async def run() -> None:
        await asyncio.gather(*(thread.run(lambda number=number: work(number)) for number in range(5)))  # type: ignore[misc]

    asyncio.run(run())
    thread.close()
    assert [number for number, _ in done] == [0, 1, 2, 3, 4]
    assert len({ident for _, ident in done} | {threading.get_ident()}) == 2


def test_an_error_reaches_who_asked_and_the_thread_goes_on() -> None:
    thread = OwnThread("test")

    async def run() -> int:
        with pytest.raises(ZeroDivisionError):
            await thread.run(lambda: 1 // 0)
        return await thread.run(lambda: 7)

    assert asyncio.run(run()) == 7
    thread.close()


def test_after_closing_the_next_work_starts_another() -> None:
    thread = OwnThread("test")
    assert asyncio.run(thread.run(lambda: 1)) == 1
    thread.close()
    thread.close()
    assert asyncio.run(thread.run(lambda: 2)) == 2
    thread.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_thread_of_its_own() -> None:
    thread = OwnThread("test")
    asyncio.run(thread.run(lambda: None))
    child = os.fork()
    if child == 0:  # without an own thread the child would wait here for ever
        answer = asyncio.run(thread.run(os.getpid))
        os._exit(0 if answer == os.getpid() else 1)
    deadline = time.monotonic() + 10
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    thread.close()
    assert ended == (child, 0)
