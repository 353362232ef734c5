"""Many portals at once, and many processes on one: time, rate, loss and memory beside scrapy-redis.

Four simulated portals at 60 to 480 requests a minute are crawled one after the other, all at once in one
process, and all at once on Celery workers, in one run (`--modes`: only that). No crawler can be faster than
the rates allow: the bound is (requests - 1) * 60 / rate of the portal that takes longest. The
goal is 1.05 of it, 1.15 with --quick; the table also shows each way beside the first, and the machine's load.
Then two processes crawl one portal and one of them is killed, by sale-sofia and by scrapy-redis.
`--frontier` measures memory with 100 000 pages to read instead, `--company` how much longer healthy portals
take beside a silent, a hostile and a ten times slower one (goal: 1.10).
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import measure
import parallel_company
import parallel_frontier
import parallel_modes

GOAL, QUICK_GOAL = 1.05, 1.15


def main() -> None:
    """Measure, and end with one JSON object."""
    options = measure.options(
        __doc__,
        frontier="memory with 100 000 pages in the frontier",
        modes="only the three ways of crawling",
        peers="only the two processes on one portal",
        company="only healthy portals alone and beside bad ones",
    )
    with tempfile.TemporaryDirectory(prefix="bench-parallel-") as name:
        if options.frontier:
            result, met = parallel_frontier.run(Path(name), quick=options.quick)
        elif options.company:
            result, met = parallel_company.run(Path(name), quick=options.quick)
        else:
            ways, peers = not options.peers, not options.modes
            result, met = run(Path(name), quick=options.quick, modes=ways, peers=peers)
    measure.finish({"bench": "parallel", **result}, met=met, check=options.check)


def run(folder: Path, *, quick: bool, modes: bool, peers: bool) -> tuple[dict[str, Any], bool]:
    """The three ways, then the two processes; what is not wanted is left out."""
    ways = _ways(folder, quick=quick) if modes else {}
    goal = QUICK_GOAL if quick else GOAL
    fast = all(ways[name]["ratio"] <= goal for name in ("local", "parallel") if name in ways)
    polite = not any(way["over_the_rate"] for way in ways.values())
    result: dict[str, Any] = {"goal": goal, "ways": ways}
    if not peers:
        return result, fast and polite
    import parallel_peers  # noqa: PLC0415 - it needs the other crawlers

    result["two_processes"] = parallel_peers.run(folder, quick=quick)
    ours = result["two_processes"]["sale-sofia"]
    return result, fast and polite and not (ours["lost"] or ours["over"])


def _ways(folder: Path, *, quick: bool) -> dict[str, Any]:
    found = {}
    for name in parallel_modes.MODES:
        found[name] = parallel_modes.measure_mode(
            name, folder / name, parallel_modes.four_portals(quick=quick)
        )
        found[name]["load"] = round(os.getloadavg()[0], 1)
        print(f"{name:12}{found[name]}", flush=True)
    slowest = found["sequential"]["makespan"]
    for name, way in found.items():
        way["of_sequential"] = round(way["makespan"] / slowest, 4)
        shares = f"{way['ratio']:6.3f} of the bound {way['of_sequential']:6.3f} of one by one"
        print(f"{name:12}{way['makespan']:8.1f} s {shares}, load {way['load']}", flush=True)
    return found


if __name__ == "__main__":
    main()
