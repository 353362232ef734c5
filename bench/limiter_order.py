"""What a worker process of `bench/limiter.py` is asked to do, and what it says afterwards."""

from dataclasses import dataclass, field
from typing import NamedTuple

OURS = "sale-sofia"
WARM_UP = "warm-up"
WARM_UP_PER_MINUTE = 6000


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Take turns at a domain's rate for so long."""

    system: str
    url: str
    domain: str
    per_minute: int
    seconds: float
    waiters: int
    pause_seconds: float = 0.0
    """Between a turn and asking for the next one."""

    def rate_of(self, domain: str) -> int:
        """Per minute; nobody wants to wait long for a warm-up."""
        return WARM_UP_PER_MINUTE if domain == WARM_UP else self.per_minute


class Grant(NamedTuple):
    """One turn of ours, as the server wrote it down."""

    asked: float
    instant: float


class Turn(NamedTuple):
    """One turn of ours, as its caller saw it."""

    asked: float
    wait: float
    """As the server answered."""
    went: float


@dataclass(slots=True)
class Work:
    """What one process did; times are seconds of the machine's clock, which is the server's too."""

    begun: int = 0
    """Turns asked for, the ones still waited for at the end included."""
    went: list[float] = field(default_factory=list)
    """When each turn came."""
    turns: list[Turn] = field(default_factory=list)
    """The same in more detail, of turns of ours that were waited for."""
    control_late: list[float] = field(default_factory=list)
    """How many seconds too late sleeps ended that nothing but the machine delays."""
