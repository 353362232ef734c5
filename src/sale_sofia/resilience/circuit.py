"""One domain's circuit as a state machine. Pure: the clock and chance are arguments."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sale_sofia.resilience.failure_window import FailureWindow
from sale_sofia.resilience.policy import BreakerRules


class CircuitState(StrEnum):
    """CLOSED lets all through, OPEN none, HALF_OPEN a few probes."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether one request may go, and under which generation of the circuit its result counts."""

    allowed: bool
    retry_after_seconds: float
    """When to ask again; 0 where allowed."""
    generation: int
    probe: bool = False
    token: str = ""
    """Names the lease of a probe."""


@dataclass(slots=True)
class Circuit:
    """Guarantees: at most `half_open_calls` live probes; only results of this generation change it."""

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
        """Permission for one request, or the time to ask again.

        A `token` names the probe that may come of it: asked twice with one token, there is one probe.
        """
        self._advance(now)
        if token in self.probes:
            return self._probe(token)
        wait = self._wait(now)
        if wait > 0:
            self.refused += 1
            return Permission(allowed=False, retry_after_seconds=wait, generation=self.generation)
        self.allowed += 1
        return self._permit(now, token)

    def confirm(self, permission: Permission, now: float, token: str | None = None) -> Permission:
        """The same permission while it holds; otherwise what `allow` says now."""
        return permission if self._counts(permission, now) else self.allow(now, token)

    def renew(self, token: str, now: float) -> bool:
        """Begin the lease of a living probe anew; False where there is none."""
        living = self.probes.get(token, now) > now
        if living:
            self.probes[token] = now + self.rules.probe_lease_seconds
        return living

    def record(self, permission: Permission, now: float, block_kind: str | None, *, ok: bool) -> None:
        """Take in a result. One of another generation, or of a probe whose lease ended, changes nothing."""
        if not self._counts(permission, now):
            return
        if not ok:
            self.last_block = block_kind or self.last_block
        if permission.probe:
            del self.probes[permission.token]
            self._record_probe(now, ok=ok)
        else:
            self._record_closed(now, ok=ok)

    def cancel(self, permission: Permission) -> None:
        """Forget a permission that led to no result; a probe may be made again."""
        if permission.generation == self.generation:
            self.probes.pop(permission.token, None)

    def _advance(self, now: float) -> None:
        if self.state is CircuitState.OPEN and self._open_wait(now) <= 0:
            self._enter(CircuitState.HALF_OPEN)
        self.probes = {token: end for token, end in self.probes.items() if end > now}

    def _open_wait(self, now: float) -> float:
        return self.open_seconds - (now - (self.opened_at or 0.0))

    def _wait(self, now: float) -> float:
        match self.state:
            case CircuitState.CLOSED:
                return 0.0
            case CircuitState.OPEN:
                return self._open_wait(now)
            case CircuitState.HALF_OPEN:
                return self._probe_wait(now)

    def _probe_wait(self, now: float) -> float:
        if len(self.probes) + self.probe_successes < self.rules.half_open_calls:
            return 0.0
        return min(self.rules.probe_busy_seconds, min(self.probes.values()) - now)

    def _permit(self, now: float, token: str | None) -> Permission:
        if self.state is CircuitState.CLOSED:
            return self._free_pass()
        token = token or f"{self.generation}-{self.allowed}"
        self.probes[token] = now + self.rules.probe_lease_seconds
        return self._probe(token)

    def _probe(self, token: str) -> Permission:
        return replace(self._free_pass(), probe=True, token=token)

    def _free_pass(self) -> Permission:
        return Permission(allowed=True, retry_after_seconds=0.0, generation=self.generation)

    def _counts(self, permission: Permission, now: float) -> bool:
        current = permission.allowed and permission.generation == self.generation
        return current and (not permission.probe or self.probes.get(permission.token, now) > now)

    def _record_closed(self, now: float, *, ok: bool) -> None:
        self.window.add(now, ok=ok)
        if not ok and self._tripped():
            self._open(now)

    def _tripped(self) -> bool:
        rules, window = self.rules, self.window
        too_many = window.volume >= rules.min_volume and window.rate >= rules.failure_rate
        return too_many or window.in_a_row >= rules.fail_max

    def _record_probe(self, now: float, *, ok: bool) -> None:
        self.probe_successes += ok
        if not ok:
            self._grow()
            self._open(now)
        elif self.probe_successes >= self.rules.half_open_calls:
            self._close()

    def _grow(self) -> None:
        rules = self.rules
        longest = max(rules.reset_max_seconds, rules.reset_timeout_seconds)
        jitter = 1 + rules.reset_jitter * self.random()
        self.open_seconds = min(longest, self.open_seconds * rules.reset_step * jitter)

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
