"""All numbers of this package in one object: those from the settings, and the fixed ones."""

from dataclasses import dataclass, field
from typing import Self

from sale_sofia.crawl.resilience import settings as fixed
from sale_sofia.settings.model import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class LimiterRules:
    """How a domain's pace slows down after penalties and recovers."""

    burst: int = fixed.RATE_BURST
    slow_step: float = 2.0
    """A penalty multiplies the time between two requests by this."""
    slow_max: float = 16.0
    """A domain is never made slower than its own rate divided by this."""
    recovery_successes: int = 5
    """Good answers in a row before a slowed domain becomes a little faster."""
    recovery_factor: float = 0.9
    """What is left of the slow factor after that; about 35 good answers undo one penalty."""
    penalty_seconds: float = 30.0
    """Pause after "too many requests" that did not say how long."""
    retry_after_max_seconds: float = fixed.RETRY_AFTER_MAX_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerRules:
    """When a domain's circuit opens, for how long, and how it is tested."""

    fail_max: int
    """Failures in a row that open it."""
    reset_timeout_seconds: float
    """How long it stays open the first time."""
    half_open_calls: int
    """Probes at once, and successes that close it."""
    window_seconds: float = 300.0
    """Failures older than this do not count."""
    window_buckets: int = 10
    """Parts of the window; the oldest expires as a whole."""
    min_volume: int = 20
    """Answers in the window below which their failure rate means nothing; two minutes at ten a minute."""
    failure_rate: float = 0.5
    """Share of failures in the window that opens the circuit, even with successes between them."""
    reset_step: float = 2.0
    """A circuit whose test failed stays open this many times longer than before."""
    reset_max_seconds: float = fixed.RESET_TIMEOUT_MAX_SECONDS
    reset_jitter: float = fixed.RESET_JITTER
    probe_lease_seconds: float = fixed.PROBE_LEASE_SECONDS
    probe_busy_seconds: float = 5.0
    """When to ask again while all test requests of a half-open circuit are under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkheadRules:
    """How long a place is leased, and when to try again while all are taken."""

    lease_seconds: float = fixed.PLACE_LEASE_SECONDS
    busy_seconds: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """How often and how late a failed page is retried."""

    max_attempts: int
    base_delay_seconds: float
    """Wait after the first try."""
    max_delay_seconds: float
    jitter_factor: float
    """Largest random share taken off a wait."""
    step: float = 2.0
    """Each further wait is this many times the one before."""
    retry_after_max_seconds: float = fixed.RETRY_AFTER_MAX_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBudgetRules:
    """How many retries a domain can pay for."""

    share: float = 0.2
    """Retries that one first try pays for."""
    per_minute: float = 1.0
    """Retries a domain may have per minute however few first tries it had."""
    most: float = 10.0
    """Most retries that can be saved up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResilienceConfig:
    """Everything the limiter, the breaker, the bulkhead and the retries need to know."""

    breaker: BreakerRules
    retry: RetryRules
    limiter: LimiterRules = field(default_factory=LimiterRules)
    bulkhead: BulkheadRules = field(default_factory=BulkheadRules)
    retry_budget: RetryBudgetRules = field(default_factory=RetryBudgetRules)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """The configured numbers from the settings, all others as fixed above."""
        return cls(
            breaker=BreakerRules(
                fail_max=settings.circuit_breaker_fail_max,
                reset_timeout_seconds=settings.circuit_breaker_reset_timeout,
                half_open_calls=settings.circuit_breaker_half_open_calls,
            ),
            retry=RetryRules(
                max_attempts=settings.retry_max_attempts,
                base_delay_seconds=settings.retry_base_delay,
                max_delay_seconds=settings.retry_max_delay,
                jitter_factor=settings.retry_jitter_factor,
            ),
            bulkhead=BulkheadRules(lease_seconds=min(fixed.PLACE_LEASE_SECONDS, settings.lease_seconds)),
        )


def checked_rate(domain: str, per_minute: float) -> float:
    """The rate itself, if it is valid; a wrong one would stop a domain or flood it.

    Raises `ValueError`: it is not a number above 0 and at most the largest allowed.
    """
    if 0 < per_minute <= fixed.RATE_MAX_PER_MINUTE:
        return per_minute
    raise ValueError(
        f"The rate of {domain} is {per_minute!r}; allowed are requests per minute above 0, "
        f"up to {fixed.RATE_MAX_PER_MINUTE:g}."
    )


@dataclass(frozen=True, slots=True)
class RateShare:
    """A domain's rate, and among how many processes it is shared."""

    per_minute: float
    workers: int

    @property
    def own_per_minute(self) -> float:
        """The rate of each process while they cannot coordinate."""
        return self.per_minute / max(1, self.workers)
