"""How fast whole crawls are: sale-sofia, Scrapy and Crawlee over the same simulated portal.

All follow imot.bg's search pages to every advert (pages of 120 KB), read the same fields, and store them
in SQLite; politeness, robots.txt and the archive are off. Scrapy runs with JOBDIR and Crawlee with its
default queue, so each keeps its queue on disk. The peers do only that; sale-sofia also does all it always
does: refuse bad pages, read every other field, check that the page agrees with itself, keep histories.

The portal has one core, the crawler the other; crawlers run one after the other, each in a fresh process, in
interleaved rounds, and the least CPU time and the best rate of each count. All of that is done three times,
as one run may be lucky; the one with the least lead over Scrapy is told, and the goal holds for each. A crawl
in which an advert is missing, fetched twice or read wrongly ends the benchmark.

`--budget` tells instead where our own CPU time of a page goes (`engine_budget.py`), each part as a share of
the bare selectolax parse of the same pages in the same run, and compares it with what a page may cost.

The goal is three times the pages per second of each peer at a third of Scrapy's CPU time, and a peak memory
that does not grow by more than a tenth from 10 000 adverts to 50 000. `--check` fails below it; a `--quick`
run, in which starting up weighs more, has a goal of its own.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import crawling
import measure
from crawling import World

CONCURRENCY = 16
OURS = "sale-sofia"
FEW, MANY = 10_000, 50_000
RUNS = 3
"""How often a whole run compares the crawlers."""


class Goal(NamedTuple):
    """Least rate over each peer's, most CPU time of Scrapy's, most peak memory of many adverts over few."""

    rate: float
    cpu: float
    memory: float


GOAL = Goal(3.0, 1 / 3, 1.10)
QUICK_GOAL = Goal(2.5, 0.50, 1.10)  # a few hundred pages: starting up weighs more

Used = dict[str, float]
BUDGET = {"parse and normalise": 1.0, "fetch": 0.25, "gate and visit": 0.2, "store": 0.25, "else": 0.1}
"""What each part of a page may cost, in bare parses of the page."""
BUDGET_MB = 115


def main() -> None:
    """Measure, print a table, and end with one JSON object."""
    options = measure.options(
        __doc__, memory="measure only the memory of long crawls", budget="tell where a page's CPU time goes"
    )
    if options.budget:
        tell_budget(300 if options.quick else 3000, 2 if options.quick else 3, check=options.check)
    with tempfile.TemporaryDirectory(prefix="bench-engine-") as name:
        folder = Path(name)
        rounds = 2 if options.quick else 3
        adverts = 300 if options.quick else 3000
        times = 0 if options.memory else 1 if options.quick else RUNS
        runs = [side_by_side(folder / f"run {number}", adverts, rounds) for number in range(times)]
        peaks = {} if options.quick else memory(folder)
    goal = QUICK_GOAL if options.quick else GOAL
    size = {} if options.memory else {"adverts": adverts, "rounds": rounds}
    worst = min(runs, key=lambda best: _rates(best)["Scrapy"], default={})
    each = [{"rate_over": _rounded(_rates(best), 2), "cpu_of": _rounded(_cpu(best), 3)} for best in runs]
    measure.finish(
        {"bench": "engine", **size, **figures(worst, peaks), "runs": each, "checked": goal._asdict()},
        met=all(meets(best, peaks, goal) for best in runs or [worst]),
        check=options.check,
    )


def side_by_side(folder: Path, adverts: int, rounds: int) -> dict[str, Used]:
    """The best of each crawler."""
    folder.mkdir()
    runs: dict[str, list[Used]] = {name: [] for name in crawling.PROGRAMS}
    with crawling.world(adverts, folder / "world") as world:
        for turn in range(rounds):
            for name, used in runs.items():
                used.append(run_checked(name, folder / f"{turn} {name}", world))
                show(name, used[-1])
    return {name: _best(used) for name, used in runs.items()}


def run_checked(name: str, folder: Path, world: World) -> Used:
    """One whole crawl, and everything about it verified."""
    world.forget()
    used = run(name, folder, world)
    crawling.check_stored(name, folder, world.truths)
    fetched = world.fetched()
    if len(fetched) != len(world.truths) or fetched.total() != len(fetched):
        raise SystemExit(
            f"{name} asked {fetched.total()} times for {len(fetched)} of {len(world.truths)} adverts"
        )
    return per_page(used, fetched.total())


def run(name: str, folder: Path, world: World) -> Used:
    """One whole crawl in a fresh process and a fresh folder."""
    folder.mkdir()
    process = crawling.start(crawling.command_of(name, folder, CONCURRENCY, world.urls))
    output, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"{name} failed: {errors}")
    used: Used = json.loads(output.splitlines()[-1])
    return used


def per_page(used: Used, adverts: int) -> Used:
    """Search pages are part of the work of their adverts."""
    return {
        "pages_per_second": adverts / used["seconds"],
        "cpu_ms_per_page": used["cpu_seconds"] / adverts * 1000,
        "peak_mb": used["peak_mb"],
    }


def _best(runs: list[Used]) -> Used:
    return {
        "pages_per_second": max(one["pages_per_second"] for one in runs),
        "cpu_ms_per_page": min(one["cpu_ms_per_page"] for one in runs),
        "peak_mb": max(one["peak_mb"] for one in runs),
    }


def show(name: str, used: Used) -> None:
    """A row of the table."""
    rate, cpu, peak = used["pages_per_second"], used["cpu_ms_per_page"], used["peak_mb"]
    print(f"{name:12}{rate:8.1f} pages/s{cpu:8.2f} CPU ms/page{peak:8.0f} MB", flush=True)


def memory(folder: Path) -> dict[str, float]:
    """Our peak memory over few and over many adverts; every advert must be fetched once and stored."""
    return {str(adverts): _peak(adverts, folder / str(adverts)) for adverts in (FEW, MANY)}


def _peak(adverts: int, folder: Path) -> float:
    folder.mkdir()
    with crawling.world(adverts, folder / "world", truth=False) as world:
        used = run(OURS, folder / "crawl", world)
        fetched = world.fetched()
    found = len(crawling.stored(OURS, folder / "crawl"))
    if not fetched.total() == len(fetched) == found == adverts:
        raise SystemExit(
            f"{OURS} asked {fetched.total()} times for {len(fetched)} adverts and stored {found}"
        )
    show(f"{adverts} adverts", per_page(used, adverts))
    return used["peak_mb"]


def tell_budget(adverts: int, rounds: int, *, check: bool) -> NoReturn:
    """The least share of each part, of several crawls."""
    with tempfile.TemporaryDirectory(prefix="bench-engine-") as name:
        folder = Path(name)
        with crawling.world(adverts, folder / "world") as world:
            runs = [run_budget(folder / str(turn), world) for turn in range(rounds)]
    parts = {part: min(run["parts"][part] / run["bare"] / adverts for run in runs) for part in BUDGET}
    bare, peak = min(run["bare"] for run in runs), max(run["peak_mb"] for run in runs)
    for part, share in parts.items():
        print(f"{part:20}{share:6.2f} of a bare parse, at most {BUDGET[part]:.2f}", flush=True)
    print(f"{'peak memory':20}{peak:6.0f} MB, at most {BUDGET_MB}")
    met = peak <= BUDGET_MB and all(share <= BUDGET[part] for part, share in parts.items())
    measure.finish(
        {
            "bench": "engine",
            "adverts": adverts,
            "bare_ms": round(bare * 1000, 3),
            "of_bare_parse": {part: round(share, 3) for part, share in parts.items()},
            "peak_mb": round(peak, 1),
            "budget": BUDGET | {"peak_mb": BUDGET_MB},
        },
        met=met,
        check=check,
    )


def run_budget(folder: Path, world: World) -> dict[str, Any]:
    """One crawl whose parts are timed; what it stored is compared as always."""
    folder.mkdir()
    program = str(crawling.HERE / "engine_budget.py")
    process = crawling.start([sys.executable, program, str(folder), str(CONCURRENCY), *world.urls])
    output, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"the crawl failed: {errors}")
    crawling.check_stored(OURS, folder, world.truths)
    told: dict[str, Any] = json.loads(output.splitlines()[-1])
    return told


def figures(best: Mapping[str, Used], peaks: Mapping[str, float]) -> dict[str, Any]:
    """What goes into the last line."""
    return {
        "best": {name: {key: round(value, 2) for key, value in used.items()} for name, used in best.items()},
        "rate_over": _rounded(_rates(best), 2),
        "cpu_of": _rounded(_cpu(best), 3),
        "peak_mb": {adverts: round(peak, 1) for adverts, peak in peaks.items()},
        "goal": GOAL._asdict(),
        "goal_met": meets(best, peaks, GOAL),
    }


def meets(best: Mapping[str, Used], peaks: Mapping[str, float], goal: Goal) -> bool:
    """Whether all that was measured is within the goal."""
    fast = all(ratio >= goal.rate for ratio in _rates(best).values())
    light = _cpu(best).get("Scrapy", 0) <= goal.cpu
    level = not peaks or peaks[str(MANY)] <= peaks[str(FEW)] * goal.memory
    return fast and light and level


def _rounded(ratios: Mapping[str, float], digits: int) -> dict[str, float]:
    return {name: round(ratio, digits) for name, ratio in ratios.items()}


def _rates(best: Mapping[str, Used]) -> dict[str, float]:
    ours = best[OURS]["pages_per_second"] if best else 0
    return {name: ours / used["pages_per_second"] for name, used in best.items() if name != OURS}


def _cpu(best: Mapping[str, Used]) -> dict[str, float]:
    ours = best[OURS]["cpu_ms_per_page"] if best else 0
    return {name: ours / used["cpu_ms_per_page"] for name, used in best.items() if name != OURS}


if __name__ == "__main__":
    main()
