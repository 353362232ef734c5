"""A database server that went away: how long its users wait for it to come back."""

import logging
import random
import threading
import time

from sale_sofia.config.postgres import FIRST_OUTAGE_PAUSE_SECONDS, LONGEST_OUTAGE_PAUSE_SECONDS
from sale_sofia.data.errors import DatabaseUnreachable

log = logging.getLogger(__name__)


class Outage:
    """What a process knows of one server: whether it ever answered, and since when it does not.

    One that never answered is a wrong address: nobody waits for it. The patience is for the outage, not for
    each of the many who meet it.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._answered = False
        self._since: float | None = None
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """From now on nobody waits."""
        self._given_up.set()

    def over(self) -> None:
        """The server did what was asked."""
        if self._since is not None:
            log.warning("The database answers again.")
        self._answered, self._since = True, None

    def endure(self, error: DatabaseUnreachable, tries: int) -> None:
        """Wait a moment before the next try.

        Raises:
            DatabaseUnreachable: the patience is at its end.
        """
        if not self._answered or self._given_up.is_set():
            raise error
        if self._since is None:
            self._since = time.monotonic()
            log.warning("%s Trying again for up to %g seconds.", error, self._seconds)
        if time.monotonic() - self._since >= self._seconds:
            raise error
        longest = min(LONGEST_OUTAGE_PAUSE_SECONDS, FIRST_OUTAGE_PAUSE_SECONDS * 2**tries)
        self._given_up.wait(random.uniform(longest / 2, longest))  # noqa: S311 - a pause
