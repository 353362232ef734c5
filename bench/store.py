"""How fast adverts are written: with change detection and history, beside the driver's own bare upsert.

A store with 20 000 adverts is visited again: 95 % are as they were, 3 % have another price, 2 % are new, in
batches of 25, each one transaction. 1, 4 and 8 processes write at once, for some seconds, through the
program's own write path, on SQLite and on PostgreSQL; then the same adverts by the driver alone, as whole
rows, into a table with the same columns and indexes: it finds out nothing and keeps no history. Meanwhile one
more process reads single adverts and a crawl's rows.

The goal is 3 000 adverts a second on SQLite from 4 processes and half as many as the bare upsert, no error,
and 99 of 100 reads within 100 ms.
"""

import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from sqlalchemy import MetaData, quoted_name

import measure
import store_writers
from durable_postgres import durable_postgres
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.tables import listings
from sale_sofia.storage.migrate import initialize_database
from store_adverts import advert
from store_writers import BARE, Done, Team, opened

PROCESSES = (1, 4, 8)
GOAL = {"per_second": 3000, "of_bare": 0.5, "read_p99_ms": 100}
QUICK_GOAL = {
    "per_second": 1500,
    "of_bare": 0.3,
    "read_p99_ms": 200,
}  # short runs, on a machine that may be busy
JUDGED = "4"
FILL_BATCH = 500

Figures = dict[str, Any]
Work = Callable[[Team, Barrier], Done]


def main() -> None:
    """Measure both stores and judge SQLite."""
    options = measure.options(__doc__)
    adverts, seconds = (4000, 3.0) if options.quick else (20_000, 10.0)
    found: dict[str, dict[str, Figures]] = {}
    for name, store in STORES.items():
        with store() as url:
            found[name] = measure_store(name, url, adverts, seconds) if url else {}
    goal = QUICK_GOAL if options.quick else GOAL
    measure.finish(
        {"bench": "store", "adverts": adverts, "seconds": seconds, **found, "checked": goal},
        met=meets(found, goal),
        check=options.check,
    )


@contextmanager
def sqlite_store() -> Iterator[str]:
    """A file of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-store-") as folder:
        yield f"sqlite:///{folder}/store.db"


@contextmanager
def postgres_store() -> Iterator[str | None]:
    """A database on a server of its own that keeps what it has said to keep."""
    with durable_postgres() as server:
        yield None if server is None else server.new_database()


STORES = {"sqlite": sqlite_store, "postgres": postgres_store}


def measure_store(name: str, url: str, adverts: int, seconds: float) -> dict[str, Figures]:
    """Every number of processes, ours and bare by turns."""
    fill(url, adverts)
    found: dict[str, Figures] = {}
    for seed, processes in enumerate(PROCESSES):
        team = Team(url, adverts, 0, processes, seed, seconds)
        ours = together(store_writers.write_as_we_do, team)
        bare = together(store_writers.write_bare, team)
        ratio = ours["per_second"] / bare["per_second"]
        found[str(processes)] = {**ours, "bare": bare["per_second"], "of_bare": round(ratio, 3)}
        found[str(processes)]["errors"] += bare["errors"]
        print(f"{name:9} {processes} processes: {found[str(processes)]}", flush=True)
    return found


def fill(url: str, adverts: int) -> None:
    """The store as yesterday's crawl left it, in both tables."""
    database = opened(url)
    initialize_database(database)
    for first in range(0, adverts, FILL_BATCH):
        batch = [Sighting(advert(number), 1.0) for number in range(first, min(first + FILL_BATCH, adverts))]
        database.run_write(partial(save_listings, batch=batch))
    twin = listings.to_metadata(MetaData(), name=BARE)
    for index in twin.indexes:
        index.name = quoted_name(f"bare_{index.name}", quote=None)
    for constraint in twin.constraints:
        constraint.name = f"bare_{constraint.name}" if constraint.name else None
    names = ", ".join(column.name for column in listings.columns if column.name != "id")
    with database.write() as connection:
        twin.create(connection)
        copied = f"INSERT INTO {BARE} ({names}) SELECT {names} FROM listings"  # noqa: S608 - our own names
        connection.exec_driver_sql(copied)
        connection.exec_driver_sql("ANALYZE")  # as the server does by itself within a minute
    database.dispose()


def together(work: Work, team: Team) -> Figures:
    """All processes and a reader, from the same moment on."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(team.processes + 1) as pool:
        start = manager.Barrier(team.processes + 1)
        reading = pool.apply_async(store_writers.read, (team, start))
        writing = [
            pool.apply_async(work, (team._replace(process=number), start)) for number in range(team.processes)
        ]
        return _figures([one.get() for one in writing], reading.get())


def _figures(writers: list[Done], reader: Done) -> Figures:
    waits = sorted(wait for done in writers for wait in done.latencies)
    return {
        "per_second": round(sum(done.adverts / done.seconds for done in writers)),
        "batch_p99_ms": _p99(waits),
        "read_p99_ms": _p99(sorted(wait - store_writers.READ_EVERY_SECONDS for wait in reader.latencies)),
        "reads": reader.adverts,
        "errors": sum(done.errors for done in (*writers, reader)),
    }


def _p99(ordered: list[float]) -> float:
    return round(1000 * ordered[int(0.99 * len(ordered))], 1)


def meets(found: Mapping[str, Mapping[str, Figures]], goal: Mapping[str, float]) -> bool:
    """Whether SQLite is fast enough for four processes, without errors or long waits for a read."""
    every = [figures for store in found.values() for figures in store.values()]
    return (
        all(found["sqlite"][JUDGED][figure] >= goal[figure] for figure in ("per_second", "of_bare"))
        and all(figures["read_p99_ms"] <= goal["read_p99_ms"] for figures in every)
        and not any(figures["errors"] for figures in every)
    )


if __name__ == "__main__":
    main()
