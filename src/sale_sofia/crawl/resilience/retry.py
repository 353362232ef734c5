"""Whether and when a failed page is retried."""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from sale_sofia.crawl.resilience.errors import Action, CrawlError
from sale_sofia.crawl.resilience.limiter import SECONDS_PER_MINUTE
from sale_sofia.crawl.resilience.policy import RetryBudgetRules, RetryRules
from sale_sofia.crawl.resilience.settings import PROBES_PER_PAGE, QUICK_TRIES, QUICK_TRY_DELAY_SECONDS

PROBED: Final = "probed"
"""Stands among the error classes of earlier tries for one that failed as a probe."""


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again after `delay_seconds`."""

    delay_seconds: float
    action: Action


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No more tries in this job; `action` says what to do instead."""

    reason: str
    action: Action


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential waits with jitter. Guarantee: never sooner than a Retry-After, never past the attempts."""

    rules: RetryRules
    random: Callable[[], float]
    """A random number from 0 to below 1."""

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after the try with this number (the first is 1)."""
        rules = self.rules
        doublings = math.log(rules.max_delay_seconds / rules.base_delay_seconds, rules.step)
        exponent = min(attempt - 1, math.ceil(doublings))
        backoff = min(rules.max_delay_seconds, rules.base_delay_seconds * rules.step**exponent)
        return max(self._shortened(backoff), min(retry_after or 0.0, rules.retry_after_max_seconds))

    def longest_delay(self) -> float:
        """Seconds to wait for a retry that the domain's budget does not cover yet."""
        return self._shortened(self.rules.max_delay_seconds)

    def tries(self, error: type[CrawlError]) -> int:
        """How often a page that ends in this error may be tried: its class's limit, or the general one."""
        most = self.rules.max_attempts
        return most if error.attempts is None else min(error.attempts, most)

    def plan(self, error: CrawlError, attempts: int, tried: Sequence[str] = ()) -> RetryAt | GiveUp:
        """What to do after try number `attempts` ended in this error, and earlier ones in `tried`.

        Each class has its own limit, and all tries together the configured one: a page that fails in
        different ways ends too, and one that failed otherwise before is not given up at its first block.
        """
        kind, most = type(error), self.tries(type(error))
        if most == 0:
            return GiveUp(f"{kind.__name__}: trying again would not help", kind.at_last)
        if tried.count(kind.__name__) + 1 >= most:
            return GiveUp(f"{kind.__name__}: all {most} attempts used", kind.at_last)
        if attempts >= self.rules.max_attempts:
            return GiveUp(f"{kind.__name__}: the last of {attempts} attempts", kind.at_last)
        # The quick second try belongs to the visit; from here on the next try waits.
        action = Action.BACKOFF if kind.action is Action.RETRY_NOW else kind.action
        return RetryAt(self.delay(attempts, error.retry_after_seconds), action)

    def forgives(self, tried: Sequence[str]) -> bool:
        """Whether a page that failed as a probe, after the tries in `tried`, loses no try by it.

        The probe tested the domain: its result says nothing about the page.
        """
        return tried.count(PROBED) < PROBES_PER_PAGE

    def _shortened(self, seconds: float) -> float:
        return seconds * (1 - self.rules.jitter_factor * self.random())


def rules_at(rate: float, rules: RetryBudgetRules) -> RetryBudgetRules:
    """The rules for a domain's own pace, in requests per minute.

    At the end of a crawl only retries are left: they get the share of the pace that first tries would have
    paid for, so that a fast portal's last pages do not wait for hours.
    """
    return replace(rules, per_minute=max(rules.per_minute, rules.share * rate))


class RetryBudget:
    """First tries pay for retries, so that a failing portal gets no more requests than a healthy one.

    A token bucket per domain. In t seconds: at most `most` + share·(first tries) + per_minute·t/60.
    """

    def __init__(self, rules: RetryBudgetRules) -> None:
        self._rules = rules
        self._purses: dict[str, tuple[float, float]] = {}
        """The balance of each domain, and the moment it was computed."""

    async def first_try(self, domain: str, now: float) -> None:
        """Credit a page's first try with its share of a retry."""
        self._add(domain, now, self._rules.share)

    async def spend(self, domain: str, now: float) -> bool:
        """Pay for one retry; False when the balance is too low, and nothing is taken."""
        paid = self._add(domain, now, 0.0) >= 1
        if paid:
            self._add(domain, now, -1.0)
        return paid

    async def give_back(self, domain: str, now: float) -> None:
        """Refund a retry that did not happen."""
        self._add(domain, now, 1.0)

    def _add(self, domain: str, now: float, tokens: float) -> float:
        """Credit what the passed time earned, then `tokens`; returns the balance."""
        most = self._rules.most
        saved, since = self._purses.get(domain, (min(1.0, most), now))
        saved = min(most, saved + max(0.0, now - since) * self._rules.per_minute / SECONDS_PER_MINUTE)
        self._purses[domain] = min(most, saved + tokens), now
        return self._purses[domain][0]


T = TypeVar("T")


async def with_quick_try(work: Callable[[], Awaitable[T]], seconds_left: float) -> T:
    """Run `work`, and once more where its error is RETRY_NOW and time is left; raises the last error.

    Longer waits happen in the frontier.
    """
    try:
        return await work()  # the usual case, success at once, does not load the library
    except CrawlError as error:
        if not _deserves_one(error):
            raise
        failed = [error]

    from stamina import AsyncRetryingCaller  # noqa: PLC0415 - most crawls never need it
    from stamina.instrumentation import set_on_retry_hooks  # noqa: PLC0415

    async def tried() -> T:
        """Replay the first try's error to the library, then try again."""
        if failed:
            raise failed.pop()
        return await work()

    set_on_retry_hooks(())  # no warning for every second try: the error log has them
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
