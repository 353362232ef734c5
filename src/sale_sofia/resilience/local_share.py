"""What one process may do on its own while it cannot hear of the others: its share, and never sooner."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sale_sofia.resilience.composed_gate import ComposedGate
from sale_sofia.resilience.gate import Admission, Refusal, asks_for_pause
from sale_sofia.resilience.outcome import Outcome
from sale_sofia.resilience.rate_limiter import MemoryRateLimiter
from sale_sofia.resilience.rates import Share

_SECONDS_PER_MINUTE: Final = 60.0


@dataclass(slots=True, kw_only=True, eq=False)
class LocalShare:
    """A gate of this process. It listens to the shared one, so that its pauses hold here too."""

    gate: ComposedGate
    limiter: MemoryRateLimiter
    """That of the gate."""
    share_of: Callable[[str], Share]
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    _begun: dict[str, Share] = field(default_factory=dict, init=False)
    """Domains asked for since the shared gate was lost."""

    def begin(self) -> None:
        """The shared gate was lost just now."""
        self._begun.clear()

    async def admit(self, domain: str, max_wait: float) -> Admission | Refusal:
        """As `Gate`, at this process's share of the rate."""
        await self._keep_to_share(domain, self.share_of(domain))
        return await self.gate.admit(domain, max_wait)

    async def wait_seconds(self, domain: str) -> float:
        """Until this process's share allows its next request; nothing is reserved."""
        await self.limiter.set_rate(domain, self.share_of(domain).own_per_minute)
        return await self.limiter.peek(domain, self.clock())

    async def learn(self, domain: str, outcome: Outcome) -> None:
        """How a request of this process went that the shared gate had admitted."""
        if asks_for_pause(outcome):
            await self.limiter.penalise(domain, outcome.retry_after_seconds, self.clock())
        if outcome.kind == "neutral":
            return
        permission = await self.gate.breaker.allow(domain, self.clock())
        ok, block = outcome.kind == "ok", outcome.block_kind
        await self.gate.breaker.record(domain, permission, ok=ok, now=self.clock(), block_kind=block)

    def heard(self, domain: str, entry: Admission | Refusal) -> None:
        """The shared gate said this: sooner than it would allow, nothing goes from here either."""
        if isinstance(entry, Admission):
            self._hold(domain, entry.wait_seconds + self._interval(self.share_of(domain)))
        elif entry.why != "busy":
            self._hold(domain, entry.retry_after_seconds)

    async def _keep_to_share(self, domain: str, share: Share) -> None:
        if domain not in self._begun:
            # All processes lose the shared gate in the same moment; by chance they do not go on in the same.
            self._hold(domain, self.random() * self._interval(share))
        if self._begun.get(domain) != share:
            self._begun[domain] = share
            await self.limiter.set_rate(domain, share.own_per_minute)

    def _hold(self, domain: str, seconds: float) -> None:
        self.limiter.hold(domain, seconds, self.clock())

    @staticmethod
    def _interval(share: Share) -> float:
        return _SECONDS_PER_MINUTE / share.own_per_minute
