"""Whether and when a page that was not had is asked for again."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sale_sofia.resilience.actions import Action
from sale_sofia.resilience.errors import CrawlError
from sale_sofia.resilience.policy import RetryRules


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
