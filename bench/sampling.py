"""A profile by sampling: at every look each thread's CPU time since the last one goes to what it is doing.

Nothing is done per call, so that functions of a microsecond are not made dearer than they are, as `cProfile`
would do; and the threads of the database and of the archive count like the event loop's.
"""

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Self

LOOK_SECONDS = 0.001
SWITCH_SECONDS = 0.0005
"""How long a thread may keep the interpreter while the sampler waits for it."""
Name = Callable[[FrameType], str | None]


class Sampler:
    """Inside, CPU seconds of all other threads are added up by the innermost named frame of the stack."""

    def __init__(self, name: Name) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.looks = 0
        self._name = name
        self._used: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._interval = sys.getswitchinterval()

    def __enter__(self) -> Self:
        sys.setswitchinterval(SWITCH_SECONDS)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        sys.setswitchinterval(self._interval)

    @property
    def total(self) -> float:
        """All CPU seconds."""
        return sum(self.seconds.values())

    def share(self, *names: str) -> float:
        """Of all CPU time, what was spent under these names."""
        return sum(self.seconds[name] for name in names) / self.total if self.total else 0.0

    def _run(self) -> None:
        own = threading.get_ident()
        while not self._stop.wait(LOOK_SECONDS):
            self.looks += 1
            for thread, frame in sys._current_frames().items():  # noqa: SLF001 - there is no other way
                if thread != own:
                    self._add(thread, frame)

    def _add(self, thread: int, frame: FrameType) -> None:
        try:
            used = time.clock_gettime(time.pthread_getcpuclockid(thread))
        except OSError:  # it ended since
            return
        if thread in self._used:
            found = next(filter(None, map(self._name, _outwards(frame))), "other")
            self.seconds[found] += used - self._used[thread]
        self._used[thread] = used


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
