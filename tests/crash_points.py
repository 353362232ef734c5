"""Crash points by enumeration: what `kill -9` would leave behind at every moment of a piece of work.

The kernel keeps what a killed process has written, so what it leaves is its folder as it is at that moment.
One run of the work is made. At each of its points, which are told by the database engine's events and by the
interpreter's audit events and not by hooks of ours, the folder is copied unless it is what it was before.
Each different copy, a state, is then recovered from by the ordinary next run and judged.
"""

import hashlib
import os
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlalchemy import Engine, event
from sqlalchemy.pool import Pool

T = TypeVar("T")
Tell = Callable[[str, str], None]
"""Called at a point with its kind and what is about to be done there."""
STATEMENT, COMMIT, RETURN, FILE, END = "statement", "commit", "return", "file", "end"
_FILE_EVENTS = frozenset(
    {
        "open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
        "os.chmod", "os.utime", "sqlite3.connect",
    }
)  # fmt: skip
_REBUILT = "-shm"
"""SQLite makes this file anew when nobody has the database open."""
_OFTEN_WRITTEN = "-wal"

_audience: list[tuple[str, Tell]] = []
_audited = threading.local()


def _audit(name: str, arguments: tuple[Any, ...]) -> None:
    if not _audience or name not in _FILE_EVENTS or getattr(_audited, "busy", False):
        return
    path = arguments[0]
    place = str(Path(os.fsdecode(path)).absolute()) if isinstance(path, str | bytes | os.PathLike) else ""
    _audited.busy = True
    try:
        for folder, tell in _audience:
            if place.startswith(folder) and not place.endswith(_REBUILT):
                tell(FILE, f"{name} {place.removeprefix(folder)}")
    finally:
        _audited.busy = False


@contextmanager
def points_of(folder: Path, tell: Tell) -> Iterator[None]:
    """Within it `tell` is called before each statement, commit and file operation below the folder.

    It is called too when a connection is given back, which is directly after the commit: what is done next,
    such as a request or a message, may leave no other trace. What a forked child does is no point.
    """
    owner, lock = os.getpid(), threading.RLock()

    def told(kind: str, what: str) -> None:
        if os.getpid() == owner:
            with lock:
                tell(kind, what)

    def statement(_connection: object, _cursor: object, sql: str, *_: object) -> None:
        told(STATEMENT, " ".join(sql.split()[:3]))

    def commit(_connection: object) -> None:
        told(COMMIT, "")

    def returned(*_: object) -> None:
        told(RETURN, "")

    if not getattr(sys, "_crash_points_audited", False):  # a hook stays for as long as the process
        sys.addaudithook(_audit)
        sys._crash_points_audited = True  # type: ignore[attr-defined]  # noqa: SLF001 - of this module alone
    event.listen(Engine, "before_cursor_execute", statement)
    event.listen(Engine, "commit", commit)
    event.listen(Pool, "checkin", returned)
    listener = (f"{folder.absolute()}{os.sep}", told)
    _audience.append(listener)
    try:
        yield
    finally:
        _audience.remove(listener)
        event.remove(Pool, "checkin", returned)
        event.remove(Engine, "commit", commit)
        event.remove(Engine, "before_cursor_execute", statement)


def count_points(folder: Path, work: Callable[[], object]) -> Counter[str]:
    """How many points of each kind a run of the work has; nothing is looked at and nothing copied."""
    counted: Counter[str] = Counter()
    with points_of(folder, lambda kind, _what: counted.update([kind])):
        work()
    return counted


@dataclass(slots=True)
class State(Generic[T]):
    """A folder as a killed process may have left it, and what the world outside had seen of it by then."""

    folder: Path
    points: list[str]
    """All points at which the folder is this one."""
    first: T
    last: T
    """The world outside at the first and at the last of them: between, requests were made, messages sent."""

    def put(self, place: Path) -> None:
        """Leave this folder in a place, instead of what is there."""
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.folder, place, symlinks=True)

    def __str__(self) -> str:
        return f"{self.folder.name} ({self.points[0]} … {self.points[-1]})"


@dataclass(slots=True)
class Enumeration(Generic[T]):
    """Every state of a folder during one run of a piece of work.

    `outside` says what the world outside has seen: the portal's log, the channel's messages.
    """

    folder: Path
    into: Path
    outside: Callable[[], T]
    counted: Counter[str] = field(default_factory=Counter)
    states: dict[str, State[T]] = field(default_factory=dict)
    seen: list[T] = field(default_factory=list)
    """The world outside at each point."""
    _digests: dict[tuple[str, int, int, int], bytes] = field(default_factory=dict)

    def run(self, work: Callable[[], object]) -> None:
        """Go through the work; afterwards every point has its state."""
        with points_of(self.folder, self._look):
            work()
        self._look(END, "")

    @property
    def total(self) -> int:
        """All points."""
        return self.counted.total()

    def recovered(self, place: Path) -> Iterator[State[T]]:
        """Each state, put into this place as a killed process would have left it there."""
        for state in self.states.values():
            state.put(place)
            yield state

    def check_complete(self, counted: Counter[str], *, least: int) -> None:
        """No point is left out: as many of each kind as in a run that was only counted, each with its state.

        `least` is how many there must be: work that has become smaller proves less.
        """
        print(f"{self.total} points, {len(self.states)} states: {dict(self.counted)}")  # noqa: T201 - for the log
        assert self.counted - Counter([END]) == counted
        assert sum(len(state.points) for state in self.states.values()) == self.total
        assert self.total >= least

    def _look(self, kind: str, what: str) -> None:
        busy, _audited.busy = getattr(_audited, "busy", False), True
        try:
            self._note(kind, what)
        finally:
            _audited.busy = busy

    def _note(self, kind: str, what: str) -> None:
        self.counted[kind] += 1
        digest, seen, point = self._digest(), self.outside(), f"{kind} {what}".strip()
        self.seen.append(seen)
        if state := self.states.get(digest):
            state.points.append(point)
            state.last = seen
            return
        copy = self.into / f"{len(self.states):04}"
        shutil.copytree(self.folder, copy, symlinks=True, ignore=lambda _, names: _rebuilt(names))
        self.states[digest] = State(copy, [point], seen, seen)

    def _digest(self) -> str:
        whole = hashlib.blake2b()
        for folder, folders, names in os.walk(self.folder):
            folders.sort()
            whole.update(f"\0{folder}\0{folders}".encode())
            for name in sorted(set(names) - _rebuilt(names)):
                whole.update(f"\0{name}\0".encode() + self._content(f"{folder}{os.sep}{name}"))
        return whole.hexdigest()

    def _content(self, path: str) -> bytes:
        stat = os.lstat(path)
        key = (path, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        known = None if path.endswith(_OFTEN_WRITTEN) else self._digests.get(key)
        if known is None:
            known = self._digests[key] = hashlib.blake2b(Path(path).read_bytes()).digest()
        return known


def _rebuilt(names: list[str]) -> set[str]:
    return {name for name in names if name.endswith(_REBUILT)}
