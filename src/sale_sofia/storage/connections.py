"""Fork-safe connections, the database's own thread, waiting for its server, and JSON columns."""

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
# Even closing an inherited SQLite connection is unsafe: the child keeps it unused until it ends.
_inherited: list[Pool] = []


def guard_forks(engine: Engine) -> None:
    """Make every later forked child start with an empty pool of its own."""
    _engines.add(engine)


def _start_empty() -> None:
    for engine in list(_engines):
        _inherited.append(engine.pool)
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_start_empty)


# A thread for blocking work.

T = TypeVar("T")


class OwnThread:
    """Runs work in one thread, in order; the thread starts when first needed.

    One thread, not a pool: SQLite has one writer anyway, and each further thread costs a connection, its page
    cache and a heap of its own. A forked child starts its own thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._owner = 0
        self._executor: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread; cancelling the caller does not stop work that has begun."""
        return await asyncio.get_running_loop().run_in_executor(self._started(), work)

    def close(self) -> None:
        """Wait for running work and end the thread; the next work starts another."""
        executor, self._executor = self._executor, None
        if executor is not None and self._owner == os.getpid():
            executor.shutdown()

    def _started(self) -> ThreadPoolExecutor:
        if self._executor is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self._name)
        return self._executor


# Waiting for a database server that went away.

log = logging.getLogger(__name__)


class ServerOutage:
    """Tracks whether a server ever answered, and since when it does not.

    A server that never answered is a wrong address and is not waited for. The time limit is for the whole
    outage, not for each caller.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._answered = False
        self._since: float | None = None
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """Stop waiting, now and later."""
        self._given_up.set()

    def over(self) -> None:
        """Note that the server answered."""
        if self._since is not None:
            log.warning("The database answers again.")
        self._answered, self._since = True, None

    def endure(self, error: DatabaseUnreachable, tries: int) -> None:
        """Wait a moment before the next try.

        Raises:
            DatabaseUnreachable: the outage has lasted too long.
        """
        if not self._answered or self._given_up.is_set():
            raise error
        if self._since is None:
            self._since = time.monotonic()
            log.warning("%s Trying again for up to %g seconds.", error, self._seconds)
        if time.monotonic() - self._since >= self._seconds:
            raise error
        # The power is compared, never multiplied: of a long outage it is no float any more.
        most = LONGEST_OUTAGE_PAUSE_SECONDS / FIRST_OUTAGE_PAUSE_SECONDS
        longest = FIRST_OUTAGE_PAUSE_SECONDS * min(most, 2**tries)
        self._given_up.wait(random.uniform(longest / 2, longest))  # noqa: S311 - a pause


# JSON columns. An advert has seven lists, most of them empty: those are the fast path.


class Spelled(str):
    """A text that is JSON already: a result of `to_json`, kept to compare it later."""

    __slots__ = ()


def to_json(value: object) -> str:
    """JSON for a column, unescaped, as escaped Cyrillic letters take three times as many bytes.

    A text with a lone surrogate, which no database can store so, is escaped to ASCII.
    """
    if value == []:
        return "[]"
    if isinstance(value, Spelled):
        return value
    try:
        return pydantic_core.to_json(value).decode()
    except pydantic_core.PydanticSerializationError:
        return json.dumps(value)


def from_json(text: str) -> Any:  # noqa: ANN401 - whatever was stored
    """The inverse of `to_json`."""
    return [] if text == "[]" else json.loads(text)
