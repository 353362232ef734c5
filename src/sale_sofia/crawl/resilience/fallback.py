"""The shared gate while Redis answers, this process's share of it while Redis does not: never unlimited."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from redis.exceptions import RedisError

from sale_sofia.crawl.resilience.bulkhead import Place
from sale_sofia.crawl.resilience.gate import Admission, Gate, GateSteps, Outcome, Refusal, asks_for_pause
from sale_sofia.crawl.resilience.limiter import pause_seconds
from sale_sofia.crawl.resilience.memory import LocalShare
from sale_sofia.crawl.resilience.policy import LimiterRules
from sale_sofia.crawl.resilience.settings import SHARED_RETRY_SECONDS, SHARED_SETTLE_SECONDS, STOPPED_SECONDS

_log: Final = logging.getLogger(__name__)
_GONE: Final = (RedisError, OSError)
_NEVER: Final = (-math.inf, None)


class Outage:
    """Knows when to try again: while the shared gate is gone, one request at a time finds out.

    That it is gone or back is logged once, and not for every request.
    """

    def __init__(self, clock: Callable[[], float], retry_seconds: float) -> None:
        self._clock = clock
        self._retry_seconds = retry_seconds
        self._since: float | None = None
        self._next_try = 0.0
        self._settled_at = -math.inf

    @property
    def lasts(self) -> bool:
        """Whether the shared gate is known to be gone."""
        return self._since is not None

    @property
    def settling(self) -> bool:
        """Whether others may not have found the shared gate again, which does not know what they send."""
        return self._clock() < self._settled_at

    def worth_a_try(self) -> bool:
        """Whether this request should ask the shared gate; if it is gone, no other will for a while."""
        if self._since is None:
            return True
        due = self._clock() >= self._next_try
        if due:
            self._next_try = self._clock() + self._retry_seconds
        return due

    def begin(self, error: Exception) -> bool:
        """The shared gate did not answer; whether that is news."""
        if self._since is not None:
            return False
        self._since = self._clock()
        self._next_try = self._since + self._retry_seconds
        told = {"change": "shared_gate_lost", "error": f"{type(error).__name__}: {error}"}
        _log.warning(
            "Redis is gone (%s); this process keeps to its share of each rate", told["error"], extra=told
        )
        return True

    def end(self, asked_at: float) -> None:
        """It answered what was asked then; an answer to a question from before the loss proves nothing."""
        if self._since is None or asked_at < self._since:
            return
        seconds, self._since = self._clock() - self._since, None
        self._settled_at = self._clock() + SHARED_SETTLE_SECONDS
        told = {"change": "shared_gate_back", "seconds": round(seconds, 3)}
        _log.warning("Redis is back after %.1f s; rates are shared again", seconds, extra=told)


@dataclass(slots=True, kw_only=True, eq=False)
class FallbackGate(Gate):
    """A request belongs to the gate that admitted it. A pause that a portal asked for is kept by both.

    This process remembers it to its end: a server that came back empty, or older than it was, is told again.
    """

    shared: GateSteps
    local: LocalShare
    rules: LimiterRules
    clock: Callable[[], float] = time.monotonic
    retry_seconds: float = SHARED_RETRY_SECONDS
    _outage: Outage = field(init=False)
    _local_places: set[Place] = field(default_factory=set, init=False)
    _pauses: dict[str, tuple[float, int | None]] = field(default_factory=dict, init=False)
    """Until when each domain is to be left alone, and under which epoch the shared gate was to hear of it."""

    def __post_init__(self) -> None:
        self._outage = Outage(self.clock, self.retry_seconds)

    @property
    def lease_seconds(self) -> float:
        """See `Gate`."""
        return self.shared.lease_seconds

    async def close(self) -> None:
        """See `Gate`."""
        await self.shared.close()

    async def admit(self, domain: str, max_wait: float) -> Admission | Refusal:
        """See `Gate`."""
        while self._outage.worth_a_try():
            asked_at = self.clock()
            try:
                return await self._admit_shared(domain, max_wait)
            except _GONE as error:
                if self._lose(error, asked_at):
                    break
        entry = await self.local.admit(domain, max_wait)
        if isinstance(entry, Admission):
            self._local_places.add(entry.place)
        return entry

    async def wait(self, admission: Admission) -> Admission | Refusal:
        """See `Gate`. Whether the domain was paused meanwhile nobody can say without Redis: refused."""
        if admission.place in self._local_places:
            return await self.local.gate.wait(admission)
        due = self.clock() + admission.wait_seconds
        try:
            return await self.shared.wait(admission)
        except _GONE as error:
            self._lose(error, due)
            return Refusal(self.retry_seconds, "shared_gone")

    async def further(self, admission: Admission, max_wait: float) -> Admission | Refusal:
        """See `Gate`. Without Redis, or with one that may not know all, nobody can say when its turn is."""
        if admission.place in self._local_places:
            return await self.local.gate.further(admission, max_wait)
        until, _ = self._pauses.get(admission.domain, _NEVER)
        if self._outage.lasts or self._outage.settling or self.clock() < until:
            return Refusal(self.retry_seconds, "shared_gone")
        asked_at = self.clock()
        try:
            entry = await self.shared.further(admission, max_wait)
        except _GONE as error:
            self._lose(error, asked_at)
            return Refusal(self.retry_seconds, "shared_gone")
        self.local.heard(admission.domain, entry)
        return entry

    async def report(self, admission: Admission, outcome: Outcome) -> None:
        """See `Gate`. What cannot be told to Redis ends with its lease; a pause is not lost."""
        if admission.place in self._local_places:
            self._local_places.remove(admission.place)
            await self.local.gate.report(admission, outcome)
            self._remember(admission.domain, outcome, seen_epoch=None)
            return
        await self.local.learn(admission.domain, outcome)
        self._remember(admission.domain, outcome, admission.epoch)
        if self._outage.lasts:
            self.shared.abandon(admission)
            return
        asked_at = self.clock()
        try:
            await self.shared.report(admission, outcome)
        except _GONE as error:
            self._lose(error, asked_at)

    async def keep(self, place: Place) -> bool:
        """See `Gate`."""
        giver = self.local.gate if place in self._local_places else self.shared
        return await giver.keep(place)

    async def _admit_shared(self, domain: str, max_wait: float) -> Admission | Refusal:
        asked_at = self.clock()
        if self._outage.lasts:
            await self._tell_pause(domain)
        entry = await self.shared.admit(domain, max_wait)
        self._outage.end(asked_at)
        if isinstance(entry, Admission):
            entry = await self._after_pause(entry)
        if self._outage.settling and isinstance(entry, Admission):
            # No sooner than this process would go on its own.
            wait = max(entry.wait_seconds, await self.local.wait_seconds(domain))
            if wait <= max_wait:
                entry = replace(entry, wait_seconds=wait)
            else:
                await self.shared.report(entry, Outcome.neutral())
                entry = Refusal(wait, "rate_limit")
        self.local.heard(domain, entry)
        return entry

    async def _after_pause(self, admission: Admission) -> Admission | Refusal:
        """The admission, unless it is for an instant in a pause that the shared gate has forgotten."""
        until, _ = self._pauses.get(admission.domain, _NEVER)
        if self.clock() + admission.wait_seconds >= until:
            return admission
        await self.shared.report(admission, Outcome.neutral())
        await self._tell_pause(admission.domain)
        return Refusal(max(0.0, until - self.clock()), "penalty")

    def _lose(self, error: Exception, asked_at: float) -> bool:
        """Whether the shared gate is gone; who was stopped so long missed the answer, and asks again."""
        if self.clock() - asked_at > STOPPED_SECONDS and not self._outage.lasts:
            return False
        if self._outage.begin(error):
            self.local.begin()
        return True

    def _remember(self, domain: str, outcome: Outcome, seen_epoch: int | None) -> None:
        if asks_for_pause(outcome):
            until = self.clock() + pause_seconds(self.rules, outcome.retry_after_seconds)
            known, _ = self._pauses.get(domain, _NEVER)
            self._pauses[domain] = max(until, known), seen_epoch

    async def _tell_pause(self, domain: str) -> None:
        """What it may have heard before; by the epoch it knows then not to slow down a second time."""
        until, seen_epoch = self._pauses.get(domain, _NEVER)
        if until > self.clock():
            await self.shared.penalise(domain, until - self.clock(), seen_epoch)
