"""Celery's own clock, which also says that it still strikes."""

import logging
from typing import Any

from celery.beat import PersistentScheduler

from sale_sofia.services.child_record import tell_alive

log = logging.getLogger(__name__)


class BeatClock(PersistentScheduler):
    """Remembers in a file when it struck last, and says that it lives each time it looks at its schedule.

    Guarantee: when the system's clock is set back, by however much, all goes on at its pace.
    """

    def tick(self, *arguments: Any, **named: Any) -> float:  # noqa: ANN401 - whatever Celery passes
        """Do what is due; the seconds until something is due again."""
        tell_alive()
        self._forget_the_future()
        seconds: float = super().tick(*arguments, **named)
        return seconds

    def _forget_the_future(self) -> None:
        """What was last done at a moment still to come was done now: else it would not be due until then."""
        ahead = [entry for entry in self.schedule.values() if entry.last_run_at > entry.default_now()]
        if not ahead:
            return
        log.warning("the clock was set back: the schedule goes on from now")
        for entry in ahead:
            entry.last_run_at = entry.default_now()
        self._heap = None  # the order of what comes next was that of the old time
