"""A tenth of the portals is down for two minutes: with the breaker, and with one that never opens."""

import random
from collections import Counter
from typing import Any

from scale_parts import Costs
from scale_runs import SEED, Order, simulate
from scale_world import Portals, Sent, make_domains, too_early

DOWN_FROM, DOWN_UNTIL = 15.0, 135.0
"""Seconds after the beginning."""
EVERY = 10
"""One portal in so many goes down."""
PAGES = (15, 25)


def outage(domains: int, costs: Costs) -> dict[str, Any]:
    """What is asked of portals that are down, when they go on, and what the others notice."""
    with_it = _measured(domains, costs, breaker=True)
    without = _measured(domains, costs, breaker=False)
    return {
        "with": with_it,
        "without": without,
        "wasted_of_without": round(with_it["wasted"] / without["wasted"], 3),
    }


def _measured(domains: int, costs: Costs, *, breaker: bool) -> dict[str, Any]:
    """Without the breaker only those that go down are looked at: the others have nothing to do with it."""
    rng = random.Random(SEED)
    made = make_domains(domains, PAGES, rng)
    down = frozenset(list(made)[::EVERY])
    chosen = {name: one for name, one in made.items() if breaker or name in down}
    portals = Portals(chosen, rng, down, DOWN_FROM, DOWN_UNTIL)
    done = simulate(Order(portals, len(chosen), costs, breaker=breaker))
    wasted = Counter(one.domain for one in portals.log if not one.ok)
    good = {one.page for one in portals.log if one.ok}
    healthy = [
        done.crawl.finished[name] - one.bound_seconds for name, one in chosen.items() if name not in down
    ]
    return {
        "down": len(down),
        "wasted": wasted.total(),
        "wasted_most": max(wasted.values()),
        "lost_pages": sum(one.pages for one in chosen.values()) - len(good),
        **_coming_back(portals.log, down),
        "over_the_rate": too_early(done.crawl.gate.instants, chosen),
        "healthy_late_seconds": round(max(healthy, default=0.0), 1),
    }


def _coming_back(log: list[Sent], down: frozenset[str]) -> dict[str, float]:
    """How long after its return each portal gave its next page."""
    first: dict[str, float] = {}
    for one in log:
        if one.domain in down and one.ok and one.at >= DOWN_UNTIL:
            first.setdefault(one.domain, one.at - DOWN_UNTIL)
    waits = sorted(first.values())
    return {"back_after_median": round(waits[len(waits) // 2], 1), "back_after_most": round(waits[-1], 1)}
