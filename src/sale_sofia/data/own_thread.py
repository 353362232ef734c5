"""A thread for work that an event loop must not wait for."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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
