"""Wrong passwords are slowed down: each makes its sender wait longer, and a little everybody else."""

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
    DASHBOARD_TRY_TOGETHER_SECONDS,
)

_NETWORK_BITS: Final = 64
"""One household has so many bits of an IPv6 address; the rest it can change at will."""


class Sender(NamedTuple):
    """Whoever gives a password."""

    name: str
    known: bool = False
    """A browser that has given the right one before: what strangers try does not hold it up."""


_ALL_STRANGERS: Final = Sender("*")


class _Wrong(NamedTuple):
    tries: int
    at: float


class Tries:
    """Wrong tries of each sender and of all strangers together; of very many the oldest are forgotten.

    Who has many addresses is slowed down by what all of them tried; that wait is short, so that nobody can
    keep the owner out for long.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._wrong: OrderedDict[Sender, _Wrong] = OrderedDict()

    def wait_of(self, sender: Sender) -> int:
        """Whole seconds until this sender may try again; 0: now."""
        own = self._wait(sender, DASHBOARD_TRY_MOST_SECONDS)
        return own if sender.known else max(own, self._wait(_ALL_STRANGERS, DASHBOARD_TRY_TOGETHER_SECONDS))

    def _wait(self, sender: Sender, most: float) -> int:
        found = self._wrong.get(sender)
        if found is None:
            return 0
        pause = min(most, DASHBOARD_TRY_SECONDS * 2.0 ** min(found.tries - 1, 32))
        return max(0, math.ceil(found.at + pause - self._clock()))

    def note_wrong(self, sender: Sender) -> None:
        """This sender was wrong just now."""
        self._note(sender)
        if not sender.known:
            self._note(_ALL_STRANGERS)

    def _note(self, sender: Sender) -> None:
        now, before = self._clock(), self._wrong.pop(sender, None)
        again = before is not None and now - before.at < DASHBOARD_TRIES_FORGOTTEN_SECONDS
        self._wrong[sender] = _Wrong(before.tries + 1 if before and again else 1, now)
        if len(self._wrong) > DASHBOARD_TRIES_KNOWN:
            self._wrong.popitem(last=False)

    def forget(self, sender: Sender) -> None:
        """This sender knows the password."""
        self._wrong.pop(sender, None)


def stranger(host: str) -> Sender:
    """The household of an address; all that have none are one."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return Sender("")
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or ipaddress.ip_network((address, _NETWORK_BITS), strict=False)[0]
    return Sender(str(address))
