"""Whether and when a page that was not had is asked for again."""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Protocol, TypeVar

from stamina import AsyncRetryingCaller
from stamina.instrumentation import set_on_retry_hooks

from sale_sofia.crawl.resilience.errors import Action, CrawlError
from sale_sofia.crawl.resilience.policy import RetryBudgetRules, RetryRules
from sale_sofia.crawl.resilience.settings import QUICK_TRIES, QUICK_TRY_DELAY_SECONDS


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again after `delay_seconds`."""

    delay_seconds: float
    action: Action


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Never again in this job; `action` says what is left to do."""

    reason: str
    action: Action


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential waits with jitter. Guarantee: never sooner than a Retry-After, never past the attempts."""

    rules: RetryRules
    random: Callable[[], float]
    """Chance, from 0 to below 1."""

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after the try with this number (the first is 1)."""
        return max(
            self._shortened(self._backoff(attempt)),
            min(retry_after or 0.0, self.rules.retry_after_max_seconds),
        )

    def longest_delay(self) -> float:
        """Seconds to wait for a retry that the domain's budget does not pay for yet."""
        return self._shortened(self.rules.max_delay_seconds)

    def tries(self, error: type[CrawlError]) -> int:
        """How often a page may be asked for that ends in this error: its class's number, or all there are."""
        most = self.rules.max_attempts
        return most if error.attempts is None else min(error.attempts, most)

    def plan(self, error: CrawlError, attempts: int, tried: Sequence[str] = ()) -> RetryAt | GiveUp:
        """What to do after the try with the number `attempts` ended in this error, and others in `tried`.

        Of one class there are as many tries as it says, of all together as many as the setting says: a page
        which fails in turns ends too, and one that was refused otherwise is not given up at its first block.
        """
        kind, most = type(error), self.tries(type(error))
        if most == 0:
            return GiveUp(f"{kind.__name__}: trying again would not help", kind.at_last)
        if tried.count(kind.__name__) + 1 >= most:
            return GiveUp(f"{kind.__name__}: all {most} attempts used", kind.at_last)
        if attempts >= self.rules.max_attempts:
            return GiveUp(f"{kind.__name__}: the last of {attempts} attempts", kind.at_last)
        # The quick second try was made within the visit, or could not be: the next one waits.
        action = Action.BACKOFF if kind.action is Action.RETRY_NOW else kind.action
        return RetryAt(self.delay(attempts, error.retry_after_seconds), action)

    def _shortened(self, seconds: float) -> float:
        return seconds * (1 - self.rules.jitter_factor * self.random())

    def _backoff(self, attempt: int) -> float:
        rules = self.rules
        doublings = math.log(rules.max_delay_seconds / rules.base_delay_seconds, rules.step)
        exponent = min(attempt - 1, math.ceil(doublings))
        return min(rules.max_delay_seconds, rules.base_delay_seconds * rules.step**exponent)


# Retries are paid for by first tries, so that a failing portal is not asked more than a healthy one.

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


# A quick second try within one visit; everything longer waits in the frontier.

T = TypeVar("T")


async def with_quick_try(work: Callable[[], Awaitable[T]], seconds_left: float) -> T:
    """`work`, once more where its error says so and time is left; raises the last error."""
    try:
        return await work()  # what goes well at once, as nearly all does, costs nothing more
    except CrawlError as error:
        if not _deserves_one(error):
            raise
        first = error
    return await _again(first, work, seconds_left)


async def _again(error: CrawlError, work: Callable[[], Awaitable[T]], seconds_left: float) -> T:
    """The further tries, by the library: to it, the error is the first one's."""
    _be_quiet()
    failed: list[CrawlError] = [error]

    async def tried() -> T:
        if failed:
            raise failed.pop()
        return await work()

    caller = AsyncRetryingCaller(
        attempts=QUICK_TRIES,
        timeout=seconds_left,
        wait_initial=QUICK_TRY_DELAY_SECONDS,
        wait_max=QUICK_TRY_DELAY_SECONDS,
        wait_jitter=0,
    )
    return await caller(_deserves_one, tried)


def _deserves_one(error: Exception) -> bool:
    return isinstance(error, CrawlError) and error.action is Action.RETRY_NOW


@cache
def _be_quiet() -> None:
    """The library would print a warning for every second try; ours stand in the error log."""
    set_on_retry_hooks(())
