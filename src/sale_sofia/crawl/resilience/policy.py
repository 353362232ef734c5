"""All numbers of this package in one object: the ones people set, and the ones that are fixed."""

from dataclasses import dataclass, field
from typing import Self

from sale_sofia.crawl.resilience import settings as fixed
from sale_sofia.crawl.resilience.settings import RATE_MAX_PER_MINUTE
from sale_sofia.settings.model import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class LimiterRules:
    """How a domain's pace bends under penalties and recovers."""

    burst: int = fixed.RATE_BURST
    """Requests at once after a rest; at least 1."""
    slow_step: float = fixed.SLOW_STEP
    slow_max: float = fixed.SLOW_MAX
    recovery_successes: int = fixed.RECOVERY_SUCCESSES
    recovery_factor: float = fixed.RECOVERY_FACTOR
    penalty_seconds: float = fixed.PENALTY_SECONDS
    """Pause where no Retry-After was given."""
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
    window_seconds: float = fixed.FAILURE_WINDOW_SECONDS
    window_buckets: int = fixed.FAILURE_WINDOW_BUCKETS
    min_volume: int = fixed.FAILURE_MIN_VOLUME
    failure_rate: float = fixed.FAILURE_RATE
    reset_step: float = fixed.RESET_TIMEOUT_STEP
    reset_max_seconds: float = fixed.RESET_TIMEOUT_MAX_SECONDS
    reset_jitter: float = fixed.RESET_JITTER
    probe_lease_seconds: float = fixed.PROBE_LEASE_SECONDS
    probe_busy_seconds: float = fixed.PROBE_BUSY_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkheadRules:
    """How long a place is held at most, and when to ask again while all are taken."""

    lease_seconds: float = fixed.PLACE_LEASE_SECONDS
    busy_seconds: float = fixed.PLACE_BUSY_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """How often and how late a failed page is asked for again."""

    max_attempts: int
    base_delay_seconds: float
    """Wait after the first try."""
    max_delay_seconds: float
    jitter_factor: float
    """Share of a wait that chance may take away."""
    step: float = fixed.RETRY_STEP
    retry_after_max_seconds: float = fixed.RETRY_AFTER_MAX_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBudgetRules:
    """How many retries a domain can pay for."""

    share: float = fixed.RETRY_BUDGET_SHARE
    per_minute: float = fixed.RETRY_BUDGET_PER_MINUTE
    most: float = fixed.RETRY_BUDGET_MAX


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
        """What people set, taken from the settings; everything else as it is fixed in `config`."""
        lease = min(fixed.PLACE_LEASE_SECONDS, settings.lease_seconds)
        return cls(
            breaker=_breaker_rules(settings),
            retry=_retry_rules(settings),
            bulkhead=BulkheadRules(lease_seconds=lease),
        )


def _breaker_rules(settings: Settings) -> BreakerRules:
    return BreakerRules(
        fail_max=settings.circuit_breaker_fail_max,
        reset_timeout_seconds=settings.circuit_breaker_reset_timeout,
        half_open_calls=settings.circuit_breaker_half_open_calls,
    )


def _retry_rules(settings: Settings) -> RetryRules:
    return RetryRules(
        max_attempts=settings.retry_max_attempts,
        base_delay_seconds=settings.retry_base_delay,
        max_delay_seconds=settings.retry_max_delay,
        jitter_factor=settings.retry_jitter_factor,
    )


# Rates that make sense: everything else is refused before it can stop a domain or flood it.


def checked_rate(domain: str, per_minute: float) -> float:
    """The rate itself.

    Raises:
        ValueError: it is not a number above 0 and at most the largest allowed.
    """
    if 0 < per_minute <= RATE_MAX_PER_MINUTE:
        return per_minute
    raise ValueError(
        f"The rate of {domain} is {per_minute!r}; allowed are requests per minute above 0, "
        f"up to {RATE_MAX_PER_MINUTE:g}."
    )


@dataclass(frozen=True, slots=True)
class Share:
    """A domain's rate, and among how many processes it is shared."""

    per_minute: float
    workers: int

    @property
    def own_per_minute(self) -> float:
        """What each of them may send when they cannot hear of each other."""
        return self.per_minute / max(1, self.workers)
