"""The Redis that a run's gates share, where the settings ask for one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sale_sofia.config.settings import Settings
from sale_sofia.resilience.factory import needs_redis
from sale_sofia.resilience.redis_client import check_usable
from sale_sofia.services.running_redis import running_redis


@asynccontextmanager
async def shared_redis(settings: Settings) -> AsyncIterator[str | None]:
    """Its URL for as long as it is needed; None where everything is kept in memory.

    A server that is wrong at the start is an error; one that fails later is done without.

    Raises:
        ServiceError: there is none, or it cannot be used.
        ServiceRedis: it takes no writes.
    """
    if not needs_redis(settings):
        yield None
        return
    with running_redis(settings) as url:
        await check_usable(url)
        yield url
