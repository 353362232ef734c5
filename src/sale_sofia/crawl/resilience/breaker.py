"""The circuit breaker: a failing domain gets no requests for a while, and then only a few probes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sale_sofia.crawl.resilience.policy import BreakerRules


@dataclass(slots=True)
class FailureWindow:
    """Counts the results of the last `seconds`, in buckets; the oldest bucket expires as a whole."""

    seconds: float
    buckets: int
    in_a_row: int = 0
    """Failures since the last success; restarts when two are further apart than the window."""
    _last_failure: float = -math.inf
    _good: dict[int, int] = field(default_factory=dict)
    _bad: dict[int, int] = field(default_factory=dict)

    def add(self, now: float, *, ok: bool) -> None:
        """Count one result."""
        bucket = math.floor(now * self.buckets / self.seconds)
        for counts in (self._good, self._bad):
            for old in [key for key in counts if key <= bucket - self.buckets]:
                del counts[old]
        counts = self._good if ok else self._bad
        counts[bucket] = counts.get(bucket, 0) + 1
        if ok:
            self.in_a_row = 0
        else:
            self.in_a_row = self.in_a_row + 1 if now - self._last_failure <= self.seconds else 1
            self._last_failure = now

    @property
    def volume(self) -> int:
        """All results in the window, as of the last one added."""
        return sum(self._good.values()) + sum(self._bad.values())

    @property
    def rate(self) -> float:
        """Share of failures among them; 0 where there is none."""
        return sum(self._bad.values()) / max(1, self.volume)


class CircuitState(StrEnum):
    """CLOSED lets all through, OPEN none, HALF_OPEN a few probes."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether one request may be sent, and for which generation of the circuit its result counts."""

    allowed: bool
    retry_after_seconds: float
    """When to ask again; 0 where allowed."""
    generation: int
    probe: bool = False
    token: str = ""
    """Identifies the lease of a probe."""


@dataclass(slots=True)
class Circuit:
    """One domain's circuit as a state machine; the clock and chance are arguments.

    Guarantees: at most `half_open_calls` live probes; only results of this generation change it.
    """

    rules: BreakerRules
    random: Callable[[], float]
    state: CircuitState = CircuitState.CLOSED
    generation: int = 0
    window: FailureWindow = field(init=False)
    opened_at: float | None = None
    open_seconds: float = field(init=False)
    last_block: str | None = None
    allowed: int = 0
    refused: int = 0
    probes: dict[str, float] = field(default_factory=dict)
    """Token of each probe under way, and when its lease ends."""
    probe_successes: int = 0

    def __post_init__(self) -> None:
        self._close()

    def allow(self, now: float, token: str | None = None) -> Permission:
        """Permission for one request, or the time to ask again; see `MemoryCircuitBreaker`."""
        if self.state is CircuitState.OPEN and self._open_wait(now) <= 0:
            self._enter(CircuitState.HALF_OPEN)
        self.probes = {name: end for name, end in self.probes.items() if end > now}
        if token is None or token not in self.probes:
            wait = self._wait(now)
            if wait > 0:
                self.refused += 1
                return Permission(allowed=False, retry_after_seconds=wait, generation=self.generation)
            self.allowed += 1
            if self.state is CircuitState.CLOSED:
                return Permission(allowed=True, retry_after_seconds=0.0, generation=self.generation)
            token = token or f"{self.generation}-{self.allowed}"
            self.probes[token] = now + self.rules.probe_lease_seconds
        return Permission(True, 0.0, self.generation, probe=True, token=token)  # noqa: FBT003

    def confirm(self, permission: Permission, now: float, token: str | None = None) -> Permission:
        """The same permission while it is valid; otherwise that of a new `allow`."""
        return permission if self._counts(permission, now) else self.allow(now, token)

    def renew(self, token: str, now: float) -> bool:
        """Renew the lease of a live probe; False where there is none."""
        living = self.probes.get(token, now) > now
        if living:
            self.probes[token] = now + self.rules.probe_lease_seconds
        return living

    def record(self, permission: Permission, now: float, block_kind: str | None, *, ok: bool) -> None:
        """Count a result. One of another generation, or of a probe whose lease ended, changes nothing."""
        if not self._counts(permission, now):
            return
        if not ok:
            self.last_block = block_kind or self.last_block
        if permission.probe:
            del self.probes[permission.token]
            self._record_probe(now, ok=ok)
            return
        rules, window = self.rules, self.window
        window.add(now, ok=ok)
        too_many = window.volume >= rules.min_volume and window.rate >= rules.failure_rate
        if not ok and (too_many or window.in_a_row >= rules.fail_max):
            self._open(now)

    def cancel(self, permission: Permission) -> None:
        """Drop a permission that led to no result; its probe becomes available again."""
        if permission.generation == self.generation:
            self.probes.pop(permission.token, None)

    def _open_wait(self, now: float) -> float:
        return self.open_seconds - (now - (self.opened_at or 0.0))

    def _wait(self, now: float) -> float:
        if self.state is CircuitState.CLOSED:
            return 0.0
        if self.state is CircuitState.OPEN:
            return self._open_wait(now)
        if len(self.probes) + self.probe_successes < self.rules.half_open_calls:
            return 0.0
        return min(self.rules.probe_busy_seconds, min(self.probes.values()) - now)

    def _counts(self, permission: Permission, now: float) -> bool:
        current = permission.allowed and permission.generation == self.generation
        return current and (not permission.probe or self.probes.get(permission.token, now) > now)

    def _record_probe(self, now: float, *, ok: bool) -> None:
        rules = self.rules
        self.probe_successes += ok
        if not ok:
            longest = max(rules.reset_max_seconds, rules.reset_timeout_seconds)
            jitter = 1 + rules.reset_jitter * self.random()
            self.open_seconds = min(longest, self.open_seconds * rules.reset_step * jitter)
            self._open(now)
        elif self.probe_successes >= rules.half_open_calls:
            self._close()

    def _open(self, now: float) -> None:
        self.opened_at = now
        self._enter(CircuitState.OPEN)

    def _close(self) -> None:
        self.opened_at = None
        self.open_seconds = self.rules.reset_timeout_seconds
        self.window = FailureWindow(self.rules.window_seconds, self.rules.window_buckets)
        self._enter(CircuitState.CLOSED)

    def _enter(self, state: CircuitState) -> None:
        self.state = state
        self.generation += 1
        self.probes = {}
        self.probe_successes = 0


