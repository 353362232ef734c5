"""Waiting for jobs: an announced end is heard at once, one that was not announced is seen a moment later."""

import time
from collections.abc import Callable, Mapping, Sequence

from sale_sofia.config.services import SUPERVISE_SECONDS
from sale_sofia.scraping.events import JobEvents
from sale_sofia.scraping.progress import Progress

Look = Callable[[Sequence[Progress]], None]


class JobsStillOpen(TimeoutError):
    """Jobs had not ended when the time was up; they go on."""


def wait_for_jobs(
    read: Callable[[], Mapping[str, Progress]],
    events: JobEvents,
    seconds: float,
    look: Look,
    between: Callable[[], None],
) -> Mapping[str, Progress]:
    """What `read` gives when all its jobs have ended; `look` is shown it each time, `between` keeps house.

    Raises:
        JobsStillOpen: the time was up; it names the jobs.
    """
    end = time.monotonic() + seconds
    while True:
        found = read()
        look(list(found.values()))
        if all(one.finished for one in found.values()):
            return found
        if time.monotonic() >= end:
            raise _still_open(found, seconds)
        between()
        events.wait(min(SUPERVISE_SECONDS, max(0.0, end - time.monotonic())))


def _still_open(found: Mapping[str, Progress], seconds: float) -> JobsStillOpen:
    left = [f"{one.job_id} ({one.status})" for one in found.values() if not one.finished]
    return JobsStillOpen(f"Not ended after {seconds:g} s: {', '.join(left)}.")
