"""A crawl like `our_engine.py`'s that knows which part of it the CPU time went to; for `engine.py --budget`.

Nothing is sampled: where a part begins and ends, its thread's own clock is read, and what an inner part takes
is not the outer one's. What no part took of the process's CPU time is "else": the event loop, the collector
of garbage, reports. The bare parse is that of pages of the same crawl, asked for again when it has ended.
"""

import json
import resource
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from curl_cffi import AsyncCurl
from selectolax.lexbor import LexborHTMLParser

import crawler
import measure
import our_engine
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.visit.apart import JudgeApart
from sale_sofia.crawl.visit.visit import Visitor
from sale_sofia.crawl.visit.writer import GroupWriter
from sale_sofia.installation import open_database
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database

PARSE, FETCH, VISIT, STORE, ELSE = "parse and normalise", "fetch", "gate and visit", "store", "else"
CHARSET = "cp1251"
BARE_PAGES, BARE_ROUNDS = 60, 5
WRAPPED: Final = {
    FETCH: ((CurlFetcher, "fetch"), (AsyncCurl, "process_data")),
    PARSE: ((JudgeApart, "outcome"),),
    VISIT: ((Visitor, "visit"),),
    STORE: ((GroupWriter, "write"), (Database, "run_write"), (Database, "run_read")),
}
"""What is timed: methods, and coroutines step by step."""


class Clock(threading.local):
    """The parts that this thread is in, and since when the innermost is the one that computes."""

    def __init__(self) -> None:
        self.inside = [ELSE]
        self.since = time.thread_time()


class Parts:
    """CPU seconds by part, of all threads."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._clock = Clock()

    @contextmanager
    def inside(self, part: str) -> Iterator[None]:
        """What this thread computes in here is this part's, but for parts within it."""
        self._turn()
        self._clock.inside.append(part)
        try:
            yield
        finally:
            self._turn()
            self._clock.inside.pop()

    def _turn(self) -> None:
        now = time.thread_time()
        self.seconds[self._clock.inside[-1]] += now - self._clock.since
        self._clock.since = now

    def wrap(self, kind: type, name: str, part: str) -> None:
        """Time a method from now on; one that gives a coroutine is timed in each of its steps."""
        method: Callable[..., Any] = getattr(kind, name)

        @wraps(method)
        def timed(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the method takes and gives
            with self.inside(part):
                result = method(*args, **kwargs)
            return self._steps(result, part) if hasattr(result, "send") else result

        setattr(kind, name, timed)

    async def _steps(self, coroutine: Generator[Any, Any, Any], part: str) -> Any:  # noqa: ANN401
        return await _Steps(self, coroutine, part)


class _Steps(Awaitable[Any]):
    def __init__(self, parts: Parts, coroutine: Generator[Any, Any, Any], part: str) -> None:
        self._parts, self._coroutine, self._part = parts, coroutine, part

    def __await__(self) -> Generator[Any, Any, Any]:
        go_on = partial(self._coroutine.send, None)
        while True:
            try:
                with self._parts.inside(self._part):
                    waits_for = go_on()
            except StopIteration as end:
                return end.value
            try:
                go_on = partial(self._coroutine.send, (yield waits_for))
            except BaseException as error:  # noqa: BLE001 - the coroutine's to deal with
                go_on = partial(self._coroutine.throw, error)


def bare_seconds(folder: Path) -> float:
    """The least CPU time of the bare selectolax parse of a page."""
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        urls = [url for (url,) in connection.execute("SELECT url FROM listings LIMIT ?", (BARE_PAGES,))]
    pages = [urlopen(url).read() for url in urls]  # noqa: S310 - the simulated portal

    def parse() -> None:
        for page in pages:
            LexborHTMLParser(page.decode(CHARSET))

    return measure.best_cpu_seconds({"bare": parse}, {"bare": BARE_ROUNDS})["bare"] / len(pages)


def cpu_seconds() -> tuple[float, float]:
    """Of this process, and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return used[0].ru_utime + used[0].ru_stime, used[1].ru_utime + used[1].ru_stime


def main() -> None:
    """Crawl, and print the CPU seconds of each part, those of a bare parse, and the peak memory."""
    options = crawler.arguments()
    settings = our_engine.settings_for(options)
    database = open_database(settings)
    initialize_database(database)
    parts = Parts()
    for part, methods in WRAPPED.items():
        for kind, name in methods:
            parts.wrap(kind, name, part)
    own, children = cpu_seconds()
    our_engine.crawl(options, settings, database)
    own, children = (now - then for now, then in zip(cpu_seconds(), (own, children), strict=True))
    peak = crawler.peak_megabytes()
    named = {part: parts.seconds[part] for part in WRAPPED}
    named[ELSE] = own - sum(named.values())
    named[PARSE] += children  # pages are read in a process of their own
    print(json.dumps({"parts": named, "bare": bare_seconds(options.folder), "peak_mb": peak}))


if __name__ == "__main__":
    main()
