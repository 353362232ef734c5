"""Uses the shared gate while Redis answers, and this process's share of each rate while it does not."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from redis.exceptions import RedisError

from sale_sofia.crawl.resilience.bulkhead import BulkheadPlace
from sale_sofia.crawl.resilience.gate import Admission, Gate, GateSteps, Outcome, Refusal, asks_for_pause
from sale_sofia.crawl.resilience.limiter import pause_seconds
from sale_sofia.crawl.resilience.memory import LocalShare
from sale_sofia.crawl.resilience.policy import LimiterRules
from sale_sofia.crawl.resilience.settings import SHARED_RETRY_SECONDS, SHARED_SETTLE_SECONDS, STOPPED_SECONDS

_log: Final = logging.getLogger(__name__)
_GONE: Final = (RedisError, OSError)
_NEVER: Final = (-math.inf, None)


class GateOutage:
    """Decides when to try the shared gate again: during an outage, one request at a time does.

    Logs the loss and the recovery once, not for every request.
    """

    def __init__(self, clock: Callable[[], float], retry_seconds: float) -> None:
        self._clock = clock
        self._retry_seconds = retry_seconds
        self._since: float | None = None
        self._next_try = 0.0
        self._settled_at = -math.inf

    @property
    def lasts(self) -> bool:
        """Whether the outage goes on."""
        return self._since is not None

    @property
    def settling(self) -> bool:
        """Whether other processes may still be sending past the shared gate, right after an outage."""
        return self._clock() < self._settled_at

    def worth_a_try(self) -> bool:
        """Whether this request should try the shared gate; during an outage no other will for a while."""
        if self._since is None:
            return True
        due = self._clock() >= self._next_try
        if due:
            self._next_try = self._clock() + self._retry_seconds
        return due

    def begin(self, error: Exception) -> bool:
        """Note that the shared gate did not answer; returns whether an outage begins with it."""
        if self._since is not None:
            return False
        self._since = self._clock()
        self._next_try = self._since + self._retry_seconds
        fields = {"change": "shared_gate_lost", "error": f"{type(error).__name__}: {error}"}
        _log.warning(
            "Redis is gone (%s); this process keeps to its share of each rate", fields["error"], extra=fields
        )
        return True

    def end(self, asked_at: float) -> None:
        """End the outage if the answered call, made at `asked_at`, is not from before its start."""
        if self._since is None or asked_at < self._since:
            return
        seconds, self._since = self._clock() - self._since, None
        self._settled_at = self._clock() + SHARED_SETTLE_SECONDS
        fields = {"change": "shared_gate_back", "seconds": round(seconds, 3)}
        _log.warning("Redis is back after %.1f s; rates are shared again", seconds, extra=fields)


@dataclass(slots=True, kw_only=True, eq=False)
class FallbackGate(Gate):
    """A request belongs to the gate that admitted it. Both gates obey a pause that a portal asked for.

    This process remembers each pause until it is over, and tells a Redis that came back without it again.
    """

    shared: GateSteps
    local: LocalShare
    rules: LimiterRules
    clock: Callable[[], float] = time.monotonic
    retry_seconds: float = SHARED_RETRY_SECONDS
    _outage: GateOutage = field(init=False)
    _local_places: set[BulkheadPlace] = field(default_factory=set, init=False)
    _pauses: dict[str, tuple[float, int | None]] = field(default_factory=dict, init=False)
    """The end of each domain's pause, and the epoch under which it was reported to the shared gate."""

    def __post_init__(self) -> None:
        self._outage = GateOutage(self.clock, self.retry_seconds)

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
        """See `Gate`. Refused without Redis: the domain may have been paused meanwhile."""
        if admission.place in self._local_places:
            entry = await self.local.gate.wait(admission)
            if isinstance(entry, Refusal):  # it is not reported any more
                self._local_places.discard(admission.place)
            return entry
        due = self.clock() + admission.wait_seconds
        try:
            return await self.shared.wait(admission)
        except _GONE as error:
            self._lose(error, due)
            return Refusal(self.retry_seconds, "shared_gone")

    async def further(self, admission: Admission, max_wait: float) -> Admission | Refusal:
        """See `Gate`. Refused without Redis, or with one that may not know of all requests yet."""
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
        """See `Gate`. A place that cannot be given back ends with its lease; a pause is not lost."""
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

    async def keep(self, place: BulkheadPlace) -> bool:
        """See `Gate`."""
        gate = self.local.gate if place in self._local_places else self.shared
        return await gate.keep(place)

    async def _admit_shared(self, domain: str, max_wait: float) -> Admission | Refusal:
        asked_at = self.clock()
        if self._outage.lasts:
            await self._tell_pause(domain)
        entry = await self.shared.admit(domain, max_wait)
        self._outage.end(asked_at)
        if isinstance(entry, Admission):
            entry = await self._after_pause(entry)
        if self._outage.settling and isinstance(entry, Admission):
            # No sooner than this process's own share allows.
            wait = max(entry.wait_seconds, await self.local.wait_seconds(domain))
            if wait <= max_wait:
                entry = replace(entry, wait_seconds=wait)
            else:
                await self.shared.report(entry, Outcome.neutral())
                entry = Refusal(wait, "rate_limit")
        self.local.heard(domain, entry)
        return entry

    async def _after_pause(self, admission: Admission) -> Admission | Refusal:
        """The admission, unless its instant is in a pause that the shared gate has forgotten."""
        until, _ = self._pauses.get(admission.domain, _NEVER)
        if self.clock() + admission.wait_seconds >= until:
            return admission
        await self.shared.report(admission, Outcome.neutral())
        await self._tell_pause(admission.domain)
        return Refusal(max(0.0, until - self.clock()), "penalty")

    def _lose(self, error: Exception, asked_at: float) -> bool:
        """Whether the shared gate is gone; False when this process was suspended and should try again."""
        if self.clock() - asked_at > STOPPED_SECONDS and not self._outage.lasts:
            return False
        if self._outage.begin(error):
            self.local.begin()
        return True

    def _remember(self, domain: str, outcome: Outcome, seen_epoch: int | None) -> None:
        if asks_for_pause(outcome):
            until = self.clock() + pause_seconds(self.rules, outcome.retry_after_seconds)
            earlier, _ = self._pauses.get(domain, _NEVER)
            self._pauses[domain] = max(until, earlier), seen_epoch

    async def _tell_pause(self, domain: str) -> None:
        """Repeat the pause to the shared gate; the epoch keeps it from slowing the domain twice."""
        until, seen_epoch = self._pauses.get(domain, _NEVER)
        if until > self.clock():
            await self.shared.penalise(domain, until - self.clock(), seen_epoch)
