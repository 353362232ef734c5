"""The Lua scripts: joined from their pieces, run by digest, loaded again when the server forgot them."""

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
    """A key of our name holds what is not ours. Nothing is deleted: whose it is only a person can say."""


@asynccontextmanager
async def in_time() -> AsyncIterator[None]:
    """What is asked inside is answered in time. Raises `redis.exceptions.TimeoutError`: it is not."""
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
    """A client for the event loop it is first used in; it connects with the first command.

    It is impatient and never asks twice, as a lost reply had its effect.
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
    """Inside, an error that is the fault of what the key holds says which key, and what can be done."""
    try:
        yield
    except ResponseError as error:
        told = str(error)  # begins with its code, of Redis or of our scripts (`now.lua`)
        if told.startswith("FOREIGN "):
            what = told.removeprefix("FOREIGN ").partition(";")[0]
        elif "WRONGTYPE" in told:
            what = f"{key} holds another kind of value"
        else:
            raise
        raise ForeignKey(f"Redis: {what}; delete the key, or name another database in REDIS_URL.") from error


async def check_usable(url: str) -> None:
    """Make sure, before anything starts, that the server takes what we will write.

    Raises `ServiceRedis`: it does not; the sentence says why, and holds no password.
    """
    async with connect(url) as redis:
        try:
            await redis.set(_CHECK_KEY, 1, px=1)
        except (RedisError, OSError) as error:
            asked = redis.connection_pool.connection_kwargs
            place = asked.get("path") or f"{asked.get('host', 'localhost')}:{asked.get('port', 6379)}"
            known = (reason for kind, reason in _REASONS.items() if isinstance(error, kind))
            reason = next(known, f"cannot be used ({type(error).__name__})")
            raise ServiceRedis(f"Redis at {place} {reason}.") from None


@cache
def load_script(name: str) -> tuple[str, str]:
    """The operation `lua/NAME.lua` behind the pieces that its first line names, and its digest."""

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
    """The numbers that the scripts know by name."""
    return {
        "ttl_ms": fixed.STATE_TTL_SECONDS * 1000,
        "clock_step_seconds": fixed.CLOCK_STEP_SECONDS,
        "asker_seconds": fixed.ASKER_SECONDS,
        "breaker": asdict(breaker) if breaker else None,
        "limiter": asdict(limiter) if limiter else None,
        **(asdict(bulkhead) if bulkhead else {}),
    }


@dataclass(slots=True)
class ToldTime:
    """For tests: the time that a caller told last counts instead of the server's clock."""

    now: float = 0.0


class ScriptRunner:
    """Runs operations under fixed rules, each in one round trip, on the server's clock."""

    def __init__(
        self, redis: Redis, rules: Mapping[str, object], *, told_time: ToldTime | None = None
    ) -> None:
        self.redis = redis
        self._rules = _json(rules)
        self._told_time = told_time

    async def run(self, name: str, keys: Sequence[str], now: float | None = None, **ask: object) -> Any:  # noqa: ANN401 - what a script returns is as varied as JSON
        """What the operation says. Raises `ForeignKey`: one of the keys holds something that is not ours."""
        text, digest = load_script(name)
        if self._told_time is not None and now is not None:
            self._told_time.now = now
        moment = "" if self._told_time is None else self._told_time.now  # without one, the server's clock
        arguments = (*keys, moment, self._rules, _json(ask))
        with naming(keys[0]):
            try:
                return await self.redis.evalsha(digest, len(keys), *arguments)
            except NoScriptError:
                # Nothing ran. With its whole text it runs at once, so no second flush can come between.
                return await self.redis.eval(text, len(keys), *arguments)


def _json(fields: Mapping[str, object]) -> str:
    """As JSON, in which nothing (None) is absent, as nil is in a Lua table."""
    return json.dumps({name: value for name, value in fields.items() if value is not None})
