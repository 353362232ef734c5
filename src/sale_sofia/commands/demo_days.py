"""The days of the demo: each is crawled as if it were that day, so that there is a history to look at."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

from sqlalchemy import Connection, select

from sale_sofia.config.dashboard_server import DEMO_DAYS_MISSED
from sale_sofia.data.crawl_schema import jobs
from sale_sofia.data.database import Database
from sale_sofia.data.job_model import JobState

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class DemoDays:
    """Counts days from the one on which the demo's world began: 0, 1, 2 … until today."""

    began: float
    """The moment of day 0, in the past."""
    today: int

    @classmethod
    def remembered(cls, file: Path, days: int, now: float) -> Self:
        """Those of the demo that is there already; a new one began so many days ago."""
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text(json.dumps(now - days * DAY_SECONDS), "ascii")
        began = float(json.loads(file.read_text("ascii")))
        return cls(began, int((now - began) // DAY_SECONDS))

    def moment(self, day: int) -> float:
        """The same time of that day as it was when the demo began."""
        return self.began + day * DAY_SECONDS

    def to_crawl(self, database: Database, sites: list[str]) -> range:
        """The days that no crawl has seen yet; today always, also when it was seen."""
        done = database.run_read(partial(self._done, sites=sites))
        return range(max(done + 1, self.today - DEMO_DAYS_MISSED, 0), self.today + 1)

    def _done(self, connection: Connection, sites: list[str]) -> int:
        """The last day before today on which all portals were read to their end; -1 for none."""
        found = select(jobs.c.site, jobs.c.created_at).where(jobs.c.state == JobState.COMPLETE.value)
        seen = {(row.site, self._day(row.created_at)) for row in connection.execute(found)}
        whole = [day for day in range(self.today) if all((site, day) in seen for site in sites)]
        return max(whole, default=-1)

    def _day(self, at: float) -> int:
        return int((at - self.began) // DAY_SECONDS)


class _ShownTime:
    """A clock that can be set. Whoever keeps hold of it while it is set has the right time afterwards too."""

    def __init__(self) -> None:
        self.real = time.time
        self.ahead = 0.0

    def __call__(self) -> float:
        return self.real() + self.ahead


_shown: Final = _ShownTime()


@contextmanager
def as_if_it_were(moment: float) -> Iterator[None]:
    """Inside, the clock of this process shows another time; it goes on from there."""
    real, time.time = time.time, _shown
    _shown.ahead = moment - _shown.real()
    try:
        yield
    finally:
        time.time = real
        _shown.ahead = 0.0
