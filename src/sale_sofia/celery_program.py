"""Celery's command, `python -P -m sale_sofia.celery_program -A sale_sofia.celery_app …`.

Celery would look for the app, and what that imports, in the folder it is started in; here both are loaded
before it looks.
"""

from datetime import timedelta
from typing import Any, Final

from celery.__main__ import main
from celery.beat import PersistentScheduler

import sale_sofia.celery_app  # noqa: F401 - see above
from sale_sofia.operations.services.processes import tell_alive
from sale_sofia.operations.settings import CLOCK_FAULT_SECONDS
from sale_sofia.settings.programs import end_at_once

_FAULT: Final = timedelta(seconds=CLOCK_FAULT_SECONDS)


class BeatClock(PersistentScheduler):
    """Remembers in a file when it struck last, and says that it lives each time it looks at its schedule."""

    def tick(self, *arguments: Any, **named: Any) -> float:  # noqa: ANN401 - whatever Celery passes
        """Do what is due; the seconds until something is due again."""
        tell_alive()
        self._go_back_with_the_clock()
        seconds: float = super().tick(*arguments, **named)
        return seconds

    def _go_back_with_the_clock(self) -> None:
        """What struck last at a moment that is still to come would not strike before it."""
        for entry in self.schedule.values():
            now = entry.default_now()
            if (entry.last_run_at or now) > now + _FAULT:
                entry.last_run_at, self._heap = now, None


if __name__ == "__main__":
    end_at_once()
    main()
