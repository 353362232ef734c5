"""How far it scales: 10 000 portals and 1 000 workers in virtual time, by our own limiter and claims.

First what a page costs is counted and timed on a real Redis, SQLite and PostgreSQL (`scale_costs.py`); then
crawls are simulated with the real code (`scale_crawl.py`, which says what is simulated), told those times.
Two plain ways to keep a rate on many workers have the same pages in the same run (`scale_peers.py`). Then a
tenth of the portals goes down; the keys are dealt out to a Redis Cluster, and the operations run on a
server in cluster mode; and a PostgreSQL is filled to see what its rows weigh.

The goal: no portal ever over its rate, each page fetched once, nobody starved (no portal waits longer than
the queue for workers takes, and one lane more), makespan at most 1.35 of its bound (the portals' rates or
the workers' slots, whichever is more; the longest lanes may begin last) and 1.02 where every portal has its
own worker; at most a third of the requests into an outage that there would be without the breaker, and no
page lost; the gate's scripts run on a cluster.
"""

import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import measure
import scale_bounds
import scale_cluster
import scale_costs
import scale_goals
import scale_outage
import scale_peers
import scale_runs
import scale_sizes
import scale_slots
from durable_postgres import durable_postgres
from scale_parts import Costs
from scale_world import make_domains

FAST_PER_MINUTE = 600.0
NODES = (3, 6, 12)


class Length(NamedTuple):
    """How much of everything."""

    domains: int
    workers: int
    pages: tuple[int, int]
    own_worker: int
    """Portals of the crawl in which each has its own worker."""
    cells: tuple[tuple[int, int], ...]
    """Portals and workers whose pages a second are measured."""
    fast_workers: tuple[int, ...]
    outage: int
    adverts: int


FULL = Length(
    10_000, 1000, (2, 5), 300,
    ((7, 1), (7, 7), (100, 1), (100, 10), (100, 100), (1000, 10), (1000, 100), (1000, 1000)),
    (1, 10, 100, 1000), 400, 20_000,
)  # fmt: skip
QUICK = Length(200, 20, (2, 4), 40, ((7, 1), (7, 7), (50, 10)), (1, 10), 40, 1000)
SPAN_SECONDS, FAST_SPAN_SECONDS = 24.0, 3.0


def main() -> None:
    """Measure, simulate, print tables, and end with one JSON object."""
    options = measure.options(__doc__)
    length = QUICK if options.quick else FULL
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as name:
        measured = scale_costs.measure_all(Path(name), quick=options.quick)
        found: dict[str, Any] = {"costs": scale_bounds.figures(measured)}
        _show(found["costs"])
        found |= simulated(measured, length) | redis_cluster(Path(name), length)
        found["sizes"] = sizes(length)
    missed = scale_goals.missed(found)
    for sentence in missed:
        print(f"missed: {sentence}")
    measure.finish({"bench": "scale", **found, "missed": missed}, met=not missed, check=options.check)


def simulated(measured: scale_costs.Measured, length: Length) -> dict[str, Any]:
    """Everything in virtual time."""
    store = measured.postgres or measured.sqlite
    costs = scale_costs.costs_of(measured, store)
    domains = make_domains(length.domains, length.pages, random.Random(scale_runs.SEED))
    few = dict(list(domains.items())[: length.own_worker])
    found: dict[str, Any] = {
        "many": _printed("all portals", scale_runs.whole(domains, length.workers, costs)),
        "own_worker": _printed("a worker each", scale_runs.whole(few, len(few), costs)),
        "peers": _printed("peers", peers(domains, length.workers)),
        "growth": _growth(length, costs),
        "fast": {
            name: _fast(length, scale_costs.costs_of(measured, one), name) for name, one in _stores(measured)
        },
        "outage": _printed("a tenth down", scale_outage.outage(length.outage, costs)),
    }
    ours, theirs = found["many"]["makespan"], found["peers"]["divided"]["makespan"]
    return {**found, "divided_of_ours": round(theirs / ours, 2)}


def _stores(measured: scale_costs.Measured) -> list[tuple[str, scale_costs.StoreCost]]:
    both = [("sqlite", measured.sqlite), ("postgres", measured.postgres)]
    return [(name, one) for name, one in both if one is not None]


def peers(domains: Mapping[str, Any], workers: int) -> dict[str, Any]:
    """The same pages by the two plain ways."""
    return {
        "own_buckets": scale_peers.own_buckets(domains, workers, scale_runs.SEED),
        "divided": scale_peers.divided(domains, workers, scale_runs.SEED),
    }


def _growth(length: Length, costs: Costs) -> list[dict[str, Any]]:
    return [_printed("polite portals", _cell(*cell, SPAN_SECONDS, costs)) for cell in length.cells]


def _fast(length: Length, costs: Costs, store: str) -> list[dict[str, Any]]:
    """Portals so fast that something else must give way, on one kind of database."""
    return [
        _printed(f"fast portals, {store}", _cell(many, many, FAST_SPAN_SECONDS, costs, FAST_PER_MINUTE))
        for many in length.fast_workers
    ]


def _cell(
    domains: int, workers: int, seconds: float, costs: Costs, per_minute: float | None = None
) -> dict[str, Any]:
    found = scale_runs.growth(domains, workers, seconds, costs, per_minute)
    return {"domains": domains, "workers": workers, **found}


def redis_cluster(folder: Path, length: Length) -> dict[str, Any]:
    """Slots and refusals."""
    names = list(make_domains(length.domains, (1, 1), random.Random(0)))
    found = {
        "spread": [scale_slots.spread(names, nodes) for nodes in NODES],
        "torn": scale_slots.torn(names),
        "refused": scale_cluster.refusals(folder / "cluster"),
    }
    return {"cluster": _printed("Redis Cluster", found)}


def sizes(length: Length) -> dict[str, Any]:
    """Bytes of rows, where there is a PostgreSQL."""
    with durable_postgres() as server:
        found = scale_sizes.measured(server.new_database(), length.adverts) if server else {}
    return _printed("rows", scale_sizes.figures(found)) if found else {}


def _printed(name: str, figures: dict[str, Any]) -> dict[str, Any]:
    print(f"{name:38}{figures}", flush=True)
    return figures


def _show(costs: Mapping[str, Any]) -> None:
    for name, value in costs.items():
        print(f"{name:24}{value}", flush=True)


if __name__ == "__main__":
    main()
