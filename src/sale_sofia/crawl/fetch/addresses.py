"""Which addresses may be requested: the portal's own hosts over http(s), nothing in a private network."""

import asyncio
import ipaddress
import re
import socket
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from sale_sofia.crawl.resilience.errors import ForeignAddress, NetworkDns, PrivateAddress

PORTS: Final = {"http": 80, "https": 443}
LOCALHOST: Final = "localhost"
_WITH_IPV4_AT_THE_END: Final = tuple(map(ipaddress.IPv6Network, ("::ffff:0:0/96", "64:ff9b::/96", "::/96")))
# Parsers of addresses disagree on these, so a host could be read as one name here and another in curl.
UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\]")
_PLAIN_ORIGIN: Final = re.compile(r"(?P<scheme>https?)://(?P<netloc>[a-z0-9.-]+(?::[0-9]+)?)(?:[/?#]|\Z)")
"""Origins that all parsers read alike."""


@dataclass(frozen=True, slots=True)
class CheckedAddress:
    """An address that may be requested, and the IP addresses that were checked for it."""

    url: str
    host: str
    port: int
    addresses: tuple[str, ...]
    """Empty where the host is an IP address itself or `localhost`: nothing is left to look up."""

    @property
    def pin(self) -> str | None:
        """Curl's RESOLVE entry: connect only to the checked addresses, wherever the name leads by then."""
        if not self.addresses:
            return None
        # No leading plus: with one the entry would expire and curl would look the name up itself.
        return f"{self.host}:{self.port}:{','.join(self.addresses)}"


class AddressGuard:
    """Decides which addresses may be requested. Look-ups never block the loop; cached `dns_cache_seconds`."""

    def __init__(self, dns_cache_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = dns_cache_seconds
        self._clock = clock
        self._resolved: dict[tuple[str, int], tuple[float, tuple[str, ...]]] = {}
        self._allowed: dict[tuple[str, str, frozenset[str]], tuple[str, int, bool]] = {}

    async def check(
        self, url: str, hosts: frozenset[str], *, looked_up_elsewhere: bool = False
    ) -> CheckedAddress:
        """The target behind an address; behind a proxy its name is looked up there, and nothing is pinned.

        Raises:
            ForeignAddress: no http(s) address, or its host is not among `hosts`.
            PrivateAddress: it leads into a private network and is not itself a private address in `hosts`.
            NetworkDns: the name is unknown.
        """
        # The same few origins are checked for every page.
        origin = None if UNSAFE.search(url) else _PLAIN_ORIGIN.match(url)
        key = (origin["scheme"], origin["netloc"], hosts) if origin else None
        if key is None or key not in self._allowed:
            parts = _split(url)
            key = (parts.scheme, parts.netloc, hosts)
            self._allowed[key] = _allowed(parts, hosts)
        host, port, needs_look_up = self._allowed[key]
        if not needs_look_up or looked_up_elsewhere:
            return CheckedAddress(url, host, port, ())
        addresses = await self._look_up(host, port)
        if private := [text for text in addresses if is_private(text)]:
            raise PrivateAddress(f"{host} leads to the private address {private[0]}")
        return CheckedAddress(url, host, port, addresses)

    async def _look_up(self, host: str, port: int) -> tuple[str, ...]:
        expires, addresses = self._resolved.get((host, port), (0.0, ()))
        if addresses and self._clock() < expires:
            return addresses
        try:
            entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise NetworkDns(f"{host}: {error.strerror or error}") from error
        addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))
        self._resolved[host, port] = self._clock() + self._seconds, addresses
        return addresses


def is_private(text: str) -> bool:
    """Whether an IP address is private, loopback, link-local or reserved: not of the public internet."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        # Judge the IPv4 address that a gateway would translate it to (mapped, NAT64, 6to4, Teredo).
        inner = address.sixtofour or (address.teredo[1] if address.teredo else None)
        if any(address in network for network in _WITH_IPV4_AT_THE_END):
            inner = ipaddress.IPv4Address(address.packed[-4:])
        address = inner or address
    return not address.is_global or address.is_multicast


def is_inside(host: str) -> bool:
    """Whether a host is private without a look-up: `localhost`, or a private IP address."""
    return host == LOCALHOST or (_is_literal(host) and is_private(host))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  reading it checks it
    except ValueError:
        raise ForeignAddress(f"not an address: {url!r}") from None
    if parts.scheme not in PORTS or not parts.hostname or "@" in parts.netloc or UNSAFE.search(url):
        raise ForeignAddress(f"not a plain http(s) address: {url!r}")
    return parts


def _allowed(parts: SplitResult, hosts: Collection[str]) -> tuple[str, int, bool]:
    """Host, port, and whether the host is a name that has to be looked up."""
    host = (parts.hostname or "").lower()
    port = parts.port or PORTS[parts.scheme]
    # The spellings of this host in `hosts`: a default port may be given or left out.
    bracketed = f"[{host}]" if ":" in host else host
    names = {f"{bracketed}:{port}"}
    if port == PORTS[parts.scheme]:
        names |= {host, bracketed}
    if names.isdisjoint(hosts):
        if is_inside(host):
            raise PrivateAddress(f"no start address names the private host {host}")
        raise ForeignAddress(f"{host} is not one of {', '.join(sorted(hosts)) or 'no hosts'}")
    if host == LOCALHOST or _is_literal(host):
        return host, port, False
    try:
        return host.encode("idna").decode("ascii"), port, True
    except UnicodeError:
        raise ForeignAddress(f"not a host name: {host!r}") from None


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
