"""Judges a portal's answers in a process of its own: one that cannot be read costs only its own row."""

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

# A forked process that does one task after another, within limits that the kernel enforces. It shares a
# block of memory, the desk, with its parent: the task is put there, then the answer. It touches nothing else
# of its parent's: every other file is closed, no signal handler of its parent is called, it exits without
# cleanup, and it never outlives its parent.

_HEADER: Final = struct.Struct("=QQ")
"""The lengths of a task and of its body on the desk, or of an answer and 0."""
_NO_MEMORY: Final = 3
"""Exit code of a process that could not get the memory it needed."""
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
"""Sent to every process of a terminal or a service: only the parent reacts to them."""

Work = Callable[[Any, bytes], Any]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one task may cost."""

    seconds: float
    """Of CPU time."""
    patience: float
    """Seconds of real time, for a process that gets no CPU."""
    memory: int
    """Bytes on top of those that the process starts with."""
    desk: int
    """The most bytes of a task with its body, and of an answer."""


class ApartProcess:
    """The process, as its parent uses it."""

    def __init__(self, work: Work, bounds: Bounds) -> None:
        self._desk = mmap.mmap(-1, bounds.desk)
        self.channel, child_channel = socket.socketpair()
        self.channel.settimeout(0)
        with child_channel:
            pid = _fork(work, bounds, self._desk, child_channel)
        self._end = weakref.finalize(self, _end, pid, self.channel, os.getpid())

    def give(self, task: object, body: bytes) -> bool:
        """Hand over a task; False when it does not fit on the desk."""
        packed = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        if len(packed) + len(body) > len(self._desk):
            return False
        self._desk[: len(packed)] = packed
        self._desk[len(packed) : len(packed) + len(body)] = body
        with suppress(BrokenPipeError, ConnectionResetError):  # it is dead already: `answer` returns None
            self.channel.send(_HEADER.pack(len(packed), len(body)))
        return True

    def answer(self) -> tuple[bool, Any] | None:
        """Whether the work succeeded, and its result or exception; None when there is no answer."""
        try:
            header = self.channel.recv(_HEADER.size)
        except (BlockingIOError, ConnectionResetError):
            return None
        if not header:
            return None
        answer: tuple[bool, Any] = pickle.loads(self._desk[: _HEADER.unpack(header)[0]])  # noqa: S301 - ours
        return answer

    def end(self) -> int | None:
        """Kill it at once; returns its status as from `os.waitpid`, None if there is no child."""
        return self._end()


def _end(pid: int, channel: socket.socket, parent: int) -> int | None:
    channel.close()
    if os.getpid() != parent:  # a fork of the parent has a copy of this, but not the child
        return None
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1]
    return None


def _fork(work: Work, bounds: Bounds, desk: mmap.mmap, channel: socket.socket) -> int:
    parent = os.getpid()
    # No signal may reach the child while it still has our handlers.
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _run_child(work, bounds, desk, channel, parent)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def _run_child(work: Work, bounds: Bounds, desk: mmap.mmap, channel: socket.socket, parent: int) -> NoReturn:
    code = 1
    try:
        gc.freeze()  # files of inherited objects are the parent's to close
        _drop_inherited(channel.fileno())
        _limit(bounds, parent)
        keep_memory()
        while header := channel.recv(_HEADER.size):
            length = _do_task(work, bounds, desk, *_HEADER.unpack(header))
            channel.send(_HEADER.pack(length, 0))
        code = 0
    except MemoryError:
        code = _NO_MEMORY
    finally:
        os._exit(code)


def _do_task(work: Work, bounds: Bounds, desk: mmap.mmap, task_len: int, body_len: int) -> int:
    """Do the task on the desk and put the answer there; returns its length.

    The timer runs on until the next task starts it again: waiting uses no CPU time.
    """
    signal.setitimer(signal.ITIMER_PROF, bounds.seconds)
    result: tuple[bool, Any]
    try:
        result = True, work(pickle.loads(desk[:task_len]), desk[task_len : task_len + body_len])  # noqa: S301
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - raised in the parent
        result = False, error
    answer = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    desk[: len(answer)] = answer
    return len(answer)


def _drop_inherited(kept_fd: int) -> None:
    """Close all files of the parent but this one, and remove all its signal handlers."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if number in _LEFT_TO_THE_PARENT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    devnull = os.open(os.devnull, os.O_RDWR)
    for standard_fd in range(3):
        os.dup2(devnull, standard_fd)
    os.closerange(3, kept_fd)
    os.closerange(kept_fd + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _limit(bounds: Bounds, parent: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":  # elsewhere: only CPU time is limited, and it ends when the channel closes
        return
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    most_bytes = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * mmap.PAGESIZE + bounds.memory
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))


def keep_memory(most_bytes: int = APART_KEPT_BYTES) -> None:
    """Keep freed memory for the next task: the kernel would clear it again for each page."""
    if hasattr(_LIBC, "mallopt"):  # only glibc has it
        _LIBC.mallopt(_M_TRIM_THRESHOLD, most_bytes)
        _LIBC.mallopt(_M_MMAP_THRESHOLD, APART_KEPT_BYTES)


# Work on untrusted data in a process that can be killed: it costs its own time and memory, nobody else's.


class EndedApart(Exception):
    """The work was stopped; the message says why."""


class _Died(EndedApart):
    """The process died, perhaps not because of its work."""


