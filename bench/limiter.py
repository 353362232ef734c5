"""One rate for many processes: our limiter on Redis, and `limits` and `pyrate-limiter` on the same server.

1, 4 and 8 processes, each team with a server of its own, take turns at 60, 600 and 6000 per minute, all three
teams at the same time; in each process several waiters ask without end. Ours is measured by the instants that
the server gave out, read from the log of its writes, and by when the callers went. Every process also sleeps
now and then with no limiter at all: what a turn is later than such a sleep is the limiter's part. The peers
run in the same way for a shorter time; what they let go is counted when they let go, having no other time.

The goal, each window slid over every instant: at most rate·w + burst in windows of 0.1, 1, 10 and 60 s; at
least 98 % of the rate; turns at most 20 ms later (p95) than the sleeps; the least served process with 0.8 of
the turns of the best served one (where each had 50); at most 1.05 round trips for a turn without a wait and
2.1 with one, not counting what opens a connection. A short run does not fill the long windows.
"""

import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import limiter_bars
import measure
from limiter_lane import HEAD, Lane
from limiter_order import OURS, Order
from limiter_systems import SYSTEMS
from limiter_team import Team, team

TEAMS = (1, 4, 8)
WAITERS = 4
START_IN_SECONDS = 0.3
FREE_PER_MINUTE, FREE_PAUSE_SECONDS = 60_000, 0.005
"""Asked for less often than that, a turn never waits."""


class Length(NamedTuple):
    """Seconds of the runs, by rate per minute."""

    ours: Mapping[int, float]
    peers: Mapping[int, float]
    free: float


FULL = Length({60: 62, 600: 62, 6000: 62}, {60: 10, 600: 8, 6000: 8}, 3)
QUICK = Length({60: 6, 600: 5, 6000: 5}, {600: 3}, 1)


def main() -> None:
    """Measure, print a table, and end with one JSON object."""
    options = measure.options(__doc__)
    length = QUICK if options.quick else FULL
    with tempfile.TemporaryDirectory(prefix="bench-limiter-") as name, ExitStack() as stack:
        teams = [stack.enter_context(team(size, Path(name, str(size)))) for size in TEAMS]
        print(HEAD, flush=True)
        lanes = all_lanes(teams, length)
    missed = [sentence for lane in lanes for sentence in limiter_bars.missed(lane)]
    for sentence in missed:
        print(f"missed: {sentence}")
    result = {"bench": "limiter", "waiters": WAITERS, "lanes": [lane.figures() for lane in lanes]}
    measure.finish({**result, "missed": missed}, met=not missed, check=options.check)


def all_lanes(teams: list[Team], length: Length) -> list[Lane]:
    """Ours, ours without a wait, and the peers, one after the other."""
    lanes = [lane for rate, seconds in length.ours.items() for lane in wave(teams, OURS, rate, seconds)]
    lanes += wave(teams[:1], OURS, FREE_PER_MINUTE, length.free, FREE_PAUSE_SECONDS)
    for system in (name for name in SYSTEMS if name != OURS):
        for rate, seconds in length.peers.items():
            lanes += wave(teams, system, rate, seconds)
    return lanes


def wave(teams: list[Team], system: str, rate: int, seconds: float, pause: float = 0.0) -> list[Lane]:
    """One limiter at one rate in all teams at once."""
    orders = [
        Order(
            system=system,
            url=one.server.url,
            domain=f"{system} at {rate}",
            per_minute=rate,
            seconds=seconds,
            waiters=1 if pause else WAITERS,
            pause_seconds=pause,
        )
        for one in teams
    ]
    lanes = run(teams, orders)
    for lane in lanes:
        print(lane.row(), flush=True)
    return lanes


def run(teams: list[Team], orders: list[Order]) -> list[Lane]:
    """Each team carries out its order; all begin at the same instant."""
    for one, order in zip(teams, orders, strict=True):
        one.prepare(order)
    start = time.time() + START_IN_SECONDS
    for one in teams:
        one.start(start)
    works = [one.finish() for one in teams]
    return [
        Lane(order, work, one.round_trips(), start + order.seconds, one.grants(order.domain))
        for one, order, work in zip(teams, orders, works, strict=True)
    ]


if __name__ == "__main__":
    main()
