"""One database into another: every value of every table, and nothing twice, wherever it was stopped."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import JSON, Connection, Text, delete, func, insert, inspect, select, text, update

from any_rows import fill
from ready_files import put_ready_file
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.listings import save_listing
from sale_sofia.history.tables import listing_changes, listings
from sale_sofia.listings.model import Listing
from sale_sofia.operations import copying
from sale_sofia.operations.copying import (
    CopyFailed,
    CopyRefused,
    TableDigest,
    all_tables,
    batches,
    copy_database,
    digest_batches,
    read_mark,
    row_count,
)
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import check
from seeds import SEED

ROWS = 15
TABLES = len(all_tables())
FEWEST_STEPS = 10 * TABLES
"""A copy in batches of 3 takes 11 for each table or more: 5 to read, 1 to skip, 5 to compare."""


def opened(url: str) -> Database:
    return Database(url, busy_timeout_seconds=10, busy_retries=3)


@contextmanager
def sqlite(path: Path, *, rows: int = 0) -> Iterator[Database]:
    with closing(opened(f"sqlite:///{path}")) as database:
        if rows:
            path.write_bytes(filled(rows))
        yield database


@cache
def filled(rows: int) -> bytes:
    """The file of a database with so many rows in each table."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        put_ready_file(path)
        with closing(opened(f"sqlite:///{path}")) as database:
            database.run_write(lambda connection: fill(connection, random.Random(SEED), rows))
        return path.read_bytes()


@contextmanager
def closing(database: Database) -> Iterator[Database]:
    try:
        yield database
    finally:
        database.dispose()


def contents(database: Database) -> dict[str, TableDigest]:
    def read(connection: Connection) -> dict[str, TableDigest]:
        return {table.name: digest_batches(batches(connection, table)) for table in all_tables()}

    return database.run_read(read)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Database]:
    with sqlite(tmp_path / "source.db", rows=ROWS) as database:
        yield database


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "COPY_ROWS_AT_ONCE", 3)


def test_every_table_that_there_is_is_copied(source: Database) -> None:
    there = source.run_read(lambda connection: set(inspect(connection).get_table_names()))
    assert {table.name for table in all_tables()} == there - {"alembic_version"}


@pytest.mark.slow
def test_every_value_comes_to_a_server_and_back(source: Database, postgres_url: str, tmp_path: Path) -> None:
    """Also no value and a null of JSON, which are two things, and a whole number with a point in JSON."""
    with closing(opened(postgres_url)) as server, sqlite(tmp_path / "back.db") as back:
        copied = copy_database(source, server)
        assert copied.rows == dict.fromkeys((table.name for table in all_tables()), ROWS), f"seed {SEED}"
        assert not copied.resumed
        assert contents(source) == contents(server), f"seed {SEED}"
        assert source.run_read(nulls) == server.run_read(nulls), f"seed {SEED}"
        assert min(source.run_read(nulls)) > 0
        priced = update(listing_changes).values(old=171_000.0, new=169_500.5)
        server.run_write(lambda connection: connection.execute(priced) and None)
        copy_database(server, back)
        assert contents(server) == contents(back), f"seed {SEED}"
        values = select(listing_changes.c.old, listing_changes.c.new).distinct()
        assert back.run_read(lambda c: [tuple(row) for row in c.execute(values)]) == [(171_000, 169_500.5)]
        assert check(server) == check(back) == []


def nulls(connection: Connection) -> tuple[int, int]:
    """How often there is no value, and how often JSON's own null, in all columns of JSON."""
    columns = [column for table in all_tables() for column in table.columns if isinstance(column.type, JSON)]
    nothing = [select(func.count()).where(column.is_(None)) for column in columns]
    null = [select(func.count()).where(column.cast(Text) == "null") for column in columns]
    return sum(map(connection.scalar, nothing)), sum(map(connection.scalar, null))


@pytest.mark.slow
def test_the_server_knows_what_it_holds_and_the_next_row_gets_a_number_of_its_own(
    source: Database, postgres_url: str
) -> None:
    told = text("SELECT relname FROM pg_class WHERE reltuples = :rows AND relkind = 'r'")
    with closing(opened(postgres_url)) as server:
        copy_database(source, server)
        known = server.run_read(lambda connection: set(connection.execute(told, {"rows": ROWS}).scalars()))
        assert {table.name for table in all_tables()} <= known
        advert = Listing(site="imot.bg", external_id="new", url="https://example.org/1")
        server.run_write(
            lambda connection: save_listing(connection, advert, seen_at=1.0, job_id=None, page_digest=None)
        )
        number = server.run_read(
            lambda connection: connection.scalar(select(listings.c.id).where(listings.c.external_id == "new"))
        )
    assert number == 3 * ROWS + 1


@pytest.mark.slow
@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("changed", [False, True], ids=["as it was", "changed meanwhile"])
def test_a_copy_goes_on_where_it_was_stopped(
    source: Database,
    postgres_url: str,
    changed: bool,  # noqa: FBT001
) -> None:
    rng = random.Random(SEED)
    with closing(opened(postgres_url)) as server:
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                copy_database(source, server, stopping_after(rng.randrange(FEWEST_STEPS)))
        if changed:
            source.run_write(lambda connection: connection.execute(update(jobs).values(site="other")))
            source.run_write(lambda connection: connection.execute(delete(listing_changes)))
        copy_database(source, server)
        assert contents(source) == contents(server), f"seed {SEED}"
        assert check(server) == []


