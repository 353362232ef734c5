"""A portal's answers judged in a process of their own: one that cannot be read costs its row and no more."""

import asyncio
import ctypes
import gc
import mmap
import os
import pickle
import resource
import select
import signal
import socket
import struct
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience.errors import ParseHostile, ServiceError
from sale_sofia.crawl.visit.judging import Judge
from sale_sofia.crawl.visit.outcomes import Found, Gone, NotModified, Read
from sale_sofia.listings.places import place_data
from sale_sofia.listings.settings import (
    APART_KEPT_BYTES,
    APART_QUICK_SECONDS,
    DESK_SLACK_BYTES,
    PAGE_PATIENCE,
)
from sale_sofia.listings.vocabulary import vocabulary
from sale_sofia.settings.model import Settings
from sale_sofia.websites.base import Site

# A forked process that does one piece of work after the other within limits the kernel keeps. It shares a
# desk of memory with its parent: what is to be done lies there, then the answer. It touches nothing else of
# its parent's: every other file is closed, no signal of its parent reaches a handler, it ends without
# clean-up, and it never outlives its parent.

_HEADER: Final = struct.Struct("=QQ")
"""Bytes of the task and of its body on the desk, or of the answer and nothing."""
_NO_MEMORY: Final = 3
"""Exit code of work that could not get the memory it asked for."""
_PR_SET_PDEATHSIG: Final = 1
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_LIBC: Final = ctypes.CDLL(None)
_MEGABYTE: Final = 1_000_000
_LEFT_TO_THE_PARENT: Final = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
"""Sent to all processes of a terminal or of a service: the parent decides what they mean."""

