"""Healthy portals alone, and beside a silent, a hostile and a slow one: how much longer do they take?"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from parallel_modes import PATIENCE_SECONDS, PROCESSES, SURROUNDINGS
from parallel_portals import Portal, RunningPortal, plan_of, portals, silent_portal
from parallel_world import team

GOAL = 1.10
SLOWER = 10


def run(folder: Path, *, quick: bool) -> tuple[dict[str, Any], bool]:
    """Makespans of the healthy ones in both companies, and their ratio, for each and for the worst."""
    healthy = _healthy(quick=quick)
    alone = _makespans(folder / "alone", healthy, [])
    beside = _makespans(folder / "beside", healthy, _bad())
    ratios = {name: round(beside[name] / alone[name], 4) for name in alone}
    found = {"goal": GOAL, "alone": alone, "beside": beside, "ratios": ratios}
    print(f"company     {found}", flush=True)
    return {"company": found}, max(ratios.values()) <= GOAL


def _healthy(*, quick: bool) -> list[Portal]:
    adverts = {400: 70, 200: 35} if quick else {400: 400, 200: 200}
    return [Portal(f"healthy-{rate}.test", count, rate) for rate, count in adverts.items()]


def _bad() -> list[Portal]:
    interval = 60 / 400
    return [
        Portal("hostile.test", 50, 300, faults="captcha:1.0"),
        Portal("slow.test", 1000, 400, faults="slow:1.0", slow_seconds=SLOWER * interval),
    ]


def _makespans(folder: Path, healthy: Sequence[Portal], bad: Sequence[Portal]) -> dict[str, float]:
    names = [one.name for one in healthy]
    with ExitStack() as stack:
        running = stack.enter_context(portals(folder, [*healthy, *bad]))
        others = [*stack.enter_context(_silent(folder)), *(one.name for one in bad)] if bad else []
        _crawl(folder, [*others, *names], names)
        return {name: _makespan(running[name]) for name in names}


def _makespan(one: RunningPortal) -> float:
    return round(one.makespan(), 2)


@contextmanager
def _silent(folder: Path) -> Iterator[list[str]]:
    portal = Portal("silent.test", 0, 300)
    with silent_portal(folder, portal):
        yield [portal.name]


def _crawl(folder: Path, names: Sequence[str], awaited: Sequence[str]) -> None:
    variables = {**SURROUNDINGS, "SITES_DIR": str(folder / "sites")}
    with team(folder / "team", PROCESSES, **variables) as made:
        made.start_worker()
        made.start_beat()
        made.wait_until_ready()
        made.dispatch_plans(plan_of(name, made.environment) for name in names)
        made.wait(PATIENCE_SECONDS, awaited)
