"""Hearing of jobs that end. Who hears nothing looks at the database: an announcement may be lost."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from redis import RedisError
from redis.client import PubSub

from sale_sofia.crawl.runners.progress import Progress
from sale_sofia.crawl.settings import EVENTS_CHANNEL
from sale_sofia.operations.services.redis import connect
from sale_sofia.operations.settings import SUPERVISE_SECONDS


class JobEvents:
    """The announcements from now on; without Redis only time passes, and it is asked again."""

    def __init__(self, url_of: Callable[[], str]) -> None:
        self._url_of = url_of
        self._heard: PubSub | None = None

    def wait(self, seconds: float) -> None:
        """Until a job's end is announced, at most so long."""
        end = time.monotonic() + seconds
        try:
            if self._heard is None:
                self._heard = connect(self._url_of()).pubsub(  # type: ignore[no-untyped-call]
                    ignore_subscribe_messages=True
                )
                self._heard.subscribe(EVENTS_CHANNEL)
            while (left := end - time.monotonic()) > 0:
                if self._heard.get_message(timeout=left):
                    return
        except (RedisError, OSError):
            self.close()
            time.sleep(max(0.0, end - time.monotonic()))

    def close(self) -> None:
        """Listen no more."""
        if self._heard is not None:
            with suppress(RedisError, OSError):
                self._heard.close()
                self._heard.connection_pool.disconnect()
            self._heard = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# Waiting for jobs: an announced end is heard at once, one that was not announced is seen a moment later.

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
