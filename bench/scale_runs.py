"""The simulated crawls and what is read off their logs: bounds, fairness and growth."""

import math
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import scale_clock
from scale_clock import now
from scale_crawl import Crawl
from scale_parts import Costs
from scale_world import (
    SECONDS_PER_MINUTE,
    Domain,
    Portals,
    Sent,
    earliness,
    make_domains,
    most_polite_seconds,
    too_early,
)

SEED = 20261115
WARM_SHARE = 1 / 3
"""Of a measured span: all begin at once, and their first pages are no pace."""
FAST_PLACES = 2


class Done(NamedTuple):
    """A crawl that is over."""

    crawl: Crawl
    seconds: float
    """Virtual ones."""


def simulate(crawl_of: "Order") -> Done:
    """Crawl all portals to the end, or for so long."""

    async def main(folder: Path) -> Done:
        crawl = Crawl(crawl_of.portals, folder, crawl_of.workers, crawl_of.costs, breaker=crawl_of.breaker)
        await crawl.run(crawl_of.seconds)
        return Done(crawl, now())

    with tempfile.TemporaryDirectory(prefix="bench-scale-") as name:
        done = scale_clock.run(main(Path(name)))
        done.crawl.database.dispose()
        return done


class Order(NamedTuple):
    """What to simulate."""

    portals: Portals
    workers: int
    costs: Costs
    seconds: float = math.inf
    breaker: bool = True


def whole(domains: Mapping[str, Domain], workers: int, costs: Costs) -> dict[str, Any]:
    """All pages of all portals: makespan beside its bounds, and whether it was fair."""
    portals = Portals(domains, random.Random(SEED))
    done = simulate(Order(portals, workers, costs))
    last, pages = max(one.at for one in portals.log), sum(one.pages for one in domains.values())
    polite, slots = most_polite_seconds(domains), sum(one.bound_seconds for one in domains.values()) / workers
    sent = [(one.domain, one.at) for one in portals.log]
    return {
        "domains": len(domains),
        "workers": workers,
        "pages": pages,
        "fetched_once": pages == len(portals.log) == len({one.page for one in portals.log}),
        "makespan": round(last, 1),
        "polite_bound": round(polite, 1),
        "slots_bound": round(slots, 1),
        "of_bound": round(last / max(polite, slots), 3),
        "over_the_rate": too_early(done.crawl.gate.instants, domains),
        "sent_early_ms": round(1000 * earliness(sent, domains), 2),
        "longest_wait": round(longest_wait(portals.log, domains), 1),
        "lanes": done.crawl.lanes,
        "pages_per_second": round(pages / last, 1),
        **busy(done),
    }


def busy(done: Done) -> dict[str, float]:
    """How much of their time Redis and the database worked, and the longest that the latter let wait."""
    return {
        "redis_busy": round(done.crawl.redis.busy_share(done.seconds), 4),
        "database_busy": round(done.crawl.store.busy_share(done.seconds), 4),
        "database_wait_ms": round(1000 * done.crawl.store.longest_wait, 1),
    }


def longest_wait(log: list[Sent], domains: Mapping[str, Domain]) -> float:
    """The longest that a portal with pages left was not asked, beyond what its own rate demands."""
    last = {name: -SECONDS_PER_MINUTE / one.per_minute for name, one in domains.items()}
    longest = 0.0
    for one in sorted(log, key=lambda sent: sent.at):
        gap = SECONDS_PER_MINUTE / domains[one.domain].per_minute
        longest = max(longest, one.at - last[one.domain] - gap)
        last[one.domain] = one.at
    return longest


def growth(
    domains: int, workers: int, seconds: float, costs: Costs, per_minute: float | None = None
) -> dict[str, float]:
    """Pages a second, once all are at it, of portals with pages enough; fast ones where a rate is given."""
    rng = random.Random(SEED)
    made = {
        name: _endless(one, seconds, per_minute) for name, one in make_domains(domains, (2, 2), rng).items()
    }
    portals = Portals(made, rng)
    done = simulate(Order(portals, workers, costs, seconds))
    counted = sum(at >= WARM_SHARE * seconds for at in done.crawl.database.ended)
    return {"pages_per_second": round(counted / (seconds * (1 - WARM_SHARE)), 1), **busy(done)}


def _endless(domain: Domain, seconds: float, per_minute: float | None) -> Domain:
    rate = per_minute or domain.per_minute
    places = FAST_PLACES if per_minute else domain.concurrency
    return Domain(domain.name, rate, places, math.ceil(2 + seconds * rate / SECONDS_PER_MINUTE))
