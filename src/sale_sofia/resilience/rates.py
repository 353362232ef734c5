"""Rates that make sense: everything else is refused before it can stop a domain or flood it."""

from dataclasses import dataclass

from sale_sofia.config.resilience import RATE_MAX_PER_MINUTE


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
