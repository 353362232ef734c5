"""The pool in this process's memory: for one process, and the measure of the one in Redis."""

import math
import random
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Final

from sale_sofia.proxies.model import DomainStats, Lease, NoProxy, PoolRules, Proxy, Use, Wish
from sale_sofia.proxies.pool import EVERYWHERE
from sale_sofia.proxies.settings import SESSIONS_MOST

# What is believed of one proxy on one portal, or everywhere. Pure: no clock, no storage.

NO_LATENCY = -1.0


@dataclass(slots=True)
class Belief:
    """Decayed counts of successes and failures, beside what people want to see."""

    good: float = 0.0
    bad: float = 0.0
    failures: int = 0
    """In a row."""
    score: float = 1.0
    latency: float = NO_LATENCY
    uses: int = 0
    successes: int = 0
    why: str = ""
    """Of its last failure."""
    token: str = ""
    """Of the lease, on a portal."""
    rests_until: float = 0.0
    """Everywhere; on a portal the pool's own order says it."""
    missed: int = 0
    """Checks in a row in which it was dead."""

    def succeeded(self, rules: PoolRules, seconds: float | None) -> None:
        """A page came."""
        self._decay(rules)
        self.good += 1
        self.failures = 0
        self.successes += 1
        self.score = min(rules.score_most, self.score * rules.score_up)
        self.rests_until = 0.0
        if seconds is not None:
            weight = 1.0 if self.latency == NO_LATENCY else rules.latency_weight
            self.latency += weight * (seconds - self.latency)

    def failed(self, rules: PoolRules, why: str) -> None:
        """None came, by the proxy's fault or because the portal keeps it out."""
        self._decay(rules)
        self.good *= rules.failure_decay
        self.bad += 1
        self.failures += 1
        self.score = max(rules.score_least, self.score * rules.score_down)
        self.why = why

    def alive(self, rules: PoolRules) -> None:
        """A check found it alive: it may work again, whatever it did before."""
        self._decay(rules)
        self.good += 1
        self.failures = self.missed = 0
        self.rests_until = 0.0
        self.why = ""

    def _decay(self, rules: PoolRules) -> None:
        self.good *= rules.decay
        self.bad *= rules.decay


def weights(here: Belief, everywhere: Belief, rules: PoolRules) -> tuple[float, float]:
    """The two numbers of the Beta distribution that a portal's belief stands for."""
    return (
        1 + here.good + rules.elsewhere * everywhere.good,
        1 + here.bad + rules.elsewhere * everywhere.bad,
    )


def expected(here: Belief, everywhere: Belief, rules: PoolRules) -> float:
    """The chance of success that is believed in."""
    good, bad = weights(here, everywhere, rules)
    return good / (good + bad)


def cooldown(failures: int, first: float, most: float) -> float:
    """How long to rest after so many failures in a row."""
    return min(most, first * 2.0 ** min(failures - 1, 60))


# What a use teaches: about the proxy on that portal, about the proxy everywhere, and how long it rests.


@dataclass(frozen=True, slots=True)
class Rest:
    """How long the proxy rests on the portal, and whether it has proven itself there (None: as before)."""

    seconds: float
    proven: bool | None = None


def learn(use: Use, here: Belief, everywhere: Belief, rules: PoolRules, chance: float) -> Rest:
    """Change both beliefs by the use; `chance` lengthens a rest.

    A block is the portal's word on this address and says nothing elsewhere; a transport error is the proxy's
    own; what the portal itself answers (404, 5xx, 429) costs the proxy nothing.
    """
    if use.kind != "neutral":
        here.uses += 1
        everywhere.uses += 1
    longer = 1 + rules.jitter * chance
    asked = min(use.retry_after_seconds, rules.retry_after_max_seconds)
    match use.kind:
        case "ok":
            here.succeeded(rules, use.seconds)
            everywhere.succeeded(rules, use.seconds)
            return Rest(rules.spacing_seconds, proven=True)
        case "blocked":
            here.failed(rules, use.why)
            rest = cooldown(here.failures, rules.block_seconds, rules.block_max_seconds)
            return Rest(max(asked, rest * longer), proven=False)
        case "transport":
            here.failed(rules, use.why)
            everywhere.failed(rules, use.why)
            rest = cooldown(everywhere.failures, rules.transport_seconds, rules.transport_max_seconds)
            return Rest(rest * longer, proven=False)
        case "rate_limited":
            return Rest(max(asked, rules.spacing_seconds))
        case _:
            return Rest(rules.spacing_seconds)


