"""SIGINT, SIGTERM and SIGHUP: the first asks for an orderly end, the second for an end at once."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Final, Self

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Step = tuple[signal.Signals, float]
"""A signal, and how many seconds of patience follow it."""


class Interrupted(Exception):
    """Somebody asked for an end while something was waited for."""


class StopSignals:
    """Inside, signals are only counted; outside the main thread, where none arrive, nothing is changed."""

    def __init__(self) -> None:
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}

    @property
    def asked(self) -> bool:
        """Whether an end was asked for."""
        return self._count > 0

    @property
    def forced(self) -> bool:
        """Whether it was asked for again."""
        return self._count > 1

    def check(self) -> None:
        """Raise Interrupted when an end was asked for."""
        if self.asked:
            raise Interrupted

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {
                number: signal.signal(number, self._note) for number in _SIGNALS if _wanted(number)
            }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1


def _wanted(number: signal.Signals) -> bool:
    """Whoever was started with `nohup` is to outlive its terminal."""
    return number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
