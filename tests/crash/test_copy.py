"""A copy of a database killed at every point: what is left is known to be unfinished, and goes on."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Connection, Engine, event

from any_rows import fill
from backup_worlds import database_in, opened
from crash_points import Enumeration, count_points
from ready_files import put_ready_file
from sale_sofia.operations import copying
from sale_sofia.operations.copying import (
    TableDigest,
    all_tables,
    batches,
    copy_database,
    digest_batches,
    read_mark,
)
from sale_sofia.storage.database import Database

SOME = ("jobs", "frontier", "listings", "listing_changes", "price_points")
"""The way of a copy is the same for all tables; that none is forgotten: contract test_copying."""
ROWS = 5


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [table for table in all_tables() if table.name in SOME]
    monkeypatch.setattr(copying, "all_tables", lambda: some)
    monkeypatch.setattr(copying, "COPY_ROWS_AT_ONCE", 2)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("source")
    put_ready_file(folder / "sale_sofia.db")
    database = database_in(folder)
    database.run_write(lambda connection: fill(connection, Random(1), ROWS))
    yield database
    database.dispose()


def contents(database: Database) -> dict[str, TableDigest]:
    with database.read() as connection:
        return {
            table.name: digest_batches(batches(connection, table))
            for table in all_tables()
            if table.name in SOME
        }


def unfinished(database: Database) -> bool:
    """Whether it says of itself that a copy has not come to its end."""
    return database.run_read(read_mark) is not None


def copy(source: Database, target: Database) -> None:
    """What the command does."""
    try:
        copy_database(source, target)
    finally:
        target.dispose()


def test_a_copy_killed_at_every_point(source: Database, tmp_path: Path) -> None:
    targets = [database_in(tmp_path / name) for name in ("alone", "place")]
    for name in ("alone", "place"):
        put_ready_file(tmp_path / name / "sale_sofia.db")
    counted = count_points(tmp_path / "alone", lambda: copy(source, targets[0]))
    place, target = tmp_path / "place", targets[1]
    crash = Enumeration(place, tmp_path / "states", lambda: None)
    crash.run(lambda: copy(source, target))
    wanted, wrong = contents(source), {}
    for state in crash.recovered(place):
        copy(source, target)
        now = contents(target), unfinished(target), target.faults()
        target.dispose()
        if now != (wanted, False, []):
            wrong[str(state)] = now
    assert wrong == {}
    crash.check_complete(counted, least=100)


class Killed(BaseException):
    """Nobody bears it: what it goes through is left as a dead process leaves it."""


def dying(at: str, after: int) -> Callable[..., None]:
    """A listener that lets so many commits of a server through, and dies at the next."""
    left = [after]

    def die(connection: Connection) -> None:
        if connection.dialect.name == at:
            left[0] -= 1
            if left[0] < 0:
                connection.invalidate()
                raise Killed

    return die


def test_a_copy_to_a_server_cut_off_at_every_commit(source: Database, postgres_url: str) -> None:
    """Each try dies at its second commit of rows, so that every commit is once the last one that was kept."""
    target, deaths = opened(postgres_url), 0
    while True:
        die = dying("postgresql", 1)
        event.listen(Engine, "commit", die)
        try:
            copy(source, target)
            break
        except Killed:
            deaths += 1
        finally:
            event.remove(Engine, "commit", die)
        assert unfinished(target) or not any(one.rows for one in contents(target).values())
        target.dispose()
    assert contents(target) == contents(source)
    assert not unfinished(target)
    target.dispose()
    assert deaths >= 3 * len(SOME), "one for each batch"