@dataclass(frozen=True, slots=True)
class CircuitStatus:
    """A domain's circuit as of the last call; for people and metrics."""

    state: CircuitState = CircuitState.CLOSED
    generation: int = 0
    """Grows with every change of state."""
    failures: int = 0
    """Failures in a row that count."""
    opened_at: float | None = None
    """On the breaker's clock; None while closed."""
    retry_at: float | None = None
    """From when on the first probe is let through; None while closed."""
    last_block: str | None = None
    allowed: int = 0
    """Permissions given, used or not."""
    refused: int = 0


class MemoryCircuitBreaker:
    """One circuit per domain, in one process. Safe within one event loop: no method yields control.

    `now` is in seconds; the breaker in Redis uses the server's clock and ignores it.
    """

    def __init__(self, rules: BreakerRules, random: Callable[[], float]) -> None:
        self._rules = rules
        self._random = random
        self._circuits: dict[str, Circuit] = {}

    async def allow(self, domain: str, now: float, token: str | None = None) -> Permission:
        """Permission for one request. Half open: at most as many probes as configured, each leased.

        Idempotent by `token`: two calls with the same one hold one probe.
        """
        return self._circuit(domain).allow(now, token)

    async def confirm(
        self, domain: str, permission: Permission, now: float, token: str | None = None
    ) -> Permission:
        """The same permission if it is still valid after a wait; otherwise that of a new `allow`."""
        return self._circuit(domain).confirm(permission, now, token)

    async def renew(self, domain: str, token: str, now: float) -> bool:
        """Renew the lease of a live probe; False where there is none."""
        return self._circuit(domain).renew(token, now)

    async def record(
        self, domain: str, permission: Permission, *, ok: bool, now: float, block_kind: str | None = None
    ) -> None:
        """Count a result. One of another generation, or of a probe whose lease ended, changes nothing."""
        self._circuit(domain).record(permission, now, block_kind, ok=ok)

    async def cancel(self, domain: str, permission: Permission) -> None:
        """Drop a permission that led to no result: nothing is counted, its probe becomes available again."""
        self._circuit(domain).cancel(permission)

    async def get_state(self, domain: str) -> CircuitStatus:
        """The domain's circuit; a closed one with zero counts where there is none."""
        return (await self.get_all_states()).get(domain, CircuitStatus())

    async def get_all_states(self) -> Mapping[str, CircuitStatus]:
        """The circuits of all domains seen so far."""
        return {
            domain: CircuitStatus(
                state=circuit.state,
                generation=circuit.generation,
                failures=circuit.window.in_a_row,
                opened_at=circuit.opened_at,
                retry_at=None if circuit.opened_at is None else circuit.opened_at + circuit.open_seconds,
                last_block=circuit.last_block,
                allowed=circuit.allowed,
                refused=circuit.refused,
            )
            for domain, circuit in self._circuits.items()
        }

    def _circuit(self, domain: str) -> Circuit:
        if domain not in self._circuits:
            self._circuits[domain] = Circuit(self._rules, self._random)
        return self._circuits[domain]
