"""A worker tells its lanes that it is going: they make room at once, not only at the end of their shift."""

import asyncio
import mmap
from typing import Final

from sale_sofia.config.parallel import SHUTDOWN_LOOK_SECONDS

# One byte of memory that a process shares with the children it forks.
_going: Final = mmap.mmap(-1, 1)


def shut_down() -> None:
    """Tell this process and all that were forked from it."""
    _going[0] = 1


def is_shutting_down() -> bool:
    """Whether this process, or the one it was forked from, is going."""
    return bool(_going[0])


async def stop_at_shutdown(stop: asyncio.Event) -> None:
    """Set `stop` when the worker is going; until then it waits."""
    while not is_shutting_down():  # noqa: ASYNC110 - it is another process that says so
        await asyncio.sleep(SHUTDOWN_LOOK_SECONDS)
    stop.set()
