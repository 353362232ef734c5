"""The history over a year and at a million listings: what is found, what it costs, how fast it is read.

A simulated year of a thousand adverts is swept day after day through the crawl's own code, with partial days,
days of blocks and of collapse among them: every change that a card shows must be found on its day, every
removal dated by the first complete sweep without it, every other edit at the next visit, and nothing else.
`--crawls` crawls the simulator over HTTP for thirty days and counts its requests: the goals are 6 % of the
first crawl's for an unchanged portal, 10 % a day later, 20 % on any day. `--scale` fills SQLite with a
million listings of twenty changes each: a listing's history must be read within 20 ms, and what changed since
yesterday within a second. `--writes` saves adverts from four processes, 95 % unchanged: 3000 a second.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import history_crawls
import history_scale
import history_writes
import history_year
import measure

WAYS = {"crawls": history_crawls.run, "writes": history_writes.run, "year": history_year.run}


def main() -> None:
    """Measure one thing, and end with one JSON object."""
    options = measure.options(
        __doc__,
        {"listings": "with --scale: so many instead of a million"},
        crawls="requests of thirty days of crawls",
        scale="size and speed at a million listings",
        writes="adverts saved a second by four processes",
    )
    chosen = next((name for name in ("crawls", "scale", "writes") if getattr(options, name)), "year")
    with tempfile.TemporaryDirectory(prefix="bench-history-") as name:
        folder = Path(name)
        if chosen == "scale":
            result, met = history_scale.run(folder, quick=options.quick, listings=options.listings)
        else:
            result, met = WAYS[chosen](folder, quick=options.quick)
    measure.finish({"bench": "history", "what": chosen, **result}, met=met, check=options.check)


if __name__ == "__main__":
    main()
