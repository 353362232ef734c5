"""Whether a service that runs is also at work: it gives a sign of life now and then, or it hangs."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sale_sofia.config.services import SERVICE_SILENT_SECONDS, SERVICE_START_SECONDS

Sign = tuple[object, float | None]
"""Which start of a service, and its last sign of life."""


@dataclass(slots=True)
class Liveness:
    """How long each service has been silent, by our own clock: the wall's may be set meanwhile."""

    silent_seconds: float = SERVICE_SILENT_SECONDS
    clock: Callable[[], float] = time.monotonic
    _heard: dict[str, tuple[Sign, float]] = field(default_factory=dict)

    def hangs(self, name: str, sign: Sign) -> bool:
        """Whether it has given no other sign than this one for too long; one that starts has more time."""
        known, since = self._heard.get(name, (None, 0.0))
        if known != sign:
            self._heard[name] = (sign, self.clock())
            return False
        patience = SERVICE_START_SECONDS if sign[1] is None else self.silent_seconds
        return self.clock() - since > patience

    def excuse_all(self) -> None:
        """What is silent now has a reason, such as a Redis that is gone: it is looked at anew."""
        self._heard.clear()
