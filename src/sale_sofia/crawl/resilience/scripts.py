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

# The connection to a shared Redis: impatient, and never asking twice, as a lost reply had its effect.

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


_FOLDER: Final = files("sale_sofia.crawl.resilience") / "lua"
_USES: Final = "-- uses: "
_SERVER_TIME: Final = ""


@dataclass(frozen=True, slots=True)
class Script:
    """One operation with everything it needs."""

    text: str
    digest: str


@cache
def load_script(name: str) -> Script:
    """The operation `lua/NAME.lua` behind the pieces that its first line names."""
    operation = _read(name)
    pieces = operation.partition("\n")[0].removeprefix(_USES).split(", ")
    text = "\n".join([*map(_read, pieces), operation])
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.lua").read_text("utf-8")


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
        """What the operation says.

        Raises:
            ForeignKey: one of the keys holds something that is not ours.
        """
        script = load_script(name)
        arguments = (len(keys), *keys, self._time(now), self._rules, _json(ask))
        try:
            return await self._run(script, arguments)
        except ResponseError as error:
            raise plainer(error, keys[0]) from error

    def _time(self, now: float | None) -> float | str:
        if self._told_time is None:
            return _SERVER_TIME
        if now is not None:
            self._told_time.now = now
        return self._told_time.now

    async def _run(self, script: Script, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        try:
            return await self.redis.evalsha(script.digest, *arguments)
        except NoScriptError:
            # Nothing ran. With its whole text it runs at once, so no second flush can come between.
            return await self.redis.eval(script.text, *arguments)


def _json(fields: Mapping[str, object]) -> str:
    """As JSON, in which nothing (None) is absent, as nil is in a Lua table."""
    return json.dumps({name: value for name, value in fields.items() if value is not None})
