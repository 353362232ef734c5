"""What the pool speaks of: proxies with what is known of them, leases, and what became of a request."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

from sale_sofia.proxies.address import ProxyAddress, parse_proxy

Tier = Literal["own", "free", "paid"]
TIERS: tuple[Tier, ...] = get_args(Tier)
"""In the order of their price."""
Anonymity = Literal["unknown", "transparent", "anonymous", "elite"]
"""transparent: our address is told on; anonymous: that it is a proxy is; elite: neither."""
UseKind = Literal["ok", "blocked", "transport", "target", "rate_limited", "neutral"]
"""ok: the page came; blocked: that portal keeps this address out; transport: the proxy failed; target: the
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
        """As the pool keeps it, the password included."""
        return {**asdict(self), "address": self.address.secret_url}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What `as_record` gave."""
        return cls(**{**record, "address": parse_proxy(record["address"])})


@dataclass(frozen=True, slots=True)
class Lease:
    """A proxy that is ours on one portal until it is reported, or its time is over."""

    proxy: Proxy
    domain: str
    token: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class NoProxy:
    """None can be had now. Nothing may go out directly instead."""

    retry_after_seconds: float | None
    """When one will be ready; None where none is known at all."""


@dataclass(frozen=True, slots=True)
class Use:
    """What became of a request through a proxy."""

    kind: UseKind
    seconds: float | None = None
    """How long the answer took."""
    retry_after_seconds: float = 0.0
    why: str = ""
    """For people."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Which proxy is wanted."""

    tiers: tuple[Tier, ...] = TIERS
    session: str | None = None
    """The same proxy for all requests of this name, while it is any good."""
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
    """The chance of success that is believed in."""
    score: float
    """The familiar number, for people; it chooses nothing."""
    uses: int
    successes: int
    failures_in_a_row: int
    latency_seconds: float | None
    ready_in_seconds: float
    last_reason: str
    leased: bool
    quarantined: bool
