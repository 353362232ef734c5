"""The pool's model: proxies with their last check, leases, and outcomes of requests."""

import hashlib
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, Self, get_args
from urllib.parse import quote, unquote

from sale_sofia.crawl.resilience.errors import Action, ServiceProxy
from sale_sofia.proxies.settings import LINE_MAX_CHARACTERS

Scheme = Literal["http", "https", "socks5"]
MASK: Final = "***"
_SCHEMES: Final[dict[str, Scheme]] = {
    "http": "http",
    "https": "https",
    "socks5": "socks5",
    "socks5h": "socks5",
}
_ADDRESS: Final = re.compile(
    r"(?:(?P<scheme>[a-z0-9]+)://)?"
    r"(?:(?P<user>[^:@/\s]+):(?P<password>[^@/\s]*)@)?"
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:@/\s\[\]]+):(?P<port>[0-9]{1,5})/?"
)
_FOUR_PARTS: Final = re.compile(
    r"(?P<host>[^:@/\s]+):(?P<port>[0-9]{1,5}):(?P<user>[^:@/\s]+):(?P<password>\S+)"
)
_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
_LAST_LABEL: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_MOST_PORT: Final = 65_535


class NotAProxy(ValueError):
    """A text that is no proxy; the message never repeats a password."""


@dataclass(frozen=True, slots=True)
class ProxyAddress:
    """Scheme, place and login of a proxy; its password is masked whenever it is printed."""

    scheme: Scheme
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def place(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def masked(self) -> str:
        """The address for people and logs, without its password."""
        return self._url(MASK)

    @property
    def secret_url(self) -> str:
        """The address with its password; only for the pool's store and files private to their owner."""
        return self._url(quote(self.password, safe=""))

    @property
    def id(self) -> str:
        """A short hash without the password; another user of the same place is another proxy."""
        identity = f"{self.scheme}://{self.user}@{self.place}"
        return hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()[:12]

    def _url(self, password: str) -> str:
        login = f"{quote(self.user, safe='')}:{password}@" if self.user else ""
        return f"{self.scheme}://{login}{self.place}"

    def __str__(self) -> str:
        return self.masked


def parse_proxy(text: str, default: Scheme = "http") -> ProxyAddress:
    """Parse `[scheme://][user:password@]host:port` or `host:port:user:password`; or raise `NotAProxy`."""
    line = text.strip()
    if len(line) > LINE_MAX_CHARACTERS:
        raise NotAProxy("the line is too long for a proxy")
    match = _ADDRESS.fullmatch(line) or _FOUR_PARTS.fullmatch(line)
    if match is None:
        raise NotAProxy("expected [scheme://][user:password@]host:port")
    parts = match.groupdict()
    port = int(parts["port"])
    if not 0 < port <= _MOST_PORT:
        raise NotAProxy(f"no port {port}; allowed are 1 to {_MOST_PORT}")
    scheme = parts.get("scheme") or default
    if scheme not in _SCHEMES:
        raise NotAProxy(f"no scheme {scheme}; allowed are {', '.join(sorted(_SCHEMES))}")
    address = ProxyAddress(
        _SCHEMES[scheme],
        parse_host(parts["host"].lower()),
        port,
        unquote(parts["user"] or ""),
        unquote(parts["password"] or ""),
    )
    _check_storable(address)
    return address


def _check_storable(address: ProxyAddress) -> None:
    """Raise `NotAProxy` for a login that is too long once quoted, or has half a character (as in JSON)."""
    try:
        is_too_long = bool(address.user) and len(address.secret_url) > LINE_MAX_CHARACTERS
    except UnicodeEncodeError:
        raise NotAProxy("a login that cannot be sent") from None
    if is_too_long:
        raise NotAProxy("the login is too long for a proxy")


def parse_host(host: str) -> str:
    """Check an IP address or lower-case host name; `NotAProxy` for what parsers disagree on."""
    if _IPV4.fullmatch(host):  # nearly all are, and this is ten times faster
        return host
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        pass
    if not _NAME.fullmatch(host) or _LAST_LABEL.fullmatch(host.rpartition(".")[2]):
        raise NotAProxy("no host name and no IP address")
    return host


EVERYWHERE: Final = "*"
"""Stands for all portals together."""
Tier = Literal["own", "free", "paid"]
TIERS: tuple[Tier, ...] = get_args(Tier)
"""In the order of their price."""
Anonymity = Literal["unknown", "transparent", "anonymous", "elite"]
"""transparent: it reveals our address; anonymous: only that it is a proxy; elite: neither."""
UseKind = Literal["ok", "blocked", "transport", "target", "rate_limited", "neutral"]
"""ok: the page came; blocked: that portal blocks this address; transport: the proxy failed; target: the
portal's own 404 or 5xx; rate_limited: too many requests of ours; neutral: nothing was learned."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy with what its last check found."""

    address: ProxyAddress
    tier: Tier = "free"
    source: str = ""
    exit_address: str = ""
    anonymity: Anonymity = "unknown"
    checked_at: float = 0.0

    @property
    def id(self) -> str:
        """Its name in the pool."""
        return self.address.id

    def as_record(self) -> dict[str, Any]:
        """Return the record that the pool stores, password included."""
        return {**asdict(self), "address": self.address.secret_url}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Restore a proxy from `as_record`."""
        return cls(**{**record, "address": parse_proxy(record["address"])})


@dataclass(frozen=True, slots=True)
class Lease:
    """A proxy reserved for one portal until it is reported or the lease expires."""

    proxy: Proxy
    domain: str
    token: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class NoProxy:
    """No proxy is ready now. Nothing may go out directly instead."""

    retry_after_seconds: float | None
    """When one will be ready; None if there is none at all."""


@dataclass(frozen=True, slots=True)
class Use:
    """The outcome of a request through a proxy."""

    kind: UseKind
    seconds: float | None = None
    """How long the answer took."""
    retry_after_seconds: float = 0.0
    why: str = ""
    """For people."""


@dataclass(frozen=True, slots=True)
class ProxyQuery:
    """Which proxy to pick."""

    tiers: tuple[Tier, ...] = TIERS
    session: str | None = None
    """Requests of one session get the same proxy, while it works."""
    exclude: tuple[str, ...] = ()
    """Proxies that this request has tried already."""
    only: str = ""
    """This proxy or none."""


@dataclass(frozen=True, slots=True)
class DomainStats:
    """How one proxy does on one portal; on `*`, everywhere."""

    id: str
    address: str
    """Masked."""
    tier: str
    expected: float
    """The estimated chance of success."""
    score: float
    """The familiar number: times 1.1 for a success, 0.5 for a failure; it chooses where PROXY_CHOICE says."""
    uses: int
    successes: int
    failures_in_a_row: int
    latency_seconds: float | None
    ready_in_seconds: float
    last_reason: str
    leased: bool
    quarantined: bool


class NoProxyReady(ServiceProxy):
    """No proxy is ready, and nothing was sent; a few of these open the circuit, and pages wait."""

    counts_against_domain = True


class NoWayOut(ServiceProxy):
    """Every step of the ladder was taken: the domain's circuit breaker opens."""

    action = Action.OPEN_CIRCUIT
    counts_against_domain = True
