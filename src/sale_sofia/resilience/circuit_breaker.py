"""Whether a domain is asked at all: not while it fails, and then carefully."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sale_sofia.resilience.circuit import Circuit, CircuitState, Permission
from sale_sofia.resilience.policy import BreakerRules


@dataclass(frozen=True, slots=True)
class CircuitStatus:
    """A domain's circuit as it was left by the last call; for people and metrics."""

    state: CircuitState = CircuitState.CLOSED
    generation: int = 0
    """Grows with every change of state."""
    failures: int = 0
    """Failures in a row that count."""
    opened_at: float | None = None
    """On the breaker's clock; None while closed."""
    last_block: str | None = None
    allowed: int = 0
    """Permissions given, used or not."""
    refused: int = 0


class CircuitBreaker(Protocol):
    """One circuit per domain. `now` is in seconds; a backend with a clock of its own ignores it."""

    async def allow(self, domain: str, now: float, token: str | None = None) -> Permission:
        """Permission for one request. Half open: at most as many probes as configured, each a lease.

        A `token` names the probe: whoever asks twice with one token makes one probe.
        """

    async def confirm(
        self, domain: str, permission: Permission, now: float, token: str | None = None
    ) -> Permission:
        """The same permission if it still holds after a wait; otherwise what `allow` says now."""

    async def renew(self, domain: str, token: str, now: float) -> bool:
        """Begin the lease of a living probe anew; False where there is none."""

    async def record(
        self, domain: str, permission: Permission, *, ok: bool, now: float, block_kind: str | None = None
    ) -> None:
        """A result. One of another generation, or of a probe whose lease ended, changes nothing."""

    async def cancel(self, domain: str, permission: Permission) -> None:
        """The permission led to no result: a probe may be made again, nothing is counted."""

    async def get_state(self, domain: str) -> CircuitStatus:
        """The domain's circuit; closed and untouched where nothing is known."""

    async def get_all_states(self) -> Mapping[str, CircuitStatus]:
        """The circuits of all domains that were asked about."""


class MemoryCircuitBreaker:
    """The breaker of one process. Safe within one event loop: no method gives up control."""

    def __init__(self, rules: BreakerRules, random: Callable[[], float]) -> None:
        self._rules = rules
        self._random = random
        self._circuits: dict[str, Circuit] = {}

    async def allow(self, domain: str, now: float, token: str | None = None) -> Permission:
        """See `CircuitBreaker`."""
        return self._circuit(domain).allow(now, token)

    async def confirm(
        self, domain: str, permission: Permission, now: float, token: str | None = None
    ) -> Permission:
        """See `CircuitBreaker`."""
        return self._circuit(domain).confirm(permission, now, token)

    async def renew(self, domain: str, token: str, now: float) -> bool:
        """See `CircuitBreaker`."""
        return self._circuit(domain).renew(token, now)

    async def record(
        self, domain: str, permission: Permission, *, ok: bool, now: float, block_kind: str | None = None
    ) -> None:
        """See `CircuitBreaker`."""
        self._circuit(domain).record(permission, now, block_kind, ok=ok)

    async def cancel(self, domain: str, permission: Permission) -> None:
        """See `CircuitBreaker`."""
        self._circuit(domain).cancel(permission)

    async def get_state(self, domain: str) -> CircuitStatus:
        """See `CircuitBreaker`."""
        circuit = self._circuits.get(domain)
        return _status(circuit) if circuit else CircuitStatus()

    async def get_all_states(self) -> Mapping[str, CircuitStatus]:
        """See `CircuitBreaker`."""
        return {domain: _status(circuit) for domain, circuit in self._circuits.items()}

    def _circuit(self, domain: str) -> Circuit:
        if domain not in self._circuits:
            self._circuits[domain] = Circuit(self._rules, self._random)
        return self._circuits[domain]


def _status(circuit: Circuit) -> CircuitStatus:
    return CircuitStatus(
        state=circuit.state,
        generation=circuit.generation,
        failures=circuit.window.in_a_row,
        opened_at=circuit.opened_at,
        last_block=circuit.last_block,
        allowed=circuit.allowed,
        refused=circuit.refused,
    )
