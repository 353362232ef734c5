"""Wrong passwords are slowed down: each makes its sender wait twice as long as the one before."""

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from sale_sofia.config.dashboard_server import (
    DASHBOARD_TRIES_FORGOTTEN_SECONDS,
    DASHBOARD_TRIES_KNOWN,
    DASHBOARD_TRY_MOST_SECONDS,
    DASHBOARD_TRY_SECONDS,
)

_NETWORK_BITS: Final = 64
"""One household has so many bits of an IPv6 address; the rest it can change at will."""


class _Wrong(NamedTuple):
    tries: int
    at: float


class Tries:
    """Wrong tries of each sender; of very many senders the longest silent are forgotten."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, _Wrong] = OrderedDict()

    def wait_of(self, host: str) -> int:
        """Whole seconds until this sender may try again; 0: now."""
        found = self._wrong.get(_sender(host))
        return 0 if found is None else max(0, math.ceil(found.at + _pause(found.tries) - self._clock()))

    def note_wrong(self, host: str) -> None:
        """This sender was wrong just now."""
        now, sender = self._clock(), _sender(host)
        before = self._wrong.pop(sender, None)
        again = before is not None and now - before.at < DASHBOARD_TRIES_FORGOTTEN_SECONDS
        self._wrong[sender] = _Wrong(before.tries + 1 if before and again else 1, now)
        if len(self._wrong) > DASHBOARD_TRIES_KNOWN:
            self._wrong.popitem(last=False)

    def forget(self, host: str) -> None:
        """This sender knows the password."""
        self._wrong.pop(_sender(host), None)


def _pause(tries: int) -> float:
    return min(DASHBOARD_TRY_MOST_SECONDS, DASHBOARD_TRY_SECONDS * 2.0 ** min(tries - 1, 32))


def _sender(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    bits = _NETWORK_BITS if address.version == 6 else address.max_prefixlen  # noqa: PLR2004 - IPv6
    return str(ipaddress.ip_network((address, bits), strict=False))
