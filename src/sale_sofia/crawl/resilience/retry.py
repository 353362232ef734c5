"""Whether and when a page that was not had is asked for again."""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from sale_sofia.crawl.resilience.errors import Action, CrawlError
from sale_sofia.crawl.resilience.limiter import SECONDS_PER_MINUTE
from sale_sofia.crawl.resilience.policy import RetryBudgetRules, RetryRules
from sale_sofia.crawl.resilience.settings import PROBES_PER_PAGE, QUICK_TRIES, QUICK_TRY_DELAY_SECONDS

PROBED: Final = "probed"
"""What a try that failed as a probe ended in, beside the classes of errors."""


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
        rules = self.rules
        doublings = math.log(rules.max_delay_seconds / rules.base_delay_seconds, rules.step)
        exponent = min(attempt - 1, math.ceil(doublings))
        backoff = min(rules.max_delay_seconds, rules.base_delay_seconds * rules.step**exponent)
        return max(self._shortened(backoff), min(retry_after or 0.0, rules.retry_after_max_seconds))

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

    def forgives(self, tried: Sequence[str]) -> bool:
        """Whether a page that failed as a probe, and in `tried` before, loses no try by it.

        It was asked to learn whether the domain lets anybody in: its answer says nothing of the page.
        """
        return tried.count(PROBED) < PROBES_PER_PAGE

    def _shortened(self, seconds: float) -> float:
        return seconds * (1 - self.rules.jitter_factor * self.random())


def rules_at(rate: float, rules: RetryBudgetRules) -> RetryBudgetRules:
    """The rules for a domain's own pace, in requests per minute.

    What is left at the end of a crawl is only retries: they get the share of the pace that first tries would
    have paid for, so that a fast portal's last pages do not wait for hours.
    """
    return replace(rules, per_minute=max(rules.per_minute, rules.share * rate))


class RetryBudget:
    """Retries are paid for by first tries, so that a failing portal is not asked more than a healthy one.

    A token bucket per domain. In t seconds: at most `most` + share·(first tries) + per_minute·t/60.
    """

    def __init__(self, rules: RetryBudgetRules) -> None:
        self._rules = rules
        self._purses: dict[str, tuple[float, float]] = {}
        """What each domain has saved up, and at which moment."""

    async def first_try(self, domain: str, now: float) -> None:
        """A page is asked for the first time: pays for its share of a retry."""
        self._add(domain, now, self._rules.share)

    async def spend(self, domain: str, now: float) -> bool:
        """Whether one retry is paid for; if not, nothing is taken and the page waits longer."""
        paid = self._add(domain, now, 0.0) >= 1
        if paid:
            self._add(domain, now, -1.0)
        return paid

    async def give_back(self, domain: str, now: float) -> None:
        """A retry that was paid for did not happen."""
        self._add(domain, now, 1.0)

    def _add(self, domain: str, now: float, tokens: float) -> float:
        """What is saved up then, after time has added its share."""
        most = self._rules.most
        saved, since = self._purses.get(domain, (min(1.0, most), now))
        saved = min(most, saved + max(0.0, now - since) * self._rules.per_minute / SECONDS_PER_MINUTE)
        self._purses[domain] = min(most, saved + tokens), now
        return self._purses[domain][0]


T = TypeVar("T")


async def with_quick_try(work: Callable[[], Awaitable[T]], seconds_left: float) -> T:
    """`work`, once more where its error says so and time is left; raises the last error.

    Everything longer waits in the frontier.
    """
    try:
        return await work()  # what goes well at once, as nearly all does, costs nothing more
    except CrawlError as error:
        if not _deserves_one(error):
            raise
        failed = [error]

    from stamina import AsyncRetryingCaller  # noqa: PLC0415 - most crawls never need it
    from stamina.instrumentation import set_on_retry_hooks  # noqa: PLC0415

    async def tried() -> T:
        """To the library, the error is the first try's."""
        if failed:
            raise failed.pop()
        return await work()

    set_on_retry_hooks(())  # it would print a warning for every second try; ours stand in the error log
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
