"""Whether and when a page that was not had is asked for again."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from sale_sofia.resilience.errors import CrawlError
from sale_sofia.resilience.gate import Refusal
from sale_sofia.resilience.outcome import Judged
from sale_sofia.resilience.policy import RetryRules


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again after `delay_seconds`."""

    delay_seconds: float
    burns_attempt: bool
    """False: this try says nothing of the page and does not count among its attempts."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Never again in this job."""

    reason: str


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential waits with jitter. Guarantee: never sooner than a Retry-After, never past the attempts."""

    rules: RetryRules
    random: Callable[[], float]
    """Chance, from 0 to below 1."""

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after the try with this number (the first is 1)."""
        waited = self._backoff(attempt) * (1 - self.rules.jitter_factor * self.random())
        return max(waited, min(retry_after or 0.0, self.rules.retry_after_max_seconds))

    def exhausted(self, attempts: int) -> bool:
        """Whether a page that was tried so often has had all its tries."""
        return attempts >= self.rules.max_attempts

    def plan(self, what: CrawlError | Judged | Refusal, attempts: int) -> RetryAt | GiveUp:
        """What to do after this result of the try with the number `attempts`.

        Rate limits and refusals of the gate say when to come back and use up no attempt.
        """
        if isinstance(what, Refusal):
            return RetryAt(what.retry_after_seconds, burns_attempt=False)
        if not what.retry:
            return GiveUp(f"{_name(what)}: trying again would not help")
        asked = None if isinstance(what, CrawlError) else what.retry_after_seconds
        if _name(what) == "rate_limited":
            return RetryAt(self.delay(attempts, asked), burns_attempt=False)
        if self.exhausted(attempts):
            return GiveUp(f"{_name(what)}: all {attempts} attempts used")
        return RetryAt(self.delay(attempts, asked), burns_attempt=True)

    def _backoff(self, attempt: int) -> float:
        rules = self.rules
        doublings = math.log(rules.max_delay_seconds / rules.base_delay_seconds, rules.step)
        exponent = min(attempt - 1, math.ceil(doublings))
        return min(rules.max_delay_seconds, rules.base_delay_seconds * rules.step**exponent)


def _name(what: CrawlError | Judged) -> str:
    return type(what).__name__ if isinstance(what, CrawlError) else what.kind
