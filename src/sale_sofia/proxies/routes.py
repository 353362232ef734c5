"""From a lease to a way out: proxy, cookies and profile of one session travel together."""

import hashlib
from typing import Final

from sale_sofia.fetching.base import Route
from sale_sofia.proxies.address import ProxyAddress

PROFILES: Final = ("chrome", "firefox", "safari", "edge")
"""Manners of speaking; a session keeps the one its name gave it."""


def route_of(address: ProxyAddress, session: str) -> Route:
    """The way through this proxy, as the visitor of this name."""
    number = int.from_bytes(hashlib.sha256(session.encode()).digest()[:4], "big")
    return Route(
        proxy=f"{address.scheme}://{address.place}",
        session=session,
        profile=PROFILES[number % len(PROFILES)],
        user=address.user,
        password=address.password,
    )