def stopping_after(steps: int) -> Callable[[str, int], None]:
    left = [steps]

    def progress(_table: str, _rows: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    return progress


@pytest.mark.slow
@pytest.mark.usefixtures("small_batches")
def test_what_was_copied_is_not_copied_again(source: Database, tmp_path: Path) -> None:
    told: list[int] = []
    with sqlite(tmp_path / "target.db") as target:
        with pytest.raises(KeyboardInterrupt):
            copy_database(source, target, stopping_after(TABLES * 5 + TABLES * 3))
        copied = copy_database(source, target, lambda _, rows: told.append(rows))
    assert copied.resumed
    assert sum(told) == 3 * ROWS * TABLES
    assert max(told) > 3  # what was there already, in one step


@pytest.mark.slow
def test_a_target_that_somebody_writes_to_is_found_out(source: Database, tmp_path: Path) -> None:
    def disturb(table: str, _rows: int) -> None:
        if table == all_tables()[-1].name:
            target.run_write(lambda connection: connection.execute(update(jobs).values(site="other")))

    with sqlite(tmp_path / "target.db") as target, pytest.raises(CopyFailed, match=r"jobs differs: 15 rows"):
        copy_database(source, target, disturb)


@pytest.mark.slow
@pytest.mark.parametrize("link", ["source.db", "link.db"])
def test_a_database_is_not_copied_into_itself(source: Database, tmp_path: Path, link: str) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "source.db")
    with sqlite(tmp_path / link) as same, pytest.raises(CopyRefused, match="are the same database"):
        copy_database(source, same)


@pytest.mark.slow
def test_a_servers_database_is_not_copied_into_itself(postgres_url: str) -> None:
    other = postgres_url.replace("127.0.0.1", "localhost")
    with closing(opened(postgres_url)) as one, closing(opened(other)) as two:
        with pytest.raises(CopyRefused, match="are the same database"):
            copy_database(one, two)
        assert "geheim" not in one.name


def test_a_finished_copy_may_be_repeated(source: Database, tmp_path: Path) -> None:
    with sqlite(tmp_path / "target.db") as target:
        copy_database(source, target)
        assert copy_database(source, target).resumed
        assert contents(target) == contents(source)
        target.run_write(lambda connection: connection.execute(update(jobs).values(site="other")) and None)
        with pytest.raises(CopyRefused, match=r"target.db is not empty: it has rows in \w+"):
            copy_database(source, target)


def test_a_target_with_data_is_left_alone(source: Database, tmp_path: Path) -> None:
    with sqlite(tmp_path / "target.db", rows=1) as target:
        before = contents(target)
        with pytest.raises(CopyRefused, match=r"target.db is not empty: it has rows in \w+"):
            copy_database(source, target)
        assert contents(target) == before


@pytest.mark.slow
def test_an_unfinished_copy_of_another_source_is_left_alone(source: Database, tmp_path: Path) -> None:
    with sqlite(tmp_path / "other.db", rows=2) as other, sqlite(tmp_path / "target.db") as target:
        with pytest.raises(KeyboardInterrupt):
            copy_database(other, target, stopping_after(2 * TABLES))
        with pytest.raises(CopyRefused, match=r"is the unfinished copy of \S*other.db, not of \S*source.db"):
            copy_database(source, target)
        copy_database(other, target)


def test_a_source_of_another_form_is_refused(source: Database, tmp_path: Path) -> None:
    with source.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0013_pruned'"))
    with (
        sqlite(tmp_path / "target.db") as target,
        pytest.raises(CopyRefused, match="`sale-sofia db upgrade`"),
    ):
        copy_database(source, target)
    assert not (tmp_path / "target.db").exists()


def test_a_source_without_tables_is_refused(tmp_path: Path) -> None:
    nothing = pytest.raises(CopyRefused, match=r"There is nothing to copy in \S*none.db")
    with sqlite(tmp_path / "none.db") as none, sqlite(tmp_path / "target.db") as target, nothing:
        copy_database(none, target)
    assert not (tmp_path / "target.db").exists()


@pytest.mark.slow
def test_a_row_that_the_server_does_not_take_is_named(source: Database, postgres_url: str) -> None:
    with source.write() as connection:
        connection.execute(update(jobs).values(site="a\x00b"))
    with (
        closing(opened(postgres_url)) as server,
        pytest.raises(CopyFailed, match="does not take a row of jobs: "),
    ):
        copy_database(source, server)


@pytest.mark.slow
def test_all_tables_are_of_one_moment(source: Database, tmp_path: Path) -> None:
    before = contents(source)

    def write_meanwhile(_table: str, _rows: int) -> None:
        source.run_write(
            lambda connection: connection.execute(update(jobs).values(requests=jobs.c.requests + 1))
        )

    with sqlite(tmp_path / "target.db") as target:
        copy_database(source, target, write_meanwhile)
        assert contents(target) == before
    assert contents(source) != before


@pytest.mark.slow
def test_a_text_that_no_server_takes_is_refused_before_anything_is_written(
    source: Database, postgres_url: str
) -> None:
    job = {"id": "я" * 41, "site": "imot.bg", "state": "complete", "start_urls": [], "created_at": 1.0}
    source.run_write(lambda connection: connection.execute(insert(jobs).values(job)) and None)
    with closing(opened(postgres_url)) as server:
        with pytest.raises(CopyRefused, match=r"jobs\.id has a text of 41 characters, allowed are 40"):
            copy_database(source, server)
        assert (server.run_read(read_mark), server.run_read(row_count)) == (None, 0)
