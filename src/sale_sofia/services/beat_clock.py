"""Celery's own clock, which also says that it still strikes."""

from typing import Any

from celery.beat import PersistentScheduler

from sale_sofia.services.child_record import tell_alive


class BeatClock(PersistentScheduler):
    """Remembers in a file when it struck last, and says that it lives each time it looks at its schedule."""

    def tick(self, *arguments: Any, **named: Any) -> float:  # noqa: ANN401 - whatever Celery passes
        """Do what is due; the seconds until something is due again."""
        tell_alive()
        seconds: float = super().tick(*arguments, **named)
        return seconds
