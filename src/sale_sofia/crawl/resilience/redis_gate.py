"""The gate that all workers share: one script and one round trip to admit, to report, and after a wait."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from redis.asyncio import Redis

from sale_sofia.crawl.resilience.breaker import Permission
from sale_sofia.crawl.resilience.bulkhead import BulkheadPlace
from sale_sofia.crawl.resilience.gate import Admission, GateSteps, Outcome, Refusal, Why
from sale_sofia.crawl.resilience.limiter import DelayOf, no_delay
from sale_sofia.crawl.resilience.owners import new_token
from sale_sofia.crawl.resilience.policy import RateShare, ResilienceConfig, checked_rate
from sale_sofia.crawl.resilience.redis_parts import (
    RedisBulkhead,
    RedisCircuitBreaker,
    RedisRateLimiter,
    circuit_key,
    finite,
    pace_key,
    places_key,
)
from sale_sofia.crawl.resilience.scripts import CallerTime, ScriptRunner, shared_rules

_HELD_BY_OTHERS: Final[frozenset[Why]] = frozenset({"busy", "circuit_open"})
"""Refusals that may be due to a place or a probe of another process."""


class Unsettled:
    """Requests that may or may not hold a place because a reply was lost, for as long as a lease lasts.

    They are sent with every call: a server that was suspended may run an older script after a newer one.
    """

    def __init__(self, lease_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._since: dict[BulkheadPlace, float] = {}

    def add(self, place: BulkheadPlace) -> None:
        """Remember a place whose state is unknown."""
        self._since[place] = self._clock()

    def tokens(self, domain: str) -> list[str]:
        """Tokens of the domain's requests that may still hold a place."""
        if self._since:
            oldest = self._clock() - self._lease_seconds
            self._since = {place: since for place, since in self._since.items() if since > oldest}
        return [place.token for place in self._since if place.domain == domain]


def _entry(place: BulkheadPlace, reply: list[Any]) -> Admission | Refusal:
    """The reply of `admit` or `still`."""
    admitted, wait, why, epoch, generation, probe, _ = reply
    if not admitted:
        return Refusal(float(wait), why)
    permission = Permission(True, 0.0, generation, bool(probe), place.token if probe else "")  # noqa: FBT003
    return Admission(place.domain, float(wait), epoch, permission, place)


@dataclass(slots=True, kw_only=True, eq=False)
class RedisGate(GateSteps):
    """Guarantee: under lost replies and dead callers a request holds one place and one probe, or none.

    The scripts are idempotent by the request's token. A request whose reply was lost is released by the
    caller's next one for the domain, or by the end of its lease. What a dead process holds is released by the
    first process of its machine that is refused because of it.
    """

    redis: Redis
    config: ResilienceConfig
    rate_of: Callable[[str], float]
    limit_of: Callable[[str], int]
    delay_of: DelayOf = no_delay
    random: Callable[[], float] = random.random
    caller_time: CallerTime | None = None
    """For tests: use the caller's clock instead of the server's."""
    breaker: RedisCircuitBreaker = field(init=False)
    limiter: RedisRateLimiter = field(init=False)
    bulkhead: RedisBulkhead = field(init=False)
    shares: dict[str, RateShare] = field(init=False, default_factory=dict)
    """The share of each domain, by the last reply of Redis."""
    _scripts: ScriptRunner = field(init=False)
    _unsettled: Unsettled = field(init=False)
    _asker: str = field(init=False, default_factory=new_token)

    def __post_init__(self) -> None:
        config, caller_time = self.config, self.caller_time
        self.breaker = RedisCircuitBreaker(self.redis, config.breaker, self.random, caller_time=caller_time)
        self.limiter = RedisRateLimiter(
            self.redis, config.limiter, self.rate_of, delay_of=self.delay_of, caller_time=caller_time
        )
        self.bulkhead = RedisBulkhead(self.redis, config.bulkhead.lease_seconds, caller_time=caller_time)
        rules = shared_rules(config.breaker, config.limiter, config.bulkhead)
        self._scripts = ScriptRunner(self.redis, rules, caller_time=caller_time)
        self._unsettled = Unsettled(self.lease_seconds)

    async def close(self) -> None:
        """See `Gate`."""
        await self.redis.aclose()

    def abandon(self, admission: Admission) -> None:
        """Forget a request that cannot be reported now; the next one gives its place back."""
        if admission.place in self._open:
            self._open.remove(admission.place)
            self._unsettled.add(admission.place)

    async def keep(self, place: BulkheadPlace) -> bool:
        """See `Gate`."""
        return bool(await self._run("keep", place))

    async def _admit(self, domain: str, max_wait: float, token: str) -> Admission | Refusal:
        place = BulkheadPlace(domain, token)
        entry = await self._ask_for(place, max_wait)
        if isinstance(entry, Admission) or entry.why not in _HELD_BY_OTHERS:
            return entry
        dead = await self.bulkhead.tokens_of_dead(domain)
        return await self._ask_for(place, max_wait, dead) if dead else entry

    async def _ask_for(
        self, place: BulkheadPlace, max_wait: float, dead: Sequence[str] = ()
    ) -> Admission | Refusal:
        domain = place.domain
        arguments = {
            "lost": [*self._unsettled.tokens(domain), *dead],
            "limit": self.limit_of(domain),
            "max_wait": finite(max_wait),
            "asker": self._asker,
        }
        with self._unsettled_if_broken_off(place):
            *reply, workers, rate = await self._run("admit", place, **arguments)
            await self.breaker.note(domain, fresh=bool(reply[-1]))
        self.shares[domain] = RateShare(float(rate), workers)
        return _entry(place, reply)

    async def _still(self, admission: Admission) -> Admission | Refusal:
        arguments = {"epoch": admission.epoch, "given": asdict(admission.permission)}
        with self._unsettled_if_broken_off(admission.place):
            entry = _entry(admission.place, await self._run("still", admission.place, **arguments))
        return replace(admission, permission=entry.permission) if isinstance(entry, Admission) else entry

    async def _report(self, admission: Admission, outcome: Outcome) -> None:
        retry_after = outcome.retry_after_seconds
        arguments = {
            "epoch": admission.epoch,
            "given": asdict(admission.permission),
            "kind": outcome.kind,
            "block": outcome.block_kind,
            "retry_after": None if retry_after is None else finite(retry_after),
            "chance": self.random(),
        }
        with self._unsettled_if_broken_off(admission.place):
            await self._run("report", admission.place, **arguments)

    @contextmanager
    def _unsettled_if_broken_off(self, place: BulkheadPlace) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._unsettled.add(place)
            self._open.discard(place)
            raise

    async def _run(self, name: str, place: BulkheadPlace, **arguments: object) -> Any:  # noqa: ANN401
        domain = place.domain
        keys = [circuit_key(domain), places_key(domain), pace_key(domain), f"{pace_key(domain)}:askers"]
        rate, delay = checked_rate(domain, self.rate_of(domain)), self.delay_of(domain)
        arguments = {**arguments, "token": place.token, "rate": rate, "delay": delay}
        return await self._scripts.run(name, keys, self.clock(), **arguments)
