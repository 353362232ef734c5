"""The gate that all workers share: one script and one round trip to go, one to report, one after a wait."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from redis.asyncio import Redis

from sale_sofia.crawl.resilience.breaker import Permission
from sale_sofia.crawl.resilience.bulkhead import Place
from sale_sofia.crawl.resilience.gate import Admission, GateSteps, Outcome, Refusal, Why
from sale_sofia.crawl.resilience.owners import new_token
from sale_sofia.crawl.resilience.policy import ResilienceConfig, Share, checked_rate
from sale_sofia.crawl.resilience.redis_parts import (
    RedisBulkhead,
    RedisCircuitBreaker,
    RedisRateLimiter,
    circuit_key,
    finite,
    pace_key,
    places_key,
)
from sale_sofia.crawl.resilience.scripts import ScriptRunner, ToldTime, shared_rules

_FOR_WANT_OF_ANOTHERS: Final[frozenset[Why]] = frozenset({"busy", "circuit_open"})
"""Refusals that a place or a probe in other hands may be the reason of."""


class Unsettled:
    """Requests of which nobody knows whether they hold a place, for as long as one could.

    They are told again and again: a server that slept may do today's work before yesterday's.
    """

    def __init__(self, lease_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._since: dict[Place, float] = {}

    def add(self, place: Place) -> None:
        """What became of this one is not known."""
        self._since[place] = self._clock()

    def tokens(self, domain: str) -> list[str]:
        """Those of the domain that may still hold a place."""
        if self._since:
            oldest = self._clock() - self._lease_seconds
            self._since = {place: since for place, since in self._since.items() if since > oldest}
        return [place.token for place in self._since if place.domain == domain]


def _entry(place: Place, reply: list[Any]) -> Admission | Refusal:
    """What `admit` and `still` say."""
    admitted, wait, why, epoch, generation, probe, _ = reply
    if not admitted:
        return Refusal(float(wait), why)
    permission = Permission(True, 0.0, generation, bool(probe), place.token if probe else "")  # noqa: FBT003
    return Admission(place.domain, float(wait), epoch, permission, place)


@dataclass(slots=True, kw_only=True, eq=False)
class RedisGate(GateSteps):
    """Guarantee: under lost replies and dead callers a request holds one place and one probe, or none.

    A request's name is sent along: run twice, its scripts do once what they do. What became of a request
    whose reply was lost is settled with the caller's next one for the domain, or by the end of its lease.
    What a dead process holds is given back by the first of its machine that is refused for want of it.
    """

    redis: Redis
    config: ResilienceConfig
    rate_of: Callable[[str], float]
    limit_of: Callable[[str], int]
    random: Callable[[], float] = random.random
    told_time: ToldTime | None = None
    """Only then the clock counts, for tests; otherwise it is the server's."""
    breaker: RedisCircuitBreaker = field(init=False)
    limiter: RedisRateLimiter = field(init=False)
    bulkhead: RedisBulkhead = field(init=False)
    shares: dict[str, Share] = field(init=False, default_factory=dict)
    """Of each domain, as Redis last said."""
    _scripts: ScriptRunner = field(init=False)
    _unsettled: Unsettled = field(init=False)
    _asker: str = field(init=False, default_factory=new_token)

    def __post_init__(self) -> None:
        config, told = self.config, self.told_time
        self.breaker = RedisCircuitBreaker(self.redis, config.breaker, self.random, told_time=told)
        self.limiter = RedisRateLimiter(self.redis, config.limiter, self.rate_of, told_time=told)
        self.bulkhead = RedisBulkhead(self.redis, config.bulkhead.lease_seconds, told_time=told)
        rules = shared_rules(config.breaker, config.limiter, config.bulkhead)
        self._scripts = ScriptRunner(self.redis, rules, told_time=told)
        self._unsettled = Unsettled(self.lease_seconds)

    async def close(self) -> None:
        """See `Gate`."""
        await self.redis.aclose()

    def abandon(self, admission: Admission) -> None:
        """Forget a request that cannot be reported now; its place is given back with the next one."""
        if admission.place in self._open:
            self._open.remove(admission.place)
            self._unsettled.add(admission.place)

    async def keep(self, place: Place) -> bool:
        """See `Gate`."""
        return bool(await self._run("keep", place))

    async def _admit(self, domain: str, max_wait: float, token: str) -> Admission | Refusal:
        place = Place(domain, token)
        entry = await self._ask_for(place, max_wait)
        if isinstance(entry, Admission) or entry.why not in _FOR_WANT_OF_ANOTHERS:
            return entry
        dead = await self.bulkhead.tokens_of_dead(domain)
        return await self._ask_for(place, max_wait, dead) if dead else entry

    async def _ask_for(self, place: Place, max_wait: float, dead: Sequence[str] = ()) -> Admission | Refusal:
        domain = place.domain
        ask = {
            "lost": [*self._unsettled.tokens(domain), *dead],
            "limit": self.limit_of(domain),
            "max_wait": finite(max_wait),
            "asker": self._asker,
        }
        with self._unsettled_if_broken_off(place):
            *reply, workers, rate = await self._run("admit", place, **ask)
            await self.breaker.note(domain, fresh=bool(reply[-1]))
        self.shares[domain] = Share(float(rate), workers)
        return _entry(place, reply)

    async def _still(self, admission: Admission) -> Admission | Refusal:
        ask = {"epoch": admission.epoch, "given": asdict(admission.permission)}
        with self._unsettled_if_broken_off(admission.place):
            entry = _entry(admission.place, await self._run("still", admission.place, **ask))
        return replace(admission, permission=entry.permission) if isinstance(entry, Admission) else entry

    async def _report(self, admission: Admission, outcome: Outcome) -> None:
        asked = outcome.retry_after_seconds
        ask = {
            "epoch": admission.epoch,
            "given": asdict(admission.permission),
            "kind": outcome.kind,
            "block": outcome.block_kind,
            "retry_after": None if asked is None else finite(asked),
            "chance": self.random(),
        }
        with self._unsettled_if_broken_off(admission.place):
            await self._run("report", admission.place, **ask)

    @contextmanager
    def _unsettled_if_broken_off(self, place: Place) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._unsettled.add(place)
            self._open.discard(place)
            raise

    async def _run(self, name: str, place: Place, **ask: object) -> Any:  # noqa: ANN401
        domain = place.domain
        keys = [circuit_key(domain), places_key(domain), pace_key(domain), f"{pace_key(domain)}:askers"]
        rate = checked_rate(domain, self.rate_of(domain))
        return await self._scripts.run(name, keys, self.clock(), token=place.token, rate=rate, **ask)
