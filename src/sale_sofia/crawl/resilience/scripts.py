"""The Lua scripts: joined from their pieces, run by digest, sent again when the server has lost them."""

import asyncio
import builtins
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    ConnectionError,  # noqa: A004 - the library's name for it
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,  # noqa: A004 - the library's name for it
)
from redis.maint_notifications import MaintNotificationsConfig

from sale_sofia.crawl.resilience import settings as fixed
from sale_sofia.crawl.resilience.errors import ServiceRedis
from sale_sofia.crawl.resilience.policy import BreakerRules, BulkheadRules, LimiterRules
from sale_sofia.crawl.resilience.settings import REDIS_CONNECT_TIMEOUT_SECONDS, REDIS_TIMEOUT_SECONDS

_CHECK_KEY: Final = "sale_sofia:can_write"
_REASONS: Final[dict[type[Exception], str]] = {
    AuthenticationError: "wants a user name and password, or other ones; put them into REDIS_URL",
    ReadOnlyError: "is a read-only copy; name the server that takes writes",
    OutOfMemoryError: "is full (maxmemory); give it more, or make room",
}


class ForeignKey(ServiceRedis, ResponseError):
    """A key of ours holds foreign data. Nothing is deleted: a person must decide."""


@asynccontextmanager
async def in_time() -> AsyncIterator[None]:
    """Limits the time of commands. Raises `redis.exceptions.TimeoutError` when it is over.

    A connection that is lost meanwhile is a `ConnectionError`.
    """
    try:
        async with asyncio.timeout(REDIS_TIMEOUT_SECONDS):
            yield
    except builtins.TimeoutError:
        raise TimeoutError(f"no answer within {REDIS_TIMEOUT_SECONDS:g} s") from None
    except (AttributeError, TypeError) as error:
        # Python 3.12 to 3.13.5 writes to a transport that is already taken apart (gh-136234).
        raise ConnectionError("connection lost before the command was sent") from error


class ImpatientRedis(Redis):
    """A client whose every command is answered within the timeout, or fails.

    The library's own timeout sometimes swallows a cancellation on Python 3.11 (`wait_for`): a cancelled
    request would go on.
    """

    async def execute_command(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the library has it
        """As the library, but in time."""
        async with in_time():
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]


def connect(url: str) -> Redis:
    """A client for the event loop it is first used in; it connects with the first command.

    It has short timeouts and never retries: a command whose reply was lost may have run.
    """
    return ImpatientRedis.from_url(
        url,
        decode_responses=True,
        socket_timeout=None,
        socket_connect_timeout=REDIS_CONNECT_TIMEOUT_SECONDS,
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
        retry=Retry(NoBackoff(), 0),
    )


@contextmanager
def naming(key: str) -> Iterator[None]:
    """Turns an error caused by what the key holds into a `ForeignKey` that names the key and the remedy."""
    try:
        yield
    except ResponseError as error:
        message = str(error)  # begins with its code, of Redis or of our scripts (`now.lua`)
        if message.startswith("FOREIGN "):
            fault = message.removeprefix("FOREIGN ").partition(";")[0]
        elif "WRONGTYPE" in message:
            fault = f"{key} holds another kind of value"
        else:
            raise
        raise ForeignKey(f"Redis: {fault}; delete the key, or name another database in REDIS_URL.") from error


async def check_usable(url: str) -> None:
    """Check, before anything starts, that the server accepts writes.

    Raises `ServiceRedis`: it does not; the message says why, and holds no password.
    """
    async with connect(url) as redis:
        try:
            await redis.set(_CHECK_KEY, 1, px=1)
        except (RedisError, OSError) as error:
            options = redis.connection_pool.connection_kwargs
            place = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
            reasons = (reason for kind, reason in _REASONS.items() if isinstance(error, kind))
            reason = next(reasons, f"cannot be used ({type(error).__name__})")
            raise ServiceRedis(f"Redis at {place} {reason}.") from None


@cache
def load_script(name: str) -> tuple[str, str]:
    """The text of `lua/NAME.lua` after the pieces that its first line lists, and its digest."""

    def read(piece: str) -> str:
        return (files("sale_sofia.crawl.resilience") / "lua" / f"{piece}.lua").read_text("utf-8")

    operation = read(name)
    pieces = operation.partition("\n")[0].removeprefix("-- uses: ").split(", ")
    text = "\n".join([*map(read, pieces), operation])
    return text, sha1(text.encode(), usedforsecurity=False).hexdigest()


def shared_rules(
    breaker: BreakerRules | None = None,
    limiter: LimiterRules | None = None,
    bulkhead: BulkheadRules | None = None,
) -> dict[str, object]:
    """The numbers that the scripts use, by name."""
    return {
        "ttl_ms": fixed.STATE_TTL_SECONDS * 1000,
        "clock_step_seconds": fixed.CLOCK_STEP_SECONDS,
        "asker_seconds": fixed.ASKER_SECONDS,
        "breaker": asdict(breaker) if breaker else None,
        "limiter": asdict(limiter) if limiter else None,
        **(asdict(bulkhead) if bulkhead else {}),
    }


@dataclass(slots=True)
class CallerTime:
    """For tests: the last time passed by a caller is used instead of the server's clock."""

    now: float = 0.0


class ScriptRunner:
    """Runs operations under fixed rules, each in one round trip, on the server's clock."""

    def __init__(
        self, redis: Redis, rules: Mapping[str, object], *, caller_time: CallerTime | None = None
    ) -> None:
        self.redis = redis
        self._rules = _json(rules)
        self._caller_time = caller_time

    async def run(self, name: str, keys: Sequence[str], now: float | None = None, **arguments: object) -> Any:  # noqa: ANN401 - what a script returns is as varied as JSON
        """The operation's reply. Raises `ForeignKey`: one of the keys holds foreign data."""
        text, digest = load_script(name)
        if self._caller_time is not None and now is not None:
            self._caller_time.now = now
        moment = "" if self._caller_time is None else self._caller_time.now  # without one, the server's clock
        script_arguments = (*keys, moment, self._rules, _json(arguments))
        with naming(keys[0]):
            try:
                return await self.redis.evalsha(digest, len(keys), *script_arguments)
            except NoScriptError:
                # Nothing ran. Sent with its whole text it runs at once, so no second flush can interfere.
                return await self.redis.eval(text, len(keys), *script_arguments)


def _json(fields: Mapping[str, object]) -> str:
    """As JSON without the None values, as a Lua table has no nil values."""
    return json.dumps({name: value for name, value in fields.items() if value is not None})
