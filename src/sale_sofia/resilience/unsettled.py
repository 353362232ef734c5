"""Requests whose end was lost on the way to the shared gate."""

import time
from collections.abc import Callable

from sale_sofia.resilience.bulkhead import Place


class Unsettled:
    """Requests of which nobody knows whether they hold a place, for as long as one could.

    They are told again and again: a server that slept may do today's work before yesterday's.
    """

    def __init__(self, lease_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._since: dict[Place, float] = {}

    def add(self, place: Place) -> None:
        """What became of this one is not known."""
        self._since[place] = self._clock()

    def tokens(self, domain: str) -> list[str]:
        """Those of the domain that may still hold a place."""
        if self._since:
            oldest = self._clock() - self._lease_seconds
            self._since = {place: since for place, since in self._since.items() if since > oldest}
        return [place.token for place in self._since if place.domain == domain]