Work = Callable[[Any, bytes], Any]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one piece of work may cost."""

    seconds: float
    """Of computing."""
    patience: float
    """Seconds by the clock, for a process that does not get to compute."""
    memory: int
    """Bytes beyond those that the process begins with."""
    desk: int
    """Bytes of a task, and of an answer."""


class ApartProcess:
    """The process as its parent sees it."""

    def __init__(self, work: Work, bounds: Bounds) -> None:
        self._desk = mmap.mmap(-1, bounds.desk)
        self.ear, theirs = socket.socketpair()
        self.ear.settimeout(0)
        with theirs:
            pid = _forked(work, bounds, self._desk, theirs)
        self._end = weakref.finalize(self, _end, pid, self.ear, os.getpid())

    def give(self, task: object, body: bytes) -> bool:
        """Lay work on the desk; whether it fits."""
        packed = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        if len(packed) + len(body) > len(self._desk):
            return False
        self._desk[: len(packed)] = packed
        self._desk[len(packed) : len(packed) + len(body)] = body
        with suppress(BrokenPipeError, ConnectionResetError):  # it is dead already, and will not answer
            self.ear.send(_HEADER.pack(len(packed), len(body)))
        return True

    def answer(self) -> tuple[bool, Any] | None:
        """Whether the work came to its end, and its result or its exception; None when there is no answer."""
        try:
            header = self.ear.recv(_HEADER.size)
        except (BlockingIOError, ConnectionResetError):
            return None
        if not header:
            return None
        answer: tuple[bool, Any] = pickle.loads(self._desk[: _HEADER.unpack(header)[0]])  # noqa: S301 - our own process
        return answer

    def end(self) -> int | None:
        """End it at once; returns how it ended, as `os.waitpid` tells it."""
        return self._end()


def _end(pid: int, ear: socket.socket, parent: int) -> int | None:
    ear.close()
    if os.getpid() != parent:  # a fork of the parent has a copy of this, and no child
        return None
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1]
    return None


def _forked(work: Work, bounds: Bounds, desk: mmap.mmap, ear: socket.socket) -> int:
    parent = os.getpid()
    # Until it has none of our handlers left, no signal may reach the child.
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _live(work, bounds, desk, ear, parent)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)


def _live(work: Work, bounds: Bounds, desk: mmap.mmap, ear: socket.socket, parent: int) -> NoReturn:
    code = 1
    try:
        gc.freeze()  # what the parent loses meanwhile is not ours to close
        _let_go(ear.fileno())
        _limit(bounds, parent)
        keep_memory()
        while header := ear.recv(_HEADER.size):
            length = _work(work, bounds, desk, *_HEADER.unpack(header))
            ear.send(_HEADER.pack(length, 0))
        code = 0
    except MemoryError:
        code = _NO_MEMORY
    finally:
        os._exit(code)


def _work(work: Work, bounds: Bounds, desk: mmap.mmap, task: int, body: int) -> int:
    """Do what lies on the desk, and lay the answer there; returns its length.

    The seconds of one piece run on until the next begins: who waits for it computes nothing.
    """
    signal.setitimer(signal.ITIMER_PROF, bounds.seconds)
    result: tuple[bool, Any]
    try:
        result = True, work(pickle.loads(desk[:task]), desk[task : task + body])  # noqa: S301 - our own
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - raised where it was asked for
        result = False, error
    answer = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    desk[: len(answer)] = answer
    return len(answer)


def _let_go(kept: int) -> None:
    """Of all that the parent has open, keep one file; of its signals, none."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if number in _LEFT_TO_THE_PARENT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)
    os.closerange(3, kept)
    os.closerange(kept + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _limit(bounds: Bounds, parent: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":  # elsewhere it has its seconds, and ends when nobody listens any more
        return
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    most = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * mmap.PAGESIZE + bounds.memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def keep_memory(most_bytes: int = APART_KEPT_BYTES) -> None:
    """Keep what one piece of work needed for the next: the kernel would clear it anew, for each page."""
    if hasattr(_LIBC, "mallopt"):  # glibc alone has it
        _LIBC.mallopt(_M_TRIM_THRESHOLD, most_bytes)
        _LIBC.mallopt(_M_MMAP_THRESHOLD, APART_KEPT_BYTES)


# Work on what strangers sent, where it can be ended: it costs its own time and memory, never another's.


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

        `EndedApart` where it took too long or too much memory or its process died, `OSError` without one.
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
        number = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        if number == signal.SIGPROF:
            raise EndedApart(f"it took more than {self._bounds.seconds:g} s of computing")
        if status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == _NO_MEMORY:
            raise _Died(f"it needed more than {self._bounds.memory // _MEGABYTE} MB of memory")
        how = "it broke off"
        if number is not None:
            how = "killed" if number == signal.SIGKILL else signal.strsignal(number) or f"signal {number}"
        raise _Died(f"its process did not come to an end: {how}")


def _result(answer: tuple[bool, Any]) -> Any:  # noqa: ANN401 - whatever the work gives
    done, result = answer
    if not done:
        raise result
    return result


async def _heard(ear: int, seconds: float) -> None:
    """Until something is heard, or it took too long. No task: this is waited for once a page."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not heard.done():
            heard.set_result(None)

    loop.add_reader(ear, wake)
    timer = loop.call_later(seconds, wake)
    try:
        await heard
    finally:
        timer.cancel()
        loop.remove_reader(ear)


def _heard_now(ear: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(ear, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


_Task = tuple[str, str, str, int, dict[str, str], datetime]
_Outcome = Found | Read | NotModified | Gone


def page_bounds(settings: Settings) -> Bounds:
    """What the settings let the reading of one page cost."""
    return Bounds(
        seconds=settings.page_seconds,
        patience=settings.page_seconds * PAGE_PATIENCE,
        memory=settings.page_memory_mb * _MEGABYTE,
        desk=settings.max_page_bytes + DESK_SLACK_BYTES,
    )


class JudgeApart:
    """A `Judge` whose work can be ended: a page never holds up another portal, nor a signal."""

    def __init__(self, judge: Judge, bounds: Bounds) -> None:
        self._judge = judge
        # Both processes look up places and words: what is loaded before the fork is loaded once.
        place_data(), vocabulary()
        self._apart = Apart(partial(_judged, judge), bounds)

    @property
    def site(self) -> Site:
        """The portal."""
        return self._judge.site

    async def outcome(self, claim: Claim, response: Response, now: datetime) -> _Outcome:
        """What the answer says, as `Judge` does; `ParseHostile` where reading it took too much."""
        if not response.body:  # nothing to read, as of a page that was not modified
            return self._judge.outcome(claim, response, now)
        # What goes to and fro is plain, for it is packed and unpacked with every page: the claim stays here.
        task: _Task = (claim.kind, claim.url, response.url, response.status, dict(response.headers), now)
        try:
            packed = await self._apart.do(task, response.body)
        except EndedApart as why:
            error = ParseHostile(f"reading the page was ended: {why}")
            error.status = response.status
            raise error from None
        except OSError as problem:
            raise ServiceError(f"no process to read pages in: {problem}") from problem
        outcome: _Outcome = (
            Read(claim, *packed) if isinstance(packed, tuple) else replace(packed, claim=claim)
        )
        return outcome

    def close(self) -> None:
        """Read no more; a page in hand is left."""
        self._apart.close()


def _judged(judge: Judge, task: _Task, body: bytes) -> tuple[Any, ...] | _Outcome:
    kind, asked, url, status, headers, now = task
    outcome = judge.outcome(Claim(0, kind, asked, 0, 0), Response(url, status, headers, body, 0.0), now)
    if not isinstance(outcome, Read):
        return outcome
    return outcome.listing, outcome.etag, outcome.last_modified, outcome.seen
