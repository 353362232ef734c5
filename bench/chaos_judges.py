"""What the portals, the database, Redis and the system say of a world that was under fire."""

import fcntl
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from sqlalchemy import Connection, select

from chaos_host import Machine, zombies
from chaos_world import HOPS, LEASE_SECONDS, PROCESSES, World
from crawls import Row, differences, stored_at, truth
from parallel_world import OUR_KEYS, doubled
from postgres_servers import PostgresServer
from sale_sofia.crawl.runners.dispatching import result_url
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.operations.services.redis import connect
from sale_sofia.websites.site_file import load_site_config
from windows import excess, fullest

BURIAL_SECONDS = 10.0
"""A dead process may wait so long for its parent to take leave of it."""
_HARMLESS = {None, "slow"}
"""Faults of a portal that cost a page no try."""
SHOWN = 5
"""So many requests of a window, or rows of a job, are shown as evidence."""


class Breach(NamedTuple):
    """A promise that was not kept: which, and how one can see it."""

    promise: str
    evidence: str


def judge(world: World) -> Iterator[Breach]:
    """Everything that is not as it should be while the services still run."""
    yield from over_the_rate(world.requests(), world)
    yield from stuck(world)
    yield from wrong(world)
    yield from never_ending_keys(world)
    for machine in world.machines:
        yield from unburied(machine)


def over_the_rate(rows: Sequence[Row], world: World) -> Iterator[Breach]:
    """No window of any portal holds more than rate·w + burst, whatever was asked for in it."""
    for site in HOPS:
        asked = sorted((row["t"], row["path"], row["status"]) for row in rows if row["site"] == site)
        yield from windows_over(site, asked, world.per_minute, burst(site, len(world.machines)))


def burst(site: str, hosts: int) -> float:
    """One at once; one for each process that decides alone while Redis is gone; and what is on its way."""
    return 1 + hosts * PROCESSES + load_site_config(site).politeness.concurrency


def windows_over(
    site: str, asked: Sequence[tuple[float, str, int]], per_minute: float, most_at_once: float
) -> Iterator[Breach]:
    """Each length of window that is over, where it begins, and the first requests in it."""
    times = [moment for moment, _, _ in asked]
    for seconds, over in excess(times, per_minute, most_at_once).items():
        start = fullest(times, seconds)
        inside = [one for one in asked if start <= one[0] < start + seconds]
        shown = ", ".join(f"+{moment - start:.2f} {path} {status}" for moment, path, status in inside[:SHOWN])
        allowed = per_minute / 60 * seconds + most_at_once
        told = f"{site}: {len(inside)} requests in {seconds:g} s from {start:.3f}, {allowed:g} allowed"
        yield Breach("rate", f"{told}, {over:g} too many: {shown} …")


def stuck(world: World) -> Iterator[Breach]:
    """Every job has ended as COMPLETE, and no row of any is open, leased, or given up without its reason."""
    found = world.database.run_read(_jobs_and_rows)
    excused = given_up(world)
    for job in found[0]:
        if job.state != "COMPLETE":
            yield Breach("stuck", f"{job.id} is {job.state}: {job.error}")
    now = time.time()
    rows = [row for row in found[1] if row.url_key not in excused]
    for row in rows[:SHOWN]:
        yield Breach("stuck", _told(row, now))
    if len(rows) > SHOWN:
        yield Breach("stuck", f"and {len(rows) - SHOWN} more rows")


def given_up(world: World) -> set[str]:
    """The keys of pages whose every try the portal itself, by its own log, answered with one of its faults.

    After so many tries such a page fails with its reason: that is a promise too, and no fault of ours.
    """
    faults = Counter(urlsplit(row["path"]).path for row in world.requests() if row["fault"] not in _HARMLESS)
    failed = [row for row in world.database.run_read(_jobs_and_rows)[1] if row.state == "failed"]
    return {row.url_key for row in failed if faults[urlsplit(row.url).path] >= row.attempts}


def _jobs_and_rows(connection: Connection) -> tuple[list[Any], list[Any]]:
    every = select(jobs.c.id, jobs.c.state, jobs.c.error)
    open_ = select(frontier).where(frontier.c.state != "done")
    return list(connection.execute(every)), list(connection.execute(open_))


def _told(row: Any, now: float) -> str:  # noqa: ANN401 - of the frontier
    due = f"not before {row.not_before - now:+.0f} s" if row.not_before > 0 else "at any time"
    until = f", leased by {row.lease_owner} for {row.lease_until - now:+.0f} s" if row.lease_until else ""
    return f"{row.job_id}: {row.url} is {row.state}, {due}{until}, {row.deaths} deaths: {row.reason}"


def wrong(world: World) -> Iterator[Breach]:
    """Every advert is there once, as it truly is, with the history of one that never changed."""
    stored = stored_at(world.settings.database_url.get_secret_value(), world.folder)
    found = differences(stored, truth(world.simulator)) | doubled(world.database)
    excused = {key.partition(":")[2] for key in given_up(world)}
    found = {advert: how for advert, how in found.items() if advert[1] not in excused or how != "missing"}
    for advert, how in list(found.items())[: 4 * SHOWN]:
        yield Breach("adverts", f"{advert}: {how}")


def never_ending_keys(world: World) -> Iterator[Breach]:
    """Every key of ours in Redis goes away by itself: whoever died with a place or a lock loses it."""
    url = world.redis_url()
    if url is None:
        yield Breach("stuck", "no Redis answers")
        return
    for database in (url, result_url(url)):
        with connect(database) as client:
            names = [str(key) for key in client.scan_iter() if str(key).startswith(OUR_KEYS)]
            yield from (Breach("locks", f"{name} never ends") for name in names if client.ttl(name) == -1)


def unburied(machine: Machine) -> Iterator[Breach]:
    """No process of a host keeps dead children."""
    end = time.monotonic() + BURIAL_SECONDS
    while (left := zombies(machine.pids("everything"))) and time.monotonic() < end:
        time.sleep(0.2)
    yield from (Breach("processes", f"{machine.name}: zombie {pid}") for pid in left)


def judge_end(world: World) -> Iterator[Breach]:
    """What is left after all services were told to stop: no process, no lock."""
    for machine in world.machines:
        machine.stop()
        yield from (Breach("processes", f"{machine.name}: {one}") for one in machine.breaches)
        yield from (Breach("locks", f"{path} is held") for path in _held(machine.data))
    if world.postgres:
        world.database.dispose()
        yield from _server_locks(world.postgres, world.settings.database_url.get_secret_value())


def _held(folder: Path) -> list[Path]:
    """The lock files that somebody still holds."""
    return [path for path in sorted(folder.rglob("*.lock")) if not _can_be_taken(path)]


def _can_be_taken(path: Path) -> bool:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _server_locks(server: PostgresServer, url: str) -> Iterator[Breach]:
    asked = (
        "SELECT application_name, locktype, state FROM pg_stat_activity LEFT JOIN pg_locks USING (pid) "
        "WHERE datname = %s AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    end = time.monotonic() + LEASE_SECONDS
    with server.admin() as admin:
        while (left := admin.execute(asked, [url.rpartition("/")[2]]).fetchall()) and time.monotonic() < end:
            time.sleep(0.2)
    yield from (Breach("locks", f"PostgreSQL: {' '.join(map(str, row))}") for row in left)
