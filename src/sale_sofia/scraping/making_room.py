"""Lanes make room: for their worker's end, for a time limit, and for messages that find no free slot."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sale_sofia.config.parallel import LANE_ROOM_LOOK_SECONDS, LANE_TURN_SECONDS
from sale_sofia.scraping.worker_state import may_make_room, messages_wait

log = logging.getLogger(__name__)
SOFT_LIMIT = signal.SIGUSR1
"""What Celery sends to a process whose task has reached its soft time limit."""


async def leave_when_others_wait(leave: Callable[[], None]) -> None:
    """Call `leave` when messages wait for a slot and it is on us to give up ours; until then it waits.

    With fewer processes than portals all take turns, and dispatch and reconciler wait for a turn at most.
    """
    await asyncio.sleep(LANE_TURN_SECONDS)
    waited = False
    while not (waited and await asyncio.to_thread(may_make_room)):
        await asyncio.sleep(LANE_ROOM_LOOK_SECONDS)
        waited = await _waits_for_long()
    leave()


async def _waits_for_long() -> bool:
    """Whether messages wait now and at the next look: one alone may just be passing."""
    if not await asyncio.to_thread(messages_wait):
        return False
    await asyncio.sleep(LANE_ROOM_LOOK_SECONDS)
    return await asyncio.to_thread(messages_wait)


@contextmanager
def soft_limit_calls(stop: Callable[[], None]) -> Iterator[None]:
    """Inside, the soft time limit calls `stop`.

    Celery would raise an exception in whatever runs at that moment: in a callback of the event loop nobody
    would hear it, and in the middle of a commit the wrong one would. In a thread there are no limits.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = signal.signal(SOFT_LIMIT, lambda *_: loop.call_soon_threadsafe(_at_limit, stop))
    try:
        yield
    finally:
        signal.signal(SOFT_LIMIT, before)


def _at_limit(stop: Callable[[], None]) -> None:
    log.warning("a lane met its time limit and hands back what it holds")
    stop()
