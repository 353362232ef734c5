"""What a request's headers give away, by exact names and equal addresses: a likeness proves nothing."""

import ipaddress
import re
from collections.abc import Collection, Sequence
from typing import Final

from sale_sofia.config.proxies import OWN_NETWORK_BITS, OWN_NETWORK_BITS_IPV6
from sale_sofia.proxies.model import Anonymity

Headers = Sequence[tuple[str, str]]
PROXY_HEADERS: Final = frozenset(
    {
        "via", "forwarded", "forwarded-for", "x-forwarded", "x-forwarded-for", "x-forwarded-host",
        "x-forwarded-proto", "x-forwarded-server", "x-real-ip", "client-ip", "x-client-ip", "http-client-ip",
        "true-client-ip", "x-cluster-client-ip", "x-originating-ip", "x-remote-ip", "x-remote-addr",
        "proxy-connection", "x-proxy-id", "x-proxy-connection", "x-bluecoat-via", "cf-connecting-ip",
        "x-cache", "proxy-authorization",
    }
)  # fmt: skip
"""Headers that only something between us and the judge adds."""
_PIECES: Final = re.compile(r'[\s,;="\[\]]+')


def anonymity(headers: Headers, own: Collection[str], baseline: Collection[str]) -> Anonymity:
    """What the headers of a plain request tell; those that come without a proxy too (`baseline`) do not."""
    added = [(name.lower(), value) for name, value in headers if name.lower() not in baseline]
    if any(names_one_of(value, own) for _, value in added):
        return "transparent"
    return "anonymous" if any(name in PROXY_HEADERS for name, _ in added) else "elite"


def names_one_of(value: str, own: Collection[str]) -> bool:
    """Whether one of our addresses stands in a header's value, as a whole."""
    wanted = {address for text in own if (address := as_address(text))}
    return any(as_address(piece) in wanted for piece in _PIECES.split(value) if piece) if wanted else False


def is_own_exit(exit_address: str, own: Collection[str]) -> bool:
    """Whether a portal would see our own network: the same address, or one of the same /24."""
    address = as_address(exit_address)
    return address is not None and any(
        address in network
        for text in own
        if (network := _network(text)) and network.version == address.version
    )


def as_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a text is, with or without a port; None where it is none."""
    for candidate in (text, text.rpartition(":")[0]):
        try:
            address = ipaddress.ip_address(candidate.partition("%")[0])
        except ValueError:
            continue
        return getattr(address, "ipv4_mapped", None) or address
    return None


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    address = as_address(text)
    if address is None:
        return None
    bits = OWN_NETWORK_BITS if isinstance(address, ipaddress.IPv4Address) else OWN_NETWORK_BITS_IPV6
    return ipaddress.ip_network(f"{address}/{bits}", strict=False)
