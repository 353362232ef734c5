"""Work on what strangers sent, where it can be ended: it costs its own time and memory, never another's."""

import asyncio
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sale_sofia.config.reading import APART_QUICK_SECONDS
from sale_sofia.services.apart_process import (
    ApartProcess,
    Bounds,
    Work,
    computed_too_long,
    needed_too_much,
)

_MILLISECONDS: Final = 1000
_MEGABYTE: Final = 1_000_000


class EndedApart(Exception):
    """The work was ended; the sentence says why."""


class _Died(EndedApart):
    """Perhaps for another reason than its work."""


class Apart:
    """Does `work` in a process of its own, one piece at a time; what the work raises is raised here.

    The process is begun when there is work, and anew after one was ended. Work whose process died for another
    reason than its seconds is done once more: it may not have been the work's doing.
    """

    def __init__(self, work: Work, bounds: Bounds) -> None:
        self._work = work
        self._bounds = bounds
        self._process: ApartProcess | None = None
        self._turn = asyncio.Lock()

    async def do(self, task: object, body: bytes) -> Any:  # noqa: ANN401 - whatever the work gives
        """What the work gives; if it is not done at once, others go on meanwhile.

        Raises:
            EndedApart: it took too long or too much memory, or its process died.
            OSError: there can be no process.
        """
        async with self._turn:
            try:
                return _result(await self._try(task, body))
            except _Died:
                return _result(await self._try(task, body))

    def do_now(self, task: object, body: bytes) -> Any:  # noqa: ANN401 - whatever the work gives
        """The same where nobody else is waiting but for a signal."""
        try:
            return _result(self._try_now(task, body))
        except _Died:
            return _result(self._try_now(task, body))

    def close(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    async def _try(self, task: object, body: bytes) -> tuple[bool, Any]:
        with self._begun(task, body) as process:
            # Most answers come in no time: to see to others in between would cost more than the work itself.
            if not _heard_now(process.ear.fileno(), APART_QUICK_SECONDS):
                await _heard(process.ear.fileno(), self._bounds.patience)
            return process.answer() or self._ended()

    def _try_now(self, task: object, body: bytes) -> tuple[bool, Any]:
        with self._begun(task, body) as process:
            _heard_now(process.ear.fileno(), self._bounds.patience)
            return process.answer() or self._ended()

    @contextmanager
    def _begun(self, task: object, body: bytes) -> Iterator[ApartProcess]:
        """Who is called off while waiting leaves no process whose answer the next would take for its own."""
        if self._process is None:
            self._process = ApartProcess(self._work, self._bounds)
        if not self._process.give(task, body):
            raise EndedApart(f"it has {len(body)} bytes, for which there is no room")
        try:
            yield self._process
        except BaseException:
            self.close()
            raise

    def _ended(self) -> tuple[bool, Any]:
        process, self._process = self._process, None
        status = process.end() if process else None
        if computed_too_long(status):
            raise EndedApart(f"it took more than {self._bounds.seconds:g} s of computing")
        if needed_too_much(status):
            raise _Died(f"it needed more than {self._bounds.memory // _MEGABYTE} MB of memory")
        raise _Died(f"its process did not come to an end: {_how(status)}")


def _how(status: int | None) -> str:
    if status is None or not os.WIFSIGNALED(status):
        return "it broke off"
    number = os.WTERMSIG(status)
    return "killed" if number == signal.SIGKILL else signal.strsignal(number) or f"signal {number}"


def _result(answer: tuple[bool, Any]) -> Any:  # noqa: ANN401 - whatever the work gives
    done, what = answer
    if not done:
        raise what
    return what


async def _heard(ear: int, seconds: float) -> None:
    """Until something is heard, or it took too long. No task: this is waited for once a page."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[None] = loop.create_future()
    loop.add_reader(ear, _wake, heard)
    timer = loop.call_later(seconds, _wake, heard)
    try:
        await heard
    finally:
        timer.cancel()
        loop.remove_reader(ear)


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


def _heard_now(ear: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(ear, select.POLLIN)
    return bool(poll.poll(seconds * _MILLISECONDS))