class Apart:
    """Does `work` in a process of its own, one task at a time; what the work raises is raised here.

    The process starts with the first task, and again after one was ended. A task whose process died of
    anything but its CPU limit is done once more: the task may not be the cause.
    """

    def __init__(self, work: Work, bounds: Bounds) -> None:
        self._work = work
        self._bounds = bounds
        self._process: ApartProcess | None = None
        self._turn = asyncio.Lock()

    async def do(self, task: object, body: bytes) -> Any:  # noqa: ANN401 - whatever the work returns
        """The result of the work; unless it comes at once, other coroutines run meanwhile.

        Raises `EndedApart`: too large, too slow, too much memory, or its process died; `OSError`: no process.
        """
        async with self._turn:
            try:
                return _result(await self._try(task, body))
            except _Died:
                return _result(await self._try(task, body))

    def do_now(self, task: object, body: bytes) -> Any:  # noqa: ANN401 - whatever the work returns
        """The same, blocking: meanwhile only signals are handled."""
        try:
            return _result(self._try_now(task, body))
        except _Died:
            return _result(self._try_now(task, body))

    def close(self) -> None:
        """Kill the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    async def _try(self, task: object, body: bytes) -> tuple[bool, Any]:
        with self._start(task, body) as process:
            # Most answers come at once: switching to other coroutines would cost more than the work itself.
            if not _poll_readable(process.channel.fileno(), APART_QUICK_SECONDS):
                await _wait_readable(process.channel.fileno(), self._bounds.patience)
            return process.answer() or self._raise_ended()

    def _try_now(self, task: object, body: bytes) -> tuple[bool, Any]:
        with self._start(task, body) as process:
            _poll_readable(process.channel.fileno(), self._bounds.patience)
            return process.answer() or self._raise_ended()

    @contextmanager
    def _start(self, task: object, body: bytes) -> Iterator[ApartProcess]:
        """The process at work on the task; killed on cancellation, lest the next task gets its answer."""
        if self._process is None:
            self._process = ApartProcess(self._work, self._bounds)
        if not self._process.give(task, body):
            raise EndedApart(f"it has {len(body)} bytes, for which there is no room")
        try:
            yield self._process
        except BaseException:
            self.close()
            raise

    def _raise_ended(self) -> NoReturn:
        process, self._process = self._process, None
        status = process.end() if process else None
        signum = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        if signum == signal.SIGPROF:
            raise EndedApart(f"it took more than {self._bounds.seconds:g} s of computing")
        if status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == _NO_MEMORY:
            raise _Died(f"it needed more than {self._bounds.memory // _MEGABYTE} MB of memory")
        cause = "it broke off"
        if signum is not None:
            cause = "killed" if signum == signal.SIGKILL else signal.strsignal(signum) or f"signal {signum}"
        raise _Died(f"its process did not come to an end: {cause}")


def _result(answer: tuple[bool, Any]) -> Any:  # noqa: ANN401 - whatever the work returns
    succeeded, result = answer
    if not succeeded:
        raise result
    return result


async def _wait_readable(fd: int, seconds: float) -> None:
    """Wait until the file is readable or the time is up. Creates no task, as it runs once per page."""
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    loop.add_reader(fd, wake)
    timer = loop.call_later(seconds, wake)
    try:
        await woken
    finally:
        timer.cancel()
        loop.remove_reader(fd)


def _poll_readable(fd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


_Task = tuple[str, str, str, int, dict[str, str], datetime]
_Outcome = Found | Read | NotModified | Gone


def page_bounds(settings: Settings) -> Bounds:
    """What reading one page may cost by the settings."""
    return Bounds(
        seconds=settings.page_seconds,
        patience=settings.page_seconds * PAGE_PATIENCE,
        memory=settings.page_memory_mb * _MEGABYTE,
        desk=settings.max_page_bytes + DESK_SLACK_BYTES,
    )


class JudgeApart:
    """A `Judge` whose work can be stopped: no page holds up another portal or a signal."""

    def __init__(self, judge: Judge, bounds: Bounds) -> None:
        self._judge = judge
        # Both processes use places and words: loaded before the fork, they are loaded only once.
        place_data(), vocabulary()
        self._apart = Apart(partial(_judge_task, judge), bounds)

    @property
    def site(self) -> Site:
        """The portal."""
        return self._judge.site

    async def outcome(self, claim: Claim, response: Response, now: datetime) -> _Outcome:
        """As `Judge.outcome`; also raises `ParseHostile`: it cost too much, or `ServiceError`: no process."""
        if not response.body:  # nothing to read, as with a page that was not modified
            return self._judge.outcome(claim, response, now)
        # Only plain values are sent, as they are pickled with every page: the claim stays here.
        task: _Task = (claim.kind, claim.url, response.url, response.status, dict(response.headers), now)
        try:
            result = await self._apart.do(task, response.body)
        except EndedApart as why:
            error = ParseHostile(f"reading the page was ended: {why}")
            error.status = response.status
            raise error from None
        except OSError as problem:
            raise ServiceError(f"no process to read pages in: {problem}") from problem
        outcome: _Outcome = (
            Read(claim, *result) if isinstance(result, tuple) else replace(result, claim=claim)
        )
        return outcome

    def close(self) -> None:
        """End the process; a page that is being read is dropped."""
        self._apart.close()


def _judge_task(judge: Judge, task: _Task, body: bytes) -> tuple[Any, ...] | _Outcome:
    kind, url, final_url, status, headers, now = task
    outcome = judge.outcome(Claim(0, kind, url, 0, 0), Response(final_url, status, headers, body, 0.0), now)
    if not isinstance(outcome, Read):
        return outcome
    return outcome.listing, outcome.etag, outcome.last_modified, outcome.seen
