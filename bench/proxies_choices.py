"""The pool's two ways to choose, beside each other, in a model with a time of its own.

60 proxies and two portals, 2400 pages at one in half a second, three tries each. Of the bad ones half are
dead and half fail seven times of ten; each minute one proxy in a hundred changes its nature; a portal shuts
an address out for ten minutes that asks more than 12 times a minute. The same seeds for both.
"""

import asyncio
import random
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Final

from sale_sofia.proxies.model import Lease, Proxy, ProxyAddress, ProxyQuery, Use
from sale_sofia.proxies.pool import MemoryProxyPool
from sale_sofia.proxies.settings import Choice, PoolRules

PROXIES, PAGES, TRIES = 60, 2400, 3
PORTALS: Final = ("portal-a.test", "portal-b.test")
BETWEEN_PAGES, CHURN_SECONDS, CHURN = 0.5, 60.0, 0.01
MOST_PER_MINUTE, SHUT_OUT_SECONDS = 12, 600.0
PATIENCE_SECONDS = 10.0
GOOD, BAD = (0.97,), (0.0, 0.3)
CHOICES: Final[tuple[Choice, ...]] = ("sampled", "scored")


@dataclass
class World:
    """Portals and proxies as they really are, in a time of their own."""

    share_bad: float
    seed: int
    now: float = 0.0
    chance: random.Random = field(init=False)
    nature: list[float] = field(init=False)
    asked: dict[tuple[str, int], deque[float]] = field(default_factory=lambda: defaultdict(deque))
    shut_out: dict[tuple[str, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        bad = round(PROXIES * self.share_bad)
        self.nature = [self.chance.choice(BAD) for _ in range(bad)] + [GOOD[0]] * (PROXIES - bad)
        self.chance.shuffle(self.nature)

    def churn(self) -> None:
        """Some change their nature; the share of bad ones stays about the same."""
        for number in range(PROXIES):
            if self.chance.random() < CHURN:
                kinds = BAD if self.chance.random() < self.share_bad else GOOD
                self.nature[number] = self.chance.choice(kinds)

    def ask(self, portal: str, number: int) -> Use:
        """What becomes of a request."""
        if self.chance.random() >= self.nature[number]:
            return Use("transport", why="reset")
        key, times = (portal, number), self.asked[portal, number]
        while times and times[0] < self.now - 60:
            times.popleft()
        times.append(self.now)
        if len(times) > MOST_PER_MINUTE:
            self.shut_out[key] = self.now + SHUT_OUT_SECONDS
        if self.shut_out.get(key, 0.0) > self.now:
            return Use("blocked", why="too often")
        return Use("ok", 0.5)


async def crawl(choice: Choice, share_bad: float, seed: int) -> tuple[float, float]:
    """Share of the pages that were had, and wasted requests for each."""
    world, drawn = World(share_bad, seed), random.Random(seed)
    rules = PoolRules(spacing_seconds=5.0, lease_seconds=30.0, choice=choice)
    pool = MemoryProxyPool(
        rules=rules, clock=lambda: world.now, seed=lambda: drawn.randrange(2**31), chance=drawn.random
    )
    numbers = {}
    for number in range(PROXIES):
        proxy = Proxy(ProxyAddress("http", f"10.0.0.{number + 1}", 3128))
        numbers[proxy.id] = number
        await pool.put(proxy)
    had = wasted = 0
    churned = 0.0
    for page in range(PAGES):
        world.now += BETWEEN_PAGES
        if world.now - churned >= CHURN_SECONDS:
            churned = world.now
            world.churn()
        kinds = await _one_page(world, pool, PORTALS[page % 2], numbers)
        had += kinds[-1:] == ["ok"]
        wasted += len(kinds) - (kinds[-1:] == ["ok"])
    return had / PAGES, wasted / max(1, had)


async def _one_page(world: World, pool: MemoryProxyPool, portal: str, numbers: dict[str, int]) -> list[str]:
    """What became of each try."""
    tried: tuple[str, ...] = ()
    kinds: list[str] = []
    while len(kinds) < TRIES and kinds[-1:] != ["ok"]:
        found = await pool.pick(portal, ProxyQuery(exclude=tried))
        if not isinstance(found, Lease):
            wait = found.retry_after_seconds
            if wait is None or wait > PATIENCE_SECONDS:
                break
            world.now += max(wait, 0.01)
            continue
        use = world.ask(portal, numbers[found.proxy.id])
        await pool.report(found, use)
        kinds.append(use.kind)
        tried = (*tried, found.proxy.id)
    return kinds


def compare_choices(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Both ways with each share of bad proxies, the mean over the seeds, and the ratio of what is wasted."""
    found = []
    for share in (0.3, 0.5, 0.7, 0.9):
        row: dict[str, Any] = {"bad": share}
        for choice in CHOICES:
            runs = [asyncio.run(crawl(choice, share, seed)) for seed in seeds]
            row[choice] = {
                "success": round(mean(had for had, _ in runs), 4),
                "wasted_per_success": round(mean(wasted for _, wasted in runs), 3),
            }
        ratio = row["scored"]["wasted_per_success"] / row["sampled"]["wasted_per_success"]
        row["scored_wastes"] = round(ratio, 2)
        found.append(row)
        print(row, flush=True)
    return found
