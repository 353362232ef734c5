"""Copies a whole installation from one database into another; verified, and resumable.

The source is read in one transaction, so all tables are of one moment. Rows go over in batches; a batch and
the note of how far the copy is are one transaction of the target, so a kill at any moment loses the batch in
hand and doubles nothing. At the end both sides are compared, as digests of all their rows.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    inspect,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError

from sale_sofia.storage.all_tables import metadata
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.storage.migrate import HEAD, current_revision, initialize_database

COPY_ROWS_AT_ONCE: Final = 500
"""Rows read, and written in one transaction: some megabytes of adverts, less than a second of work."""
Row = dict[str, Any]
_MODULUS: Final = 1 << 256
_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str).encode


class TableDigest(NamedTuple):
    """How many rows a table has, and a digest of all of them, in whatever order they come."""

    rows: int
    digest: str


@cache
def all_tables() -> list[Table]:
    """Every table, each after those its rows point to; `None` is no value, JSON's own null is `JSON.NULL`."""
    twins = MetaData()
    for table in metadata.sorted_tables:
        for column in _json_columns(table.to_metadata(twins)):
            column.type = JSON(none_as_null=True)
    return twins.sorted_tables


def _json_columns(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if isinstance(column.type, JSON)]


def batches(connection: Connection, table: Table, skipped: int = 0) -> Generator[list[Row], None, None]:
    """All rows but the first `skipped`; their order is the same whenever the rows are the same."""
    flags = {column.name: f"{column.name} is null" for column in _json_columns(table)}
    nulls = [table.c[name].is_(None).label(flag) for name, flag in flags.items()]
    ordered = select(table, *nulls).order_by(*table.primary_key).offset(skipped)
    with connection.execute(ordered.execution_options(yield_per=COPY_ROWS_AT_ONCE)) as found:
        for batch in found.mappings().partitions():
            rows = []
            for read in batch:
                row = {column.name: read[column.name] for column in table.columns}
                for name, flag in flags.items():
                    if row[name] is None and not read[flag]:
                        row[name] = JSON.NULL
                rows.append(row)
            yield rows


def digest_batches(read: Iterable[Sequence[Row]]) -> TableDigest:
    """Count and digest batches of rows."""
    count = total = 0
    for batch in read:
        count += len(batch)
        total = (total + sum(map(_number, batch))) % _MODULUS
    return TableDigest(count, f"{total:064x}")


def _number(row: Row) -> int:
    # Added up, not chained: a server may sort texts differently from a file.
    return int.from_bytes(
        hashlib.sha256(_canonical([_plain(value) for value in row.values()]).encode()).digest()
    )


def _plain(value: object) -> object:
    """The value in one form: SQLite returns 92.0 of a JSON column as 92, as that has numeric affinity."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return {"json": None} if value is JSON.NULL else value


_marks = Table(
    "copy_in_progress",
    MetaData(),
    Column("table_name", String(80), primary_key=True),
    Column("source", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("rows", Integer, nullable=False),
)
"""What a copy records in its target until it is done: its source, and how far it is."""


class CopyMark(NamedTuple):
    """The marks of one copy, as they were read."""

    source: str
    digests: dict[str, str]
    """Of each table of the source when the copy began."""
    done: dict[str, int]
    """Rows of each table that are in the target."""


def read_mark(connection: Connection) -> CopyMark | None:
    """The mark of an unfinished copy, if there is one."""
    if not inspect(connection).has_table(_marks.name):
        return None
    rows = connection.execute(select(_marks)).all()
    digests = {row.table_name: row.digest for row in rows}
    return CopyMark(rows[0].source if rows else "", digests, {row.table_name: row.rows for row in rows})


CopyProgress = Callable[[str, int], None]
"""Called with a table, and how many more of its rows were read, written or compared."""


class CopyRefused(DatabaseError):
    """The copy would overwrite something, or would not be whole; nothing was changed."""


class CopyFailed(DatabaseError):
    """The copy was begun, and the target differs from the source."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied; `resumed` when an earlier copy had begun it."""

    rows: Mapping[str, int]
    resumed: bool


def copy_database(source: Database, target: Database, progress: CopyProgress = lambda *_: None) -> Copied:
    """Copy all rows: afterwards the target holds what the source held when this began, verified.

    A target that holds just that already is as good as copied: whoever was killed after it may repeat it.

    Raises:
        CopyRefused: the two are one, the source has no current tables, or the target holds something else.
        CopyFailed: the target does not take a row, or they are not equal in the end.
    """
    _check(source, target)
    initialize_database(target)
    with target.exclusive():
        with source.read() as connection:
            contents = {table.name: _digest_table(connection, table, progress) for table in all_tables()}
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


def _check(source: Database, target: Database) -> None:
    revision = current_revision(source)
    if revision is None:
        raise CopyRefused(f"There is nothing to copy in {source.name}: it has no tables.")
    if revision != HEAD:
        raise CopyRefused(
            f"{source.name} has revision {revision}, and this program copies {HEAD}; "
            "bring it there with `sale-sofia db upgrade` and DATABASE_URL set to it."
        )
    if target.name.startswith("postgresql:") and (wrong := source.run_read(longest_text)):
        raise CopyRefused(f"{target.name} cannot take all of {source.name}: {wrong}; nothing was copied.")
    if current_revision(target) is None:
        return  # a target without tables is not the source, which has some
    if source.run_read(_identity) == target.run_read(_identity):
        raise CopyRefused(f"{source.name} and {target.name} are the same database.")


