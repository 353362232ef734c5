"""All numbers of the pool in one object, as both backends know them."""

from dataclasses import dataclass
from typing import Self

from sale_sofia.config import proxies as fixed
from sale_sofia.config.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRules:
    """How proxies are believed in, rested and leased."""

    spacing_seconds: float
    lease_seconds: float
    decay: float = fixed.BELIEF_DECAY
    failure_decay: float = fixed.FAILURE_DECAY
    elsewhere: float = fixed.ELSEWHERE_WEIGHT
    latency_half_seconds: float = fixed.LATENCY_HALF_SECONDS
    latency_weight: float = fixed.LATENCY_WEIGHT
    candidates: int = fixed.CANDIDATES
    explored: int = fixed.EXPLORED
    doubt_patience_seconds: float = fixed.DOUBT_PATIENCE_SECONDS
    transport_seconds: float = fixed.TRANSPORT_COOLDOWN_SECONDS
    transport_max_seconds: float = fixed.TRANSPORT_COOLDOWN_MAX_SECONDS
    block_seconds: float = fixed.BLOCK_COOLDOWN_SECONDS
    block_max_seconds: float = fixed.BLOCK_COOLDOWN_MAX_SECONDS
    jitter: float = fixed.COOLDOWN_JITTER
    retry_after_max_seconds: float = fixed.RETRY_AFTER_MAX_SECONDS
    sticky_seconds: float = fixed.STICKY_SECONDS
    session_patience_seconds: float = fixed.PATIENCE_FOR_SESSION_SECONDS
    score_up: float = fixed.SCORE_UP
    score_down: float = fixed.SCORE_DOWN
    score_least: float = fixed.SCORE_LEAST
    score_most: float = fixed.SCORE_MOST
    ready_within_seconds: float = fixed.READY_WITHIN_SECONDS
    ready_above: float = fixed.READY_ABOVE
    missed_sweeps: int = fixed.MISSED_SWEEPS

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """What people set, taken from the settings; everything else as it is fixed in `config`."""
        return cls(
            spacing_seconds=settings.proxy_spacing,
            lease_seconds=settings.proxy_timeout + fixed.LEASE_MARGIN_SECONDS,
        )
