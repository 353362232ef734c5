"""Whether the shared gate can be had; told once when that changes, and not for every request."""

import logging
import math
from collections.abc import Callable
from typing import Final

from sale_sofia.config.resilience import SHARED_SETTLE_SECONDS

_log: Final = logging.getLogger(__name__)


class Outage:
    """Knows when to try again: while the shared gate is gone, one request at a time finds out."""

    def __init__(self, clock: Callable[[], float], retry_seconds: float) -> None:
        self._clock = clock
        self._retry_seconds = retry_seconds
        self._since: float | None = None
        self._next_try = 0.0
        self._settled_at = -math.inf

    @property
    def lasts(self) -> bool:
        """Whether the shared gate is known to be gone."""
        return self._since is not None

    @property
    def settling(self) -> bool:
        """Whether others may not have found the shared gate again, which does not know what they send."""
        return self._clock() < self._settled_at

    def worth_a_try(self) -> bool:
        """Whether this request should ask the shared gate; if it is gone, no other will for a while."""
        if self._since is None:
            return True
        due = self._clock() >= self._next_try
        if due:
            self._next_try = self._clock() + self._retry_seconds
        return due

    def begin(self, error: Exception) -> bool:
        """The shared gate did not answer; whether that is news."""
        if self._since is not None:
            return False
        self._since = self._clock()
        self._next_try = self._since + self._retry_seconds
        told = {"change": "shared_gate_lost", "error": f"{type(error).__name__}: {error}"}
        _log.warning(
            "Redis is gone (%s); this process keeps to its share of each rate", told["error"], extra=told
        )
        return True

    def end(self, asked_at: float) -> None:
        """It answered what was asked then; an answer to a question from before the loss proves nothing."""
        if self._since is None or asked_at < self._since:
            return
        seconds, self._since = self._clock() - self._since, None
        self._settled_at = self._clock() + SHARED_SETTLE_SECONDS
        told = {"change": "shared_gate_back", "seconds": round(seconds, 3)}
        _log.warning("Redis is back after %.1f s; rates are shared again", seconds, extra=told)
