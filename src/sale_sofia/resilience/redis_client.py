"""The connection to a shared Redis: impatient, and never asking twice, as a lost reply had its effect."""

import asyncio
import builtins
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,  # noqa: A004 - the library's name for it
)
from redis.maint_notifications import MaintNotificationsConfig

from sale_sofia.config.resilience import (
    REDIS_CONNECT_TIMEOUT_SECONDS,
    REDIS_TIMEOUT_SECONDS,
)
from sale_sofia.resilience.errors import ServiceRedis

_BY_OUR_SCRIPTS: Final = " belongs;"
_CHECK_KEY: Final = "sale_sofia:can_write"
_REASONS: Final[dict[type[Exception], str]] = {
    AuthenticationError: "wants a user name and password, or other ones; put them into REDIS_URL",
    ReadOnlyError: "is a read-only copy; name the server that takes writes",
    OutOfMemoryError: "is full (maxmemory); give it more, or make room",
}


class ForeignKey(ServiceRedis, ResponseError):
    """A key of our name holds what is not ours. Nothing is deleted: whose it is only a person can say."""


@asynccontextmanager
async def in_time() -> AsyncIterator[None]:
    """What is asked inside is answered in time.

    Raises:
        redis.exceptions.TimeoutError: it is not.
    """
    try:
        async with asyncio.timeout(REDIS_TIMEOUT_SECONDS):
            yield
    except builtins.TimeoutError:
        raise TimeoutError(f"no answer within {REDIS_TIMEOUT_SECONDS:g} s") from None


class ImpatientRedis(Redis):
    """A client whose every command is answered in time, or has failed.

    The library's own timeout for sending swallows a cancellation now and then on Python 3.11 (`wait_for`):
    a request that was called off would go on.
    """

    async def execute_command(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the library has it
        """As the library, but in time."""
        async with in_time():
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]


def connect(url: str) -> Redis:
    """A client for the event loop it is first used in; it connects with the first command."""
    return ImpatientRedis.from_url(
        url,
        decode_responses=True,
        socket_timeout=None,
        socket_connect_timeout=REDIS_CONNECT_TIMEOUT_SECONDS,
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
        retry=Retry(NoBackoff(), 0),
    )


def plainer(error: ResponseError, key: str) -> ResponseError:
    """The error in a sentence that says which key is wrong and what can be done, where that is the matter."""
    told = str(error)
    if "WRONGTYPE" not in told:
        return error
    ours = _BY_OUR_SCRIPTS in told
    what = told.removeprefix("WRONGTYPE ").partition(";")[0] if ours else f"{key} holds another kind of value"
    return ForeignKey(f"Redis: {what}; delete the key, or name another database in REDIS_URL.")


@contextmanager
def naming(key: str) -> Iterator[None]:
    """Inside, an error that is the fault of what the key holds says so."""
    try:
        yield
    except ResponseError as error:
        raise plainer(error, key) from error


async def check_usable(url: str) -> None:
    """Make sure, before anything starts, that the server takes what we will write.

    Raises:
        ServiceRedis: it does not; the sentence says why, and holds no password.
    """
    async with connect(url) as redis:
        try:
            await redis.set(_CHECK_KEY, 1, px=1)
        except (RedisError, OSError) as error:
            asked = redis.connection_pool.connection_kwargs
            place = asked.get("path") or f"{asked.get('host', 'localhost')}:{asked.get('port', 6379)}"
            raise ServiceRedis(f"Redis at {place} {_reason(error)}.") from None


def _reason(error: Exception) -> str:
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason
    return f"cannot be used ({type(error).__name__})"
