"""Leave to send one request: used once, soon, and only while the request's place is its own."""

import math
import time
from dataclasses import dataclass, field

from sale_sofia.config.resilience import FRESH_TURN_SECONDS


@dataclass(slots=True, eq=False)
class Hold:
    """Until when a request's place is surely its own, by the monotonic clock; it counts on while we sleep."""

    until: float = math.inf

    @property
    def lasts(self) -> bool:
        """Whether nobody else can have the place."""
        return time.monotonic() < self.until


@dataclass(slots=True, eq=False)
class Turn:
    """One request's turn. Without a gate it never grows old."""

    hold: Hold = field(default_factory=Hold)
    due: float = math.inf
    """The instant it was given for, by the monotonic clock."""
    used: bool = False
    missed: bool = False
    """Whether it was to be used when the place was no longer surely ours; nothing was sent."""

    @property
    def is_fresh(self) -> bool:
        """Whether a request may still be begun: what goes late falls into the time of others."""
        return not (self.used or self.missed) and time.monotonic() - self.due < FRESH_TURN_SECONDS

    def use(self) -> bool:
        """The last question before the first byte: may it go? A second request never may."""
        if self.used:
            return False
        self.missed = not self.hold.lasts
        self.used = not self.missed
        return self.used
