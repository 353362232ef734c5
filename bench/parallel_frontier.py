"""100 000 pages to read: does the memory of worker processes, dispatcher or Redis grow with them?

The rows are put into the frontier at once, then ten lanes read them at 6000 a minute. Compared are the memory
of each when the lanes are warm and at the end, and the same with a frontier of a few thousand rows. Nothing
is matched and scored meanwhile: what that takes depends on the adverts, and not on the queue.
"""

import json
import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection

from crawls import ALONE
from parallel_modes import SURROUNDINGS
from parallel_portals import Portal, RunningPortal, plan_of, portals
from parallel_world import Team, team
from process_sizes import children
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.urls import Target

LANES = 10
PER_MINUTE = 6000
NO_TTL = -1
WARM_SECONDS = 12.0
SAMPLE_SECONDS = 1.0
MOST_GROWTH = 1.10
MOST_REDIS_MB = 50.0
MOST_REDIS_GROWTH_MB = 1.0
BATCH = 5000


class Memory(NamedTuple):
    """Megabytes at one moment."""

    dispatcher: float
    """The worker's own process, which hands out the messages."""
    worker: float
    """The largest process of its pool."""
    redis: float


def run(folder: Path, *, quick: bool) -> tuple[dict[str, Any], bool]:
    """A few rows, then many."""
    few = _measure(folder / "few", rows=2500 if quick else 5000, seconds=20 if quick else 45)
    many = _measure(folder / "many", rows=100_000, seconds=25 if quick else 75)
    flat = all(_is_flat(few["warm"], one["highest"]) for one in (few, many))
    small = many["highest"]["redis"] < MOST_REDIS_MB
    return {"few": few, "many": many}, flat and small and not many["keys_without_ttl"]


def _is_flat(before: dict[str, float], after: dict[str, float]) -> bool:
    """Redis is so small that the buffers of its connections, which come and go, are a fifth of it."""
    processes = all(after[name] <= MOST_GROWTH * before[name] for name in ("dispatcher", "worker"))
    return processes and after["redis"] - before["redis"] < MOST_REDIS_GROWTH_MB


def _measure(folder: Path, rows: int, seconds: float) -> dict[str, Any]:
    portal = Portal("big.test", rows, PER_MINUTE, file_per_minute=1200, concurrency=LANES, distinct=300)
    rates = {"DOMAIN_RATE_LIMITS": json.dumps({portal.name: PER_MINUTE})}
    surroundings = {**SURROUNDINGS, **ALONE, **rates, "SITES_DIR": str(folder / "sites")}
    with portals(folder, [portal]) as running, team(folder / "team", LANES, **surroundings) as made:
        made.dispatch_plans([plan_of(portal.name, made.environment)])
        _fill(made, running[portal.name])
        made.start_worker()
        made.start_beat()
        made.wait_until_ready()
        found = {"rows": rows, **_watch(made, seconds), "pages": len(running[portal.name].times())}
    print(f"{rows:7} rows  {found}", flush=True)
    return found


def _fill(made: Team, one: RunningPortal) -> None:
    """Every advert into the frontier, without a search."""
    targets = _targets(one)
    while bite := list(islice(targets, BATCH)):
        made.database.run_write(partial(_add, job_id=made.jobs[one.portal.name], targets=bite))


def _add(connection: Connection, job_id: str, targets: list[Target]) -> None:
    frontier.add_targets(connection, job_id, targets)


def _targets(one: RunningPortal) -> Iterator[Target]:
    with one.truth.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield Target("listing", row["url"], f"listing:{row['external_id']}")


def _watch(made: Team, seconds: float) -> dict[str, Any]:
    """Memory when warm, at its highest since, and at the end of the time or of the job."""
    time.sleep(WARM_SECONDS)
    samples, end = [_memory(made)], time.monotonic() + seconds
    while time.monotonic() < end and not made.finished():
        time.sleep(SAMPLE_SECONDS)
        samples.append(_memory(made))
    highest = Memory(*(max(column) for column in zip(*samples, strict=True)))
    eternal = [name for name, seconds in made.keys_of_ours().items() if seconds == NO_TTL]
    told = {"warm": samples[0], "highest": highest, "end": samples[-1]}
    return {**{name: one._asdict() for name, one in told.items()}, "keys_without_ttl": eternal}


def _memory(made: Team) -> Memory:
    main = made.workers[0].pid
    pool = [_resident_megabytes(pid) for pid in children(main)]
    return Memory(_resident_megabytes(main), max(pool), round(made.redis_bytes() / 1e6, 2))


def _resident_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return round(int(status.partition("VmRSS:")[2].split()[0]) / 1024, 1)
