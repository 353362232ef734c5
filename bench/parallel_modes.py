"""Four portals at four rates, crawled in three ways; what each took, by the portals' own request logs."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from parallel_portals import Portal, RunningPortal, plan_of, portals
from parallel_world import team
from windows import excess

COMMAND = str(Path(sys.executable).with_name("sale-sofia"))
SURROUNDINGS = {"ARCHIVE_ENABLED": "false", "COPY_CHECK_EVERY": "1"}
PATIENCE_SECONDS = 900.0
PROCESSES = 8

Crawl = Callable[[Path, Sequence[str]], None]


def four_portals(*, quick: bool) -> list[Portal]:
    """At 60 to 480 requests a minute, 70 to 90 s each; quick ones at 120 to 480, 5 to 6 s each."""
    adverts = {120: 9, 240: 18, 360: 27, 480: 40} if quick else {60: 88, 120: 160, 240: 292, 480: 525}
    return [Portal(f"portal-{rate}.test", count, rate) for rate, count in adverts.items()]


def sequential(folder: Path, names: Sequence[str]) -> None:
    """One portal after the other, in one process."""
    _command(folder, *names, "--one-by-one")


def local(folder: Path, names: Sequence[str]) -> None:
    """All portals at once in one process."""
    _command(folder, *names)


def parallel(folder: Path, names: Sequence[str]) -> None:
    """All portals at once on Celery workers that are up already."""
    with team(folder / "team", PROCESSES, **_surroundings(folder)) as made:
        made.start_worker()
        made.start_beat()
        made.wait_until_ready()
        made.dispatch_plans(plan_of(name, made.environment) for name in names)
        made.wait(PATIENCE_SECONDS)


MODES: Mapping[str, Crawl] = {"sequential": sequential, "local": local, "parallel": parallel}


def measure_mode(name: str, folder: Path, wanted: Sequence[Portal]) -> dict[str, Any]:
    """One way of crawling all of them."""
    with portals(folder, wanted) as running:
        MODES[name](folder, list(running))
        return figures(running)


def figures(running: Mapping[str, RunningPortal]) -> dict[str, Any]:
    """Makespan and bound of all together, each portal's own, and windows over a rate."""
    times = sorted(moment for one in running.values() for moment in one.times())
    makespan, bound = times[-1] - times[0], max(one.bound() for one in running.values())
    over = {name: _over(one) for name, one in running.items()}
    return {
        "requests": len(times),
        "makespan": round(makespan, 2),
        "bound": round(bound, 2),
        "ratio": round(makespan / bound, 4),
        "of_each": {name: round(one.makespan() / one.bound(), 4) for name, one in running.items()},
        "over_the_rate": {name: windows for name, windows in over.items() if windows},
    }


def _over(one: RunningPortal) -> dict[float, float]:
    return excess(one.times(), one.portal.per_minute, 1 + one.portal.concurrency)


def _surroundings(folder: Path) -> dict[str, str]:
    return {**SURROUNDINGS, "SITES_DIR": str(folder / "sites")}


def _command(folder: Path, *names: str) -> None:
    environ = {**os.environ, **_surroundings(folder), "DATA_DIR": str(folder / "data")}
    command = [COMMAND, "crawl", "--local", *names, "--json"]
    subprocess.run(command, env=environ, check=True, capture_output=True, timeout=PATIENCE_SECONDS)
