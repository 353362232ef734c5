"""The Lua scripts: joined from their pieces, run by digest, loaded again when the server forgot them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, ResponseError

from sale_sofia.config import resilience as fixed
from sale_sofia.resilience.policy import BreakerRules, BulkheadRules, LimiterRules
from sale_sofia.resilience.redis_client import plainer

_FOLDER: Final = files("sale_sofia.resilience") / "lua"
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
