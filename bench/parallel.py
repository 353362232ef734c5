"""Many portals at once, and many processes on one: time, rate, loss and memory beside scrapy-redis.

Four simulated portals at 60 to 480 requests a minute are crawled one after the other, all at once in one
process, and all at once on Celery workers. No crawler can be faster than the rates allow: the bound is
(requests - 1) * 60 / rate of the portal that takes longest. The goal is 1.05 of it, 1.15 with --quick.
Then two processes crawl one portal and one of them is killed, by sale-sofia and by scrapy-redis.
`--frontier` measures memory with 100 000 pages to read instead, `--company` how much longer healthy portals
take beside a silent, a hostile and a ten times slower one (goal: 1.10).
"""

import tempfile
from pathlib import Path
from typing import Any

import measure
import parallel_company
import parallel_frontier
import parallel_modes
import parallel_peers

GOAL, QUICK_GOAL = 1.05, 1.15


def main() -> None:
    """Measure, and end with one JSON object."""
    options = measure.options(
        __doc__,
        frontier="memory with 100 000 pages in the frontier",
        peers="only the two processes on one portal",
        company="only healthy portals alone and beside bad ones",
    )
    with tempfile.TemporaryDirectory(prefix="bench-parallel-") as name:
        if options.frontier:
            result, met = parallel_frontier.run(Path(name), quick=options.quick)
        elif options.company:
            result, met = parallel_company.run(Path(name), quick=options.quick)
        else:
            result, met = run(Path(name), quick=options.quick, modes=not options.peers)
    measure.finish({"bench": "parallel", **result}, met=met, check=options.check)


def run(folder: Path, *, quick: bool, modes: bool) -> tuple[dict[str, Any], bool]:
    """The three ways, unless only the peers are wanted; then the two processes."""
    ways = _ways(folder, quick=quick) if modes else {}
    peers = parallel_peers.run(folder, quick=quick)
    goal = QUICK_GOAL if quick else GOAL
    fast = all(ways[name]["ratio"] <= goal for name in ("local", "parallel") if name in ways)
    polite = not any(way["over_the_rate"] for way in ways.values())
    ours = peers["sale-sofia"]
    return {"goal": goal, "ways": ways, "two_processes": peers}, fast and polite and not (
        ours["lost"] or ours["over"]
    )


def _ways(folder: Path, *, quick: bool) -> dict[str, Any]:
    found = {}
    for name in parallel_modes.MODES:
        found[name] = parallel_modes.measure_mode(
            name, folder / name, parallel_modes.four_portals(quick=quick)
        )
        print(f"{name:12}{found[name]}", flush=True)
    return found


if __name__ == "__main__":
    main()