def longest_text(connection: Connection) -> str | None:
    """The first text that is longer than its column, which SQLite stores and PostgreSQL refuses."""
    for table in all_tables():
        lengths = {
            column: column.type.length
            for column in table.columns
            if isinstance(column.type, String) and column.type.length
        }
        if not lengths:
            continue
        found = connection.execute(select(*(func.max(func.length(column)) for column in lengths))).one()
        for (column, most), length in zip(lengths.items(), found, strict=True):
            if length is not None and length > most:
                return f"{table.name}.{column.name} has a text of {length} characters, allowed are {most}"
    return None


def _identity(connection: Connection) -> tuple[str, ...]:
    """What differs between any two databases, however they are addressed."""
    if connection.dialect.name == "sqlite":
        file = Path(connection.exec_driver_sql("PRAGMA database_list").all()[0][2]).stat()
        return str(file.st_dev), str(file.st_ino)
    started = func.pg_postmaster_start_time()
    names = select(started, func.current_database(), func.current_schema())
    return tuple(map(str, connection.execute(names).one()))


def _digest_table(connection: Connection, table: Table, progress: CopyProgress) -> TableDigest:
    return digest_batches(_report_batches(table, batches(connection, table), progress))


def _report_batches(
    table: Table, read: Generator[list[Row], None, None], progress: CopyProgress
) -> Iterator[list[Row]]:
    with closing(read):
        for batch in read:
            yield batch
            progress(table.name, len(batch))


def _begin(source: Database, target: Database, contents: Mapping[str, TableDigest]) -> Mapping[str, int]:
    """Begin or resume a copy; how many rows of each table are in the target already."""
    mark = target.run_read(read_mark)
    if mark and mark.source != source.name:
        raise CopyRefused(f"{target.name} is the unfinished copy of {mark.source}, not of {source.name}.")
    digests = {name: digest_batches.digest for name, digest_batches in contents.items()}
    if mark and mark.digests == digests:
        return mark.done
    if not mark and target.run_read(partial(_holds, contents=contents)):
        return {name: found.rows for name, found in contents.items()}  # an earlier copy has come to its end

    def begin_anew(connection: Connection) -> None:
        if mark:  # the source has changed since: the rows copied so far are stale
            for table in reversed(all_tables()):
                connection.execute(delete(table))
        for table in all_tables():
            if connection.execute(select(literal_column("1")).select_from(table).limit(1)).first():
                raise CopyRefused(
                    f"{target.name} is not empty: it has rows in {table.name}; name an empty database."
                )
        _marks.drop(connection, checkfirst=True)
        _marks.create(connection)
        marks = [
            {"table_name": name, "source": source.name, "digest": digest, "rows": 0}
            for name, digest in digests.items()
        ]
        connection.execute(insert(_marks), marks)

    target.run_write(begin_anew)
    return dict.fromkeys(contents, 0)


def _holds(connection: Connection, contents: Mapping[str, TableDigest]) -> bool:
    """Whether all tables hold exactly this; those that differ in size are not read."""
    counted = (
        connection.scalar(select(func.count()).select_from(table)) == contents[table.name].rows
        for table in all_tables()
    )
    return all(counted) and all(
        digest_batches(batches(connection, table)) == contents[table.name] for table in all_tables()
    )


def _copy(connection: Connection, target: Database, table: Table, done: int, progress: CopyProgress) -> None:
    progress(table.name, done)
    for batch in _report_batches(table, batches(connection, table, skipped=done), progress):
        done += len(batch)
        _write(target, table, batch, done)


def _write(target: Database, table: Table, batch: list[Row], done: int) -> None:
    """Add rows as they are, with their ids, and mark how far the copy is, in one transaction."""

    def work(connection: Connection) -> None:
        connection.execute(insert(table), batch)
        connection.execute(update(_marks).where(_marks.c.table_name == table.name).values(rows=done))

    try:
        target.run_write(work)
    except DBAPIError as error:
        why = str(error.orig).partition("\n")[0]
        raise CopyFailed(f"{target.name} does not take a row of {table.name}: {why}") from error


def _verify(target: Database, contents: Mapping[str, TableDigest], progress: CopyProgress) -> None:
    with target.read() as connection:
        for table in all_tables():
            found, source = _digest_table(connection, table, progress), contents[table.name]
            if found != source:
                raise CopyFailed(
                    f"{table.name} differs: {source.rows} rows in the source, {found.rows} in {target.name}; "
                    "did anything write to it meanwhile? Empty it, and copy again."
                )


def _end(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        for table in all_tables():
            _set_sequence(connection, table)
            # Without statistics the server would scan whole tables to find a few rows.
            connection.execute(text(f"ANALYZE {table.name}"))
    _marks.drop(connection, checkfirst=True)


def _set_sequence(connection: Connection, table: Table) -> None:
    """Let the next new row get an id after all that were copied."""
    key = table.autoincrement_column
    if key is None or not isinstance(key.type, Integer):
        return
    sequence = connection.scalar(select(func.pg_get_serial_sequence(table.name, key.name)))
    last = connection.scalar(select(func.max(key)))
    if sequence and last:
        connection.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})
