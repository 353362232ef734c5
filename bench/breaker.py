"""What a portal that is down still gets asked: one breaker for all processes, and one for each.

Eight processes ask a portal about ten times a second each. It answers, then fails for ten seconds with 503,
then answers again; it notes every request itself. The breakers open after five failures in a row for one
second; "steady" ones for one second every time, as libraries do it, "as shipped" ones twice as long after
every probe that failed, which spares the portal and notices its recovery later.

Steady ones meet three outages that end at different times between two probes.

The goal: never more probes in a half-open round than the quota, by the portal's log; with one breaker for all
at most a third of the requests that one for each process sends under the same rules; and the first success of
a steady one at most half a second after the portal is up and the second is over.
"""

import itertools
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import breaker_systems as systems
import measure
from breaker_outage import HEAD, Outage, shown
from breaker_portal import Portal, portal
from breaker_worker import Errand, run
from limiter_team import heard
from sale_sofia.operations.services.redis import RedisServer

PROCESSES = 8
UP_SECONDS = 1.5
DOWN_SECONDS, QUICK_DOWN_SECONDS = 10.0, 4.0
PHASES = (0.0, 1 / 3, 2 / 3)
"""Parts of the time between two probes by which the outages differ: when it ends is luck for a single one."""
PATIENCE_SECONDS = 20.0
MOST_SHARE = 1 / 3
MOST_UNTIL_SUCCESS = systems.RESET_SECONDS + 0.5
STEADY = (systems.SHARED, systems.OWN, systems.PYBREAKER)
Plan = list[tuple[str, float]]
"""Systems, and for how long the portal is down."""
Outages = dict[str, list[Outage]]
QUICK_PLAN: Plan = [(system, QUICK_DOWN_SECONDS) for system in STEADY]
PLAN: Plan = [
    *((system, DOWN_SECONDS + phase * systems.RESET_SECONDS) for phase in PHASES for system in STEADY),
    (systems.SHARED_GROWING, DOWN_SECONDS),
    (systems.OWN_GROWING, DOWN_SECONDS),
]
COMPARED = {systems.SHARED: systems.OWN, systems.SHARED_GROWING: systems.OWN_GROWING}


def main() -> None:
    """Measure, print a table, and end with one JSON object."""
    options = measure.options(__doc__)
    print(HEAD, flush=True)
    outages = measured(QUICK_PLAN if options.quick else PLAN)
    ratios = dict(compare(outages))
    for pair, ratio in ratios.items():
        print(f"{pair}: {ratio:.2f} of the requests")
    missed = list(all_missed(outages, ratios))
    for sentence in missed:
        print(f"missed: {sentence}")
    result = {
        "bench": "breaker",
        "processes": PROCESSES,
        "quota": systems.QUOTA,
        "breakers": {name: [one.figures() for one in found] for name, found in outages.items()},
        "requests_of": {pair: round(ratio, 3) for pair, ratio in ratios.items()},
        "missed": missed,
    }
    measure.finish(result, met=not missed, check=options.check)


def measured(plan: Plan) -> Outages:
    """One outage after the other, each with a circuit that nobody used before."""
    found: Outages = {system: [] for system, _ in plan}
    with (
        tempfile.TemporaryDirectory(prefix="bench-breaker-") as name,
        portal() as site,
        RedisServer.start(Path(name)) as redis,
    ):
        for system, seconds in plan:
            found[system].append(suffer(system, site, redis.url, seconds))
            print(found[system][-1].row(), flush=True)
    return found


def suffer(system: str, site: Portal, redis_url: str, seconds: float) -> Outage:
    """One outage of the portal."""
    down = time.time() + UP_SECONDS
    up = down + seconds
    site.fail_between(down, up)
    errands = [
        Errand(
            system=system,
            redis_url=redis_url,
            domain=f"{system}, down until {up}",
            port=site.port,
            sender=sender,
            recovery=up,
            end=up + PATIENCE_SECONDS,
        )
        for sender in range(PROCESSES)
    ]
    closed = carried_out(errands)
    return Outage(system, down, up, site.log(), closed)


def carried_out(errands: list[Errand]) -> list[float | None]:
    """What each process says, all at work at the same time."""
    fork = multiprocessing.get_context("fork")
    all_there = fork.Barrier(len(errands))
    pipes = [fork.Pipe() for _ in errands]
    processes = [
        fork.Process(target=run, args=(errand, theirs, all_there.wait), daemon=True)
        for errand, (_, theirs) in zip(errands, pipes, strict=True)
    ]
    for process in processes:
        process.start()
    closed = [heard(ours) for ours, _ in pipes]
    for process in processes:
        process.join()
    return closed


def compare(outages: Outages) -> Iterator[tuple[str, float]]:
    """What the shared breaker sent, as a part of what the others sent."""
    for ours, theirs in [*COMPARED.items(), (systems.SHARED, systems.PYBREAKER)]:
        if ours in outages and theirs in outages:
            yield f"{ours} / {theirs}", sent(outages[ours]) / sent(outages[theirs])


def sent(outages: list[Outage]) -> int:
    """Requests while the portal was down."""
    return sum(len(one.while_down) for one in outages)


def all_missed(outages: Outages, ratios: dict[str, float]) -> Iterator[str]:
    """Each bar that is missed, in a sentence."""
    for one in itertools.chain.from_iterable(outages.values()):
        yield from missed_by(one)
    for pair, ratio in ratios.items():
        if ratio > MOST_SHARE:
            yield f"{pair}: {ratio:.2f} of the requests (bar: {MOST_SHARE:.2f})"


def missed_by(one: Outage) -> Iterator[str]:
    """What one outage shows."""
    if one.system in COMPARED and one.most_probes > systems.QUOTA:
        yield f"{one.system}: {one.most_probes} probes in a round (bar: {systems.QUOTA})"
    if None in one.closed:
        yield f"{one.system}: not closed {PATIENCE_SECONDS:g} s after the recovery"
    first = one.first_success
    if one.system == systems.SHARED and (first is None or first > MOST_UNTIL_SUCCESS):
        yield f"{one.system}: first success after {shown(first)} s (bar: {MOST_UNTIL_SUCCESS})"


if __name__ == "__main__":
    main()
