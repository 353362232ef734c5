"""An announced end is heard at once; without Redis only time passes; a time-out is kept and names jobs."""

import threading
import time
from contextlib import closing

import pytest
import redis

from sale_sofia.crawl.runners.progress import JobEvents, JobsStillOpen, Progress, wait_for_jobs
from sale_sofia.crawl.settings import EVENTS_CHANNEL


def progress(job_id: str, ended: float | None) -> Progress:
    counts = (9, 1, 0, 1, 0, 1.0, ended, 0, 0, 1, None, None)
    return Progress(job_id, "imot.bg", "COMPLETE" if ended else "PROCESSING", *counts)


def test_an_announcement_ends_the_wait(redis_url: str) -> None:
    with closing(JobEvents(lambda: redis_url)) as events, redis.Redis.from_url(redis_url) as client:
        events.wait(0.05)
        announce = threading.Timer(0.2, client.publish, (EVENTS_CHANNEL, "job"))
        announce.start()
        began = time.monotonic()
        events.wait(60)
        assert 0.1 < time.monotonic() - began < 30
        announce.join()


def test_without_redis_only_time_passes() -> None:
    with closing(JobEvents(lambda: "redis://127.0.0.1:9/0")) as events:
        began = time.monotonic()
        events.wait(0.3)
        events.wait(0.3)
        assert time.monotonic() - began >= 0.6


def test_the_time_is_kept_and_the_open_jobs_are_named() -> None:
    found = {"a": progress("a", 5.0), "b": progress("b", None)}
    shown: list[int] = []
    with closing(JobEvents(lambda: "redis://127.0.0.1:9/0")) as events:
        began = time.monotonic()
        with pytest.raises(JobsStillOpen, match=r"^Not ended after 0\.5 s: b \(PROCESSING\)\.$"):
            wait_for_jobs(lambda: found, events, 0.5, lambda all_: shown.append(len(all_)), lambda: None)
        assert time.monotonic() - began >= 0.5
        assert shown == [2, 2]
        found["b"] = progress("b", 6.0)
        assert wait_for_jobs(lambda: found, events, 0.5, lambda _: None, pytest.fail) == found
