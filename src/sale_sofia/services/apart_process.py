"""A forked process that does one piece of work after the other within limits the kernel keeps.

It shares a desk of memory with its parent: what is to be done lies there, then the answer. It touches nothing
else of its parent's: every other file is closed, no signal of its parent reaches a handler, it ends without
clean-up, and it never outlives its parent.
"""

import ctypes
import gc
import mmap
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from sale_sofia.config.reading import APART_KEPT_BYTES

_HEADER: Final = struct.Struct("=QQ")
"""Bytes of the task and of its body on the desk, or of the answer and nothing."""
_NO_MEMORY: Final = 3
"""Exit code of work that could not get the memory it asked for."""
_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt(3)."""
_LIBC: Final = ctypes.CDLL(None)
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
        told = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        if len(told) + len(body) > len(self._desk):
            return False
        self._desk[: len(told)] = told
        self._desk[len(told) : len(told) + len(body)] = body
        with suppress(BrokenPipeError, ConnectionResetError):  # it is dead already, and will not answer
            self.ear.send(_HEADER.pack(len(told), len(body)))
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


def needed_too_much(status: int | None) -> bool:
    """Whether a process that ended so could not get the memory it asked for."""
    return status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == _NO_MEMORY


def computed_too_long(status: int | None) -> bool:
    """Whether a process that ended so had used up its seconds."""
    return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF


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
            ear.send(_HEADER.pack(_done(work, bounds, desk, *_HEADER.unpack(header)), 0))
        code = 0
    except MemoryError:
        code = _NO_MEMORY
    finally:
        os._exit(code)


def _done(work: Work, bounds: Bounds, desk: mmap.mmap, told: int, body: int) -> int:
    """Do what lies on the desk, and lay the answer there; returns its length."""
    signal.setitimer(signal.ITIMER_PROF, bounds.seconds)
    done = _answer(work, pickle.loads(desk[:told]), desk[told : told + body])  # noqa: S301 - our own
    answer = pickle.dumps(done, pickle.HIGHEST_PROTOCOL)
    signal.setitimer(signal.ITIMER_PROF, 0)
    desk[: len(answer)] = answer
    return len(answer)


def _answer(work: Work, task: object, body: bytes) -> tuple[bool, Any]:
    try:
        return True, work(task, body)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - raised where it was asked for
        return False, error


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
    _LIBC.prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    most = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * mmap.PAGESIZE + bounds.memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def keep_memory(most_bytes: int = APART_KEPT_BYTES) -> None:
    """Keep what one piece of work needed for the next: the kernel would clear it anew, for each page."""
    if hasattr(_LIBC, "mallopt"):  # glibc alone has it
        _LIBC.mallopt(_TRIM_THRESHOLD, most_bytes)
        _LIBC.mallopt(_MMAP_THRESHOLD, APART_KEPT_BYTES)
