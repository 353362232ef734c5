"""The scored pool that all workers share: one protocol, kept in memory or in Redis."""

from collections.abc import Sequence
from typing import Protocol

from sale_sofia.proxies.model import DomainStats, Lease, NoProxy, Proxy, Use, Wish

EVERYWHERE = "*"


class ScoredProxyPool(Protocol):
    """Proxies with what is believed of each on each portal.

    Picking and reporting are one atomic operation each: no proxy is ever given to two for the same portal,
    and a report counts once. A failure never deletes a proxy.
    """

    async def pick(self, domain: str, wish: Wish) -> Lease | NoProxy:
        """A proxy that is ready for the portal, leased; or when to ask again."""

    async def report(self, lease: Lease, use: Use) -> bool:
        """End the lease and learn from it; False where it had been lost to another or told before."""

    async def renew(self, lease: Lease) -> bool:
        """Keep the lease for another while; False where it is lost."""

    async def put(self, proxy: Proxy) -> bool:
        """Make a proxy that was found alive available at once; True where it was not known before."""

    async def missed(self, proxy_id: str, why: str) -> bool:
        """A check found it dead: it rests everywhere, and is forgotten after a few such checks in a row.

        True where it was forgotten.
        """

    async def note(self, proxy_id: str, domain: str, use: Use) -> None:
        """Learn from a request that needed no lease, as a canary's."""

    async def quarantine(self, proxy_id: str, why: str) -> None:
        """Never hand it out again until a check finds it clean."""

    async def remove(self, proxy_ids: Sequence[str]) -> int:
        """Forget proxies for a person's sake; how many were known."""

    async def ready(self, domain: str) -> int:
        """How many could be used for the portal within a minute, with a fair chance."""

    async def known(self) -> list[Proxy]:
        """Every proxy, quarantined ones too."""

    async def domains(self) -> list[str]:
        """The portals that proxies were asked for."""

    async def get_stats(self, domain: str) -> list[DomainStats]:
        """How each proxy does on a portal; on `*`, everywhere."""

    async def climbed(self, domain: str, rung: str) -> None:
        """Count a step of the recovery ladder."""

    async def climbs(self, domain: str) -> dict[str, int]:
        """How often each step was taken."""

    async def close(self) -> None:
        """Let go of connections; what is shared outlives it."""
