"""How often a service may die before somebody must look."""

import time
from collections import defaultdict, deque
from collections.abc import Callable

from sale_sofia.config.services import MOST_RESTARTS, RESTARTS_WITHIN_SECONDS
from sale_sofia.services.errors import ServiceFailed


class ServiceDied(ServiceFailed):
    """A service that keeps dying is not started again."""


class Restarts:
    """Counts each service's deaths of the last minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deaths: defaultdict[str, deque[float]] = defaultdict(deque)

    def note(self, name: str, last_words: str = "", most: int = MOST_RESTARTS) -> None:
        """One more death.

        Raises:
            ServiceDied: too many; the sentence ends with what it said last.
        """
        now, deaths = self._clock(), self._deaths[name]
        deaths.append(now)
        while deaths[0] < now - RESTARTS_WITHIN_SECONDS:
            deaths.popleft()
        if len(deaths) > most:
            minutes = RESTARTS_WITHIN_SECONDS / 60
            raise ServiceDied(f"{name} died {len(deaths)} times in {minutes:g} minutes{last_words}.")
