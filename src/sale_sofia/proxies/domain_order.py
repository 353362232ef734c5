"""In which order a portal's proxies come up: the longest rested first, proven ones apart from the others."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from heapq import nsmallest

from sale_sofia.proxies.belief import Belief

Order = dict[str, float]
"""When each proxy is ready."""


@dataclass(slots=True)
class DomainOrder:
    """One portal's proxies: each stands in one of two orders of its tier."""

    beliefs: dict[str, Belief] = field(default_factory=dict)
    proven: dict[str, Order] = field(default_factory=dict)
    idle: dict[str, Order] = field(default_factory=dict)

    def belief(self, proxy_id: str) -> Belief:
        """What is believed of a proxy here; a new one is not known yet."""
        return self.beliefs.setdefault(proxy_id, Belief())

    def orders(self, tiers: Iterable[str]) -> list[Order]:
        """Both orders of each tier."""
        return [side.setdefault(tier, {}) for tier in tiers for side in (self.proven, self.idle)]

    def is_proven(self, proxy_id: str) -> bool:
        """Whether its last answer here was a page."""
        return any(proxy_id in order for order in self.proven.values())

    def proven_soon(self, tiers: Iterable[str], exclude: Collection[str]) -> float | None:
        """When the first proven one is ready."""
        times = [earliest(self.proven.get(tier, {}), exclude) for tier in tiers]
        return min((one for one in times if one is not None), default=None)

    def all_orders(self) -> list[Order]:
        """Every order there is."""
        return [*self.proven.values(), *self.idle.values()]

    def order_of(self, proxy_id: str) -> Order | None:
        """Where a proxy stands; None where it is not to be handed out."""
        return next((order for order in self.all_orders() if proxy_id in order), None)

    def add(self, proxy_id: str, tier: str) -> None:
        """Let it stand in its tier, as it did if it stands there already."""
        order = self.order_of(proxy_id)
        if order is None:
            self.idle.setdefault(tier, {})[proxy_id] = 0.0
        elif not any(order is one for one in self.orders([tier])):  # equal orders are not the same
            del order[proxy_id]
            self.idle[tier][proxy_id] = 0.0

    def drop(self, proxy_id: str) -> None:
        """Hand it out no more."""
        for order in self.all_orders():
            order.pop(proxy_id, None)

    def place(self, proxy_id: str, tier: str, ready_at: float, *, proven: bool | None) -> None:
        """Stand in the right order from now on; one that is not to be handed out stays away."""
        order = self.order_of(proxy_id)
        if order is None:
            return
        if proven is not None:
            del order[proxy_id]
            order = (self.proven if proven else self.idle).setdefault(tier, {})
        order[proxy_id] = ready_at


def rested(order: Order, now: float, most: int) -> list[str]:
    """The first few that are ready."""
    found = nsmallest(most, ((ready_at, name) for name, ready_at in order.items() if ready_at <= now))
    return [name for _, name in found]


def earliest(order: Order, exclude: Collection[str]) -> float | None:
    """When the first of those not excluded is ready."""
    return min((ready_at for name, ready_at in order.items() if name not in exclude), default=None)
