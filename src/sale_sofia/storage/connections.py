"""Connections that no forked child inherits, the database's own thread, and patience with its server."""

import asyncio
import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from weakref import WeakSet

import pydantic_core
from sqlalchemy import Engine, Pool

from sale_sofia.storage.errors import DatabaseUnreachable
from sale_sofia.storage.settings import FIRST_OUTAGE_PAUSE_SECONDS, LONGEST_OUTAGE_PAUSE_SECONDS

_engines: WeakSet[Engine] = WeakSet()
# Even closing an inherited SQLite connection is unsafe: the child keeps it, unused, until it ends.
_inherited: list[Pool] = []


def guard_forks(engine: Engine) -> None:
    """From now on every forked child starts with an empty pool of its own."""
    _engines.add(engine)


def _start_empty() -> None:
    for engine in list(_engines):
        _inherited.append(engine.pool)
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_start_empty)


# A thread for work that an event loop must not wait for.

T = TypeVar("T")


class OwnThread:
    """Does one piece of work after the other, in the order they came; started when first needed.

    One thread, not a pool: SQLite has one writer anyway, and each thread more keeps a connection, its page
    cache and a heap of its own. A forked child starts its own thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._owner = 0
        self._executor: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` gives; a caller that is cancelled does not stop what has begun."""
        return await asyncio.get_running_loop().run_in_executor(self._started(), work)

    def close(self) -> None:
        """Wait for what has begun and end the thread; the next work starts another."""
        executor, self._executor = self._executor, None
        if executor is not None and self._owner == os.getpid():
            executor.shutdown()

    def _started(self) -> ThreadPoolExecutor:
        if self._executor is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self._name)
        return self._executor


# A database server that went away: how long its users wait for it to come back.

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


# As columns keep it. An advert has seven lists, most of them empty, which need no spelling.


class Spelled(str):
    """JSON already: what `to_json` gave, kept by somebody who asks later whether it is still the same."""

    __slots__ = ()


def to_json(value: object) -> str:
    """What a column keeps: letters as they are, for those of a Cyrillic text take three times as many bytes.

    A text that no database can keep so, having half a letter in it, is spelled in ASCII.
    """
    if value == []:
        return "[]"
    if isinstance(value, Spelled):
        return value
    try:
        return pydantic_core.to_json(value).decode()
    except pydantic_core.PydanticSerializationError:
        return json.dumps(value)


def from_json(text: str) -> Any:  # noqa: ANN401 - whatever was kept
    """What `to_json` kept."""
    return [] if text == "[]" else json.loads(text)