# Draws from a Beta distribution by a generator that Lua has too: one seed, one choice, on every backend.

_MULTIPLIER: Final = 48_271
_MODULUS: Final = 2_147_483_647
_WARM_UP: Final = 3


class Chance:
    """Park and Miller's generator: every product of it is exact in a double, as in Lua."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed % (_MODULUS - 1) + 1
        for _ in range(_WARM_UP):
            self.uniform()

    def uniform(self) -> float:
        """A number between 0 and 1, both excluded."""
        self._state = self._state * _MULTIPLIER % _MODULUS
        return self._state / _MODULUS

    def beta(self, a: float, b: float) -> float:
        """A draw from Beta(a, b), both at least 1."""
        x = self._gamma(a)
        return x / (x + self._gamma(b))

    def _gamma(self, shape: float) -> float:
        """Marsaglia and Tsang's way, for shapes from 1 on."""
        d = shape - 1 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            x = self._normal()
            v = (1 + c * x) ** 3
            if v > 0 and math.log(self.uniform()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v

    def _normal(self) -> float:
        return math.sqrt(-2 * math.log(self.uniform())) * math.cos(2 * math.pi * self.uniform())


# In which order a portal's proxies come up: the longest rested first, proven ones apart from the others.

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


MOST_SEED = 2**31 - 2


def new_token() -> str:
    """A name that no other lease has."""
    return secrets.token_hex(8)


def new_seed() -> int:
    """A seed for one choice."""
    return random.randint(0, MOST_SEED)  # noqa: S311 - which of our own proxies; no secret


@dataclass(slots=True, kw_only=True)
class MemoryProxyPool:
    """See `ScoredProxyPool`; no operation awaits anything, so each is atomic in its loop."""

    rules: PoolRules
    clock: Callable[[], float] = time.monotonic
    token: Callable[[], str] = new_token
    seed: Callable[[], int] = new_seed
    chance: Callable[[], float] = random.random
    _known: dict[str, Proxy] = field(default_factory=dict)
    _out: set[str] = field(default_factory=set)
    _everywhere: defaultdict[str, Belief] = field(default_factory=lambda: defaultdict(Belief))
    _orders: dict[str, DomainOrder] = field(default_factory=dict)
    _climbs: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _sticky: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)

    async def pick(self, domain: str, wish: Wish) -> Lease | NoProxy:
        """See `ScoredProxyPool`."""
        order, now, seed, token = self._order(domain), self.clock(), self.seed(), self.token()
        bound = self._bound(domain, wish, now)
        if isinstance(bound, NoProxy):
            return bound
        chosen = bound or self._best(order, wish, now, Chance(seed))
        if chosen is None:
            return self._none(order, wish, now)
        if not bound and (wait := self._better_wait(order, chosen, wish, now)):
            return NoProxy(wait)
        place = order.order_of(chosen)
        assert place is not None  # noqa: S101 - the chosen stand in an order
        place[chosen] = now + self.rules.lease_seconds
        order.belief(chosen).token = token
        if wish.session:
            self._bind(domain, wish.session, chosen, now)
        return Lease(self._known[chosen], domain, token, wish.session)

    def _bind(self, domain: str, session: str, proxy_id: str, now: float) -> None:
        if len(self._sticky) >= SESSIONS_MOST:
            self._sticky = {name: bound for name, bound in self._sticky.items() if bound[1] > now}
        self._sticky[domain, session] = proxy_id, now + self.rules.sticky_seconds

    def _bound(self, domain: str, wish: Wish, now: float) -> str | NoProxy | None:
        """The session's own proxy; when it will be ready, if that is soon; None for any other."""
        proxy_id, until = self._sticky.get((domain, wish.session or ""), ("", 0.0))
        if wish.only:
            proxy_id, until = wish.only, math.inf
        otherwise = NoProxy(None) if wish.only else None
        proxy, order = self._known.get(proxy_id), self._order(domain)
        place = order.order_of(proxy_id)
        if proxy is None or place is None or until <= now or proxy.tier not in wish.tiers:
            return otherwise
        if proxy_id in wish.exclude:
            return otherwise
        wait = max(place[proxy_id], self._everywhere[proxy_id].rests_until) - now
        if wait <= 0:
            return proxy_id
        if wish.only:
            return NoProxy(wait)
        failed = order.belief(proxy_id).failures or self._everywhere[proxy_id].failures
        return None if failed or wait > self.rules.session_patience_seconds else NoProxy(wait)

    def _best(self, order: DomainOrder, wish: Wish, now: float, chance: Chance) -> str | None:
        best, most = None, -1.0
        for proxy_id in self._candidates(order, wish, now):
            drawn = self._draw(order, proxy_id, chance)
            if drawn > most:
                best, most = proxy_id, drawn
        return best

    def _draw(self, order: DomainOrder, proxy_id: str, chance: Chance) -> float:
        """A chance of success that fits what is known, less for the slow."""
        everywhere = self._everywhere[proxy_id]
        drawn = chance.beta(*weights(order.belief(proxy_id), everywhere, self.rules))
        half = self.rules.latency_half_seconds
        return drawn * half / (half + max(0.0, everywhere.latency))

    def _candidates(self, order: DomainOrder, wish: Wish, now: float) -> list[str]:
        """The proven and a few others; for a further try the proven alone, if any is ready."""
        sides = ((order.proven, self.rules.candidates), (order.idle, self.rules.explored))
        found: list[str] = []
        for side, most in sides:
            for tier in wish.tiers:
                found += self._front(side.setdefault(tier, {}), wish, now, most)
            if found and wish.exclude:
                break
        return found

    def _front(self, place: Order, wish: Wish, now: float, most: int) -> list[str]:
        self._move_resting(place, now, most + len(wish.exclude))
        found = rested(place, now, most + len(wish.exclude))
        return [one for one in found if one not in wish.exclude][:most]

    def _better_wait(self, order: DomainOrder, chosen: str, wish: Wish, now: float) -> float | None:
        """How long to wait for a proven proxy instead of a doubtful one; None: take it.

        One that failed last is doubtful; for a further try, each that is not proven.
        """
        doubtful = order.belief(chosen).failures or self._everywhere[chosen].failures
        if not doubtful and not (wish.exclude and not order.is_proven(chosen)):
            return None
        ready_at = order.proven_soon(wish.tiers, wish.exclude)
        soon = ready_at is not None and 0 < ready_at - now <= self.rules.doubt_patience_seconds
        return ready_at - now if ready_at is not None and soon else None

    def _move_resting(self, place: Order, now: float, window: int) -> None:
        """Those at the front that rest everywhere come up when they have rested."""
        moved = True
        while moved:
            moved = False
            for one in rested(place, now, window):
                if self._everywhere[one].rests_until > now:
                    place[one], moved = self._everywhere[one].rests_until, True

    def _none(self, order: DomainOrder, wish: Wish, now: float) -> NoProxy:
        times = [earliest(place, wish.exclude) for place in order.orders(wish.tiers)]
        return NoProxy(min((max(0.0, one - now) for one in times if one is not None), default=None))

    async def report(self, lease: Lease, use: Use) -> bool:
        """See `ScoredProxyPool`."""
        belief = self._order(lease.domain).belief(lease.proxy.id)
        if belief.token != lease.token:
            return False
        belief.token = ""
        self._learn(lease.proxy.id, lease.domain, use, at_least=0.0)
        if lease.session and use.kind in {"blocked", "transport"}:
            self._sticky.pop((lease.domain, lease.session), None)
        return True

    async def note(self, proxy_id: str, domain: str, use: Use) -> None:
        """See `ScoredProxyPool`."""
        if proxy_id in self._known:
            place = self._order(domain).order_of(proxy_id)
            self._learn(proxy_id, domain, use, at_least=place[proxy_id] if place else 0.0)

    def _learn(self, proxy_id: str, domain: str, use: Use, at_least: float) -> None:
        order, everywhere, now = self._order(domain), self._everywhere[proxy_id], self.clock()
        rest = learn(use, order.belief(proxy_id), everywhere, self.rules, self.chance())
        if use.kind == "transport":
            everywhere.rests_until = now + rest.seconds
        if proxy := self._known.get(proxy_id):
            order.place(proxy_id, proxy.tier, max(at_least, now + rest.seconds), proven=rest.proven)

    async def renew(self, lease: Lease) -> bool:
        """See `ScoredProxyPool`."""
        order = self._order(lease.domain)
        place = order.order_of(lease.proxy.id)
        if place is None or order.belief(lease.proxy.id).token != lease.token:
            return False
        place[lease.proxy.id] = self.clock() + self.rules.lease_seconds
        return True

    async def put(self, proxy: Proxy) -> bool:
        """See `ScoredProxyPool`."""
        new = proxy.id not in self._known
        self._known[proxy.id] = proxy
        self._out.discard(proxy.id)
        self._everywhere[proxy.id].alive(self.rules)
        for order in self._orders.values():
            order.add(proxy.id, proxy.tier)
        return new

    async def missed(self, proxy_id: str, why: str) -> bool:
        """See `ScoredProxyPool`."""
        if proxy_id not in self._known:
            return False
        belief, rules = self._everywhere[proxy_id], self.rules
        belief.failed(rules, why)
        belief.missed += 1
        rest = cooldown(belief.failures, rules.transport_seconds, rules.transport_max_seconds)
        belief.rests_until = self.clock() + rest
        return belief.missed >= rules.missed_sweeps and await self.remove([proxy_id]) > 0

    async def quarantine(self, proxy_id: str, why: str) -> None:
        """See `ScoredProxyPool`."""
        if proxy_id in self._known:
            self._out.add(proxy_id)
            self._everywhere[proxy_id].why = why
            for order in self._orders.values():
                order.drop(proxy_id)

    async def remove(self, proxy_ids: Sequence[str]) -> int:
        """See `ScoredProxyPool`."""
        gone = [one for one in proxy_ids if self._known.pop(one, None)]
        for one in gone:
            self._out.discard(one)
            self._everywhere.pop(one, None)
            for order in self._orders.values():
                order.drop(one)
                order.beliefs.pop(one, None)
        return len(gone)

    async def ready(self, domain: str) -> int:
        """See `ScoredProxyPool`."""
        order, soon = self._order(domain), self.clock() + self.rules.ready_within_seconds
        return sum(
            max(ready_at, self._everywhere[one].rests_until) <= soon
            and expected(order.belief(one), self._everywhere[one], self.rules) > self.rules.ready_above
            for place in order.all_orders()
            for one, ready_at in place.items()
        )

    async def known(self) -> list[Proxy]:
        """See `ScoredProxyPool`."""
        return sorted(self._known.values(), key=lambda proxy: proxy.id)

    async def domains(self) -> list[str]:
        """See `ScoredProxyPool`."""
        return sorted(self._orders)

    async def get_stats(self, domain: str) -> list[DomainStats]:
        """See `ScoredProxyPool`."""
        return [self._stats(proxy, domain) for proxy in await self.known()]

    def _stats(self, proxy: Proxy, domain: str) -> DomainStats:
        everywhere, now = self._everywhere[proxy.id], self.clock()
        order = DomainOrder() if domain == EVERYWHERE else self._order(domain)
        belief = everywhere if domain == EVERYWHERE else order.belief(proxy.id)
        place = order.order_of(proxy.id)
        ready_at = place[proxy.id] if place else 0.0
        return DomainStats(
            id=proxy.id,
            address=proxy.address.masked,
            tier=proxy.tier,
            expected=expected(Belief() if domain == EVERYWHERE else belief, everywhere, self.rules),
            score=belief.score,
            uses=belief.uses,
            successes=belief.successes,
            failures_in_a_row=belief.failures,
            latency_seconds=None if belief.latency == NO_LATENCY else belief.latency,
            ready_in_seconds=max(0.0, max(ready_at, everywhere.rests_until) - now),
            last_reason=belief.why or everywhere.why,
            leased=bool(belief.token) and ready_at > now,
            quarantined=proxy.id in self._out,
        )

    async def climbed(self, domain: str, rung: str) -> None:
        """See `ScoredProxyPool`."""
        self._climbs[domain][rung] += 1

    async def climbs(self, domain: str) -> dict[str, int]:
        """See `ScoredProxyPool`."""
        return dict(self._climbs[domain])

    async def close(self) -> None:
        """See `ScoredProxyPool`."""

    def _order(self, domain: str) -> DomainOrder:
        if domain not in self._orders:
            order = self._orders[domain] = DomainOrder()
            for proxy in self._known.values():
                if proxy.id not in self._out:
                    order.add(proxy.id, proxy.tier)
        return self._orders[domain]
