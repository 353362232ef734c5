"""Retries are paid for by first tries, so that a failing portal is not asked more than a healthy one."""

from dataclasses import dataclass, replace
from typing import Final, Protocol

from sale_sofia.resilience.policy import RetryBudgetRules

_SECONDS_PER_MINUTE: Final = 60.0


def rules_at(rate: float, rules: RetryBudgetRules) -> RetryBudgetRules:
    """The rules for a domain's own pace, in requests per minute.

    What is left at the end of a crawl is only retries: they get the share of the pace that first tries would
    have paid for, so that a fast portal's last pages do not wait for hours.
    """
    return replace(rules, per_minute=max(rules.per_minute, rules.share * rate))


class RetryBudget(Protocol):
    """A token bucket per domain. `now` is in seconds; a backend with a clock of its own ignores it."""

    async def first_try(self, domain: str, now: float) -> None:
        """A page is asked for the first time: pays for its share of a retry."""

    async def spend(self, domain: str, now: float) -> bool:
        """Whether one retry is paid for; if not, nothing is taken and the page waits longer."""

    async def give_back(self, domain: str, now: float) -> None:
        """A retry that was paid for did not happen."""


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

    async def give_back(self, domain: str, now: float) -> None:
        """See `RetryBudget`."""
        self._add(self._purse(domain, now), 1)

    def _purse(self, domain: str, now: float) -> _Purse:
        purse = self._purses.setdefault(domain, _Purse(min(1.0, self._rules.most), now))
        self._add(purse, max(0.0, now - purse.since) * self._rules.per_minute / _SECONDS_PER_MINUTE)
        purse.since = now
        return purse

    def _add(self, purse: _Purse, tokens: float) -> None:
        purse.tokens = min(self._rules.most, purse.tokens + tokens)
