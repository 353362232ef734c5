"""A quick second try within one visit; everything longer waits in the frontier."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import TypeVar

from stamina import AsyncRetryingCaller
from stamina.instrumentation import set_on_retry_hooks

from sale_sofia.config.resilience import QUICK_TRIES, QUICK_TRY_DELAY_SECONDS
from sale_sofia.resilience.actions import Action
from sale_sofia.resilience.errors import CrawlError

T = TypeVar("T")


async def with_quick_try(work: Callable[[], Awaitable[T]], seconds_left: float) -> T:
    """`work`, once more where its error says so and time is left; raises the last error."""
    try:
        return await work()  # what goes well at once, as nearly all does, costs nothing more
    except CrawlError as error:
        if not _deserves_one(error):
            raise
        first = error
    return await _again(first, work, seconds_left)


async def _again(error: CrawlError, work: Callable[[], Awaitable[T]], seconds_left: float) -> T:
    """The further tries, by the library: to it, the error is the first one's."""
    _be_quiet()
    failed: list[CrawlError] = [error]

    async def tried() -> T:
        if failed:
            raise failed.pop()
        return await work()

    caller = AsyncRetryingCaller(
        attempts=QUICK_TRIES,
        timeout=seconds_left,
        wait_initial=QUICK_TRY_DELAY_SECONDS,
        wait_max=QUICK_TRY_DELAY_SECONDS,
        wait_jitter=0,
    )
    return await caller(_deserves_one, tried)


def _deserves_one(error: Exception) -> bool:
    return isinstance(error, CrawlError) and error.action is Action.RETRY_NOW


@cache
def _be_quiet() -> None:
    """The library would print a warning for every second try; ours stand in the error log."""
    set_on_retry_hooks(())
