"""Celery's command, `python -P -m sale_sofia.celery_program -A sale_sofia.celery_app …`.

Celery would look for the app and its imports in the working directory; here both are loaded before that.
"""

from datetime import timedelta
from typing import Any, Final

from celery.__main__ import main
from celery.beat import PersistentScheduler

import sale_sofia.celery_app  # noqa: F401 - see above
from sale_sofia.history.settings import CLOCK_FAULT_SECONDS
from sale_sofia.operations.services.processes import tell_alive
from sale_sofia.settings.programs import end_at_once

_FAULT: Final = timedelta(seconds=CLOCK_FAULT_SECONDS)


class BeatClock(PersistentScheduler):
    """Records its last runs in a file, and gives a sign of life at every tick."""

    def tick(self, *arguments: Any, **options: Any) -> float:  # noqa: ANN401 - whatever Celery passes
        """Send what is due; the seconds until the next entry is due."""
        tell_alive()
        self._reset_future_runs()
        seconds: float = super().tick(*arguments, **options)
        return seconds

    def _reset_future_runs(self) -> None:
        """Reset last runs in the future, after a clock was set back: nothing would be due before them."""
        for entry in self.schedule.values():
            now = entry.default_now()
            if (entry.last_run_at or now) > now + _FAULT:
                entry.last_run_at, self._heap = now, None


if __name__ == "__main__":
    end_at_once()
    main()
