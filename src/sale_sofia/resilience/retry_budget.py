"""Retries are paid for by first tries, so that a failing portal is not asked more than a healthy one."""

from dataclasses import dataclass
from typing import Final, Protocol

from sale_sofia.resilience.policy import RetryBudgetRules

_SECONDS_PER_MINUTE: Final = 60.0


class RetryBudget(Protocol):
    """A token bucket per domain. `now` is in seconds; a backend with a clock of its own ignores it."""

    async def first_try(self, domain: str, now: float) -> None:
        """A page is asked for the first time: pays for its share of a retry."""

    async def spend(self, domain: str, now: float) -> bool:
        """Whether one retry is paid for; if not, nothing is taken and the page waits longer."""


@dataclass(slots=True)
class _Purse:
    tokens: float
    since: float


class MemoryRetryBudget:
    """The budget of one process. In t seconds: at most `most` + share·(first tries) + per_minute·t/60."""

    def __init__(self, rules: RetryBudgetRules) -> None:
        self._rules = rules
        self._purses: dict[str, _Purse] = {}

    async def first_try(self, domain: str, now: float) -> None:
        """See `RetryBudget`."""
        self._add(self._purse(domain, now), self._rules.share)

    async def spend(self, domain: str, now: float) -> bool:
        """See `RetryBudget`."""
        purse = self._purse(domain, now)
        paid = purse.tokens >= 1
        purse.tokens -= paid
        return paid

    def _purse(self, domain: str, now: float) -> _Purse:
        purse = self._purses.setdefault(domain, _Purse(min(1.0, self._rules.most), now))
        self._add(purse, max(0.0, now - purse.since) * self._rules.per_minute / _SECONDS_PER_MINUTE)
        purse.since = now
        return purse

    def _add(self, purse: _Purse, tokens: float) -> None:
        purse.tokens = min(self._rules.most, purse.tokens + tokens)
