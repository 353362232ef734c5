"""A whole installation from one database into another: verified, and going on where it was stopped.

The source is read in one transaction, so all tables are of one moment. Rows go over in batches; a batch and
the note of how far the copy is are one transaction of the target, so a kill at any moment loses the batch in
hand and doubles nothing. At the end both sides are compared, as digests of all their rows.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, Integer, Table, delete, func, literal_column, select, text
from sqlalchemy.exc import DBAPIError

from sale_sofia.data import copying_marks
from sale_sofia.data.copying_rows import Content, Row, all_tables, batches, content, write
from sale_sofia.data.database import Database
from sale_sofia.data.errors import DatabaseError
from sale_sofia.data.migrate import HEAD, current_revision, initialize_database

Progress = Callable[[str, int], None]
"""Told which table, and how many more of its rows were read, written or compared."""


class CopyRefused(DatabaseError):
    """The copy would overwrite something, or would not be whole; nothing was changed."""


class CopyFailed(DatabaseError):
    """The copy was begun, and the target is not what the source is."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied; `resumed` when an earlier copy had begun it."""

    rows: Mapping[str, int]
    resumed: bool


def copy_database(source: Database, target: Database, progress: Progress = lambda *_: None) -> Copied:
    """Afterwards the target holds what the source held when this began, and is as good as the source.

    Raises:
        CopyRefused: the two are one, the source has no current tables, or the target holds something else.
        CopyFailed: the target does not take a row, or they are not equal in the end.
    """
    _check_source(source)
    _check_different(source, target)
    initialize_database(target)
    with target.exclusive():
        with source.read() as connection:
            contents = {table.name: _content(connection, table, progress) for table in all_tables()}
            done = _begin(source, target, contents)
            for table in all_tables():
                _copy(connection, target, table, done[table.name], progress)
        _verify(target, contents, progress)
        target.run_write(_end)
    return Copied({name: found.rows for name, found in contents.items()}, resumed=any(done.values()))


def row_count(connection: Connection) -> int:
    """All rows of all tables."""
    counts = (select(func.count()).select_from(table) for table in all_tables())
    return sum(connection.execute(count).scalar_one() for count in counts)


def _check_source(source: Database) -> None:
    revision = current_revision(source)
    if revision is None:
        raise CopyRefused(f"There is nothing to copy in {source.name}: it has no tables.")
    if revision != HEAD:
        raise CopyRefused(
            f"{source.name} has revision {revision}, and this program copies {HEAD}; "
            "bring it there with `sale-sofia db upgrade` and DATABASE_URL set to it."
        )


def _check_different(source: Database, target: Database) -> None:
    if current_revision(target) is None:
        return  # a target without tables is not the source, which has some
    if source.run_read(_identity) == target.run_read(_identity):
        raise CopyRefused(f"{source.name} and {target.name} are the same database.")


def _identity(connection: Connection) -> tuple[str, ...]:
    """What no two databases have in common, however they are addressed."""
    if connection.dialect.name == "sqlite":
        file = Path(connection.exec_driver_sql("PRAGMA database_list").all()[0][2]).stat()
        return str(file.st_dev), str(file.st_ino)
    started = func.pg_postmaster_start_time()
    names = select(started, func.current_database(), func.current_schema())
    return tuple(map(str, connection.execute(names).one()))


def _content(connection: Connection, table: Table, progress: Progress) -> Content:
    return content(_told(table, batches(connection, table), progress))


def _told(table: Table, read: Generator[list[Row], None, None], progress: Progress) -> Iterator[list[Row]]:
    with closing(read):
        for batch in read:
            yield batch
            progress(table.name, len(batch))


def _begin(source: Database, target: Database, contents: Mapping[str, Content]) -> Mapping[str, int]:
    """How many rows of each table are in the target already."""
    mark = target.run_read(copying_marks.read_mark)
    if mark and mark.source != source.name:
        raise CopyRefused(f"{target.name} is the unfinished copy of {mark.source}, not of {source.name}.")
    if mark and mark.is_of(contents):
        return mark.done
    work = partial(_begin_anew, source=source, target=target, contents=contents, emptied=mark is not None)
    target.run_write(work)
    return dict.fromkeys(contents, 0)


def _begin_anew(
    connection: Connection,
    source: Database,
    target: Database,
    contents: Mapping[str, Content],
    *,
    emptied: bool,
) -> None:
    if emptied:  # the source has changed since: what this copy brought here is of another moment
        for table in reversed(all_tables()):
            connection.execute(delete(table))
    _check_empty(connection, target)
    copying_marks.begin(connection, source.name, contents)


def _check_empty(connection: Connection, target: Database) -> None:
    for table in all_tables():
        if connection.execute(select(literal_column("1")).select_from(table).limit(1)).first():
            raise CopyRefused(
                f"{target.name} is not empty: it has rows in {table.name}; name an empty database."
            )


def _copy(connection: Connection, target: Database, table: Table, done: int, progress: Progress) -> None:
    progress(table.name, done)
    for batch in _told(table, batches(connection, table, skipped=done), progress):
        done += len(batch)
        _write(target, table, batch, done)


def _write(target: Database, table: Table, batch: list[Row], done: int) -> None:
    def work(connection: Connection) -> None:
        write(connection, table, batch)
        copying_marks.move_on(connection, table, done)

    try:
        target.run_write(work)
    except DBAPIError as error:
        why = str(error.orig).partition("\n")[0]
        raise CopyFailed(f"{target.name} does not take a row of {table.name}: {why}") from error


def _verify(target: Database, contents: Mapping[str, Content], progress: Progress) -> None:
    with target.read() as connection:
        for table in all_tables():
            found, wanted = _content(connection, table, progress), contents[table.name]
            if found != wanted:
                raise CopyFailed(
                    f"{table.name} differs: {wanted.rows} rows in the source, {found.rows} in {target.name}; "
                    "did anything write to it meanwhile? Empty it, and copy again."
                )


def _end(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        for table in all_tables():
            _set_sequence(connection, table)
            # Until the server knows what is in a table it reads all of it to find a few rows.
            connection.execute(text(f"ANALYZE {table.name}"))
    copying_marks.end(connection)


def _set_sequence(connection: Connection, table: Table) -> None:
    """The next row that is added gets an id after all that were copied."""
    key = table.autoincrement_column
    if key is None or not isinstance(key.type, Integer):
        return
    sequence = connection.scalar(select(func.pg_get_serial_sequence(table.name, key.name)))
    last = connection.scalar(select(func.max(key)))
    if sequence and last:
        connection.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})
