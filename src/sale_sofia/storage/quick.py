"""Statements that a crawl runs with every page.

SQLAlchemy looks at a statement and at each of its values anew whenever it is run, which takes several times
as long as SQLite does. A `Quick` statement is compiled once and goes to SQLite's driver as it is; to a
server, which it takes longer to reach, it goes as any other (decision 048).
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, cast

from sqlalchemy import JSON, Boolean, ClauseElement, Connection, Dialect, Executable
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

from sale_sofia.storage.connections import from_json, to_json

Values = Mapping[str, Any]
_Process = Callable[[Any], Any]
_NO_VALUES: Final[Values] = {}


class Quick:
    """One statement, for many runs; what it means, gives, raises and tells listeners is as with `execute`.

    Lists that it looks in (`IN`) hold plain numbers and texts, and columns have no defaults of Python's.
    """

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._prepared: dict[tuple[str, ...], _Prepared] = {}

    def run(self, connection: Connection, rows: Sequence[Values]) -> int:
        """Run it once for each row, all of the same names; how many rows of the table it wrote."""
        if not rows:
            return 0
        if not _is_file(connection):
            many = connection.execute(self._statement, rows, execution_options={"preserve_rowcount": True})
            return many.rowcount
        prepared = self._for(connection, rows[0])
        if len(rows) == 1:
            return _execute(connection, *prepared.call(rows[0])).rowcount
        return _execute(connection, prepared.sql, list(map(prepared.values, rows)), many=True).rowcount

    def rows(self, connection: Connection, values: Values = _NO_VALUES) -> Sequence[tuple[Any, ...]]:
        """What it finds, or returns of what it wrote: plain rows in the order of its columns."""
        if not _is_file(connection):
            return connection.execute(self._statement, values).all()
        prepared = self._for(connection, values)
        found = _execute(connection, *prepared.call(values)).fetchall()
        return [prepared.read(row) for row in found] if prepared.readers else found

    def mappings(self, connection: Connection, values: Values = _NO_VALUES) -> Sequence[Mapping[Any, Any]]:
        """The same by the names of the columns."""
        if not _is_file(connection):
            return connection.execute(self._statement, values).mappings().all()
        names = self._for(connection, values).columns
        return [dict(zip(names, row, strict=True)) for row in self.rows(connection, values)]

    def _for(self, connection: Connection, row: Values) -> "_Prepared":
        names = tuple(row)
        if (known := self._prepared.get(names)) is None:
            known = self._prepared[names] = _Prepared(self._statement, connection.dialect, names)
        return known


class _Prepared:
    """A statement compiled for SQLite and for values of certain names."""

    def __init__(self, statement: Executable, dialect: Dialect, names: Sequence[str]) -> None:
        whole = cast("ClauseElement", statement)
        compiled = cast("SQLCompiler", whole.compile(dialect=dialect, column_keys=list(names)))
        self.sql = str(compiled)
        self._names = places = compiled.positiontup or []
        binds = [compiled.binds[name] for name in places]
        self._fixed = {
            name: bind.value for name, bind in zip(places, binds, strict=True) if not bind.required
        }
        self._lists = {name for name, bind in zip(places, binds, strict=True) if bind.expanding}
        self._writers = [
            (place, process)
            for place, bind in enumerate(binds)
            if (process := _writer(bind.type, dialect)) and not bind.expanding
        ]
        self._take: Callable[[Any], Any] = itemgetter(*places) if places else lambda _: ()
        returned = getattr(statement, "exported_columns", ())
        self.columns = [column.key for column in returned]
        self.readers: list[tuple[int, _Process]] = [
            (place, process)
            for place, column in enumerate(returned)
            if (process := _reader(column.type, dialect))
        ]

    def values(self, row: Values) -> Sequence[Any]:
        """What the driver is given for a row."""
        taken = self._take({**self._fixed, **row} if self._fixed else row)
        if len(self._names) == 1:
            taken = (taken,)
        if not self._writers:
            return cast("tuple[Any, ...]", taken)
        written = list(taken)
        for place, process in self._writers:
            written[place] = process(written[place])
        return written

    def call(self, row: Values) -> tuple[str, Sequence[Any]]:
        """The statement and what the driver is given, where it looks in lists: a place for each value."""
        values = self.values(row)
        if not self._lists:
            return self.sql, values
        sql, flat = self.sql, list[Any]()
        for name, value in zip(self._names, values, strict=True):
            if name in self._lists:
                sql = sql.replace(f"__[POSTCOMPILE_{name}]", ", ".join("?" * len(value)))
                flat.extend(value)
            else:
                flat.append(value)
        return sql, flat

    def read(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a row of the driver's means."""
        read = list(row)
        for place, process in self.readers:
            read[place] = process(read[place])
        return tuple(read)


def _writer(kind: TypeEngine[Any], dialect: Dialect) -> _Process | None:
    """What makes the driver's value of ours: as SQLAlchemy's, in one step where it takes several."""
    if isinstance(kind, Boolean):  # to the driver they are the numbers 0 and 1
        return None
    if isinstance(kind, JSON):
        return _nullable_json if kind.none_as_null else to_json
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _nullable_json(value: object) -> str | None:
    return None if value is None else to_json(value)


def _reader(kind: TypeEngine[Any], dialect: Dialect) -> _Process | None:
    if isinstance(kind, JSON):
        return _json_read
    return kind.dialect_impl(dialect).result_processor(dialect, None)


def _json_read(value: Any) -> Any:  # noqa: ANN401 - whatever was kept
    """SQLite keeps a text that is a number as one, and gives it back as such."""
    return from_json(value) if isinstance(value, str) else value


def _is_file(connection: Connection) -> bool:
    """Whether the driver can be asked; a transaction is then begun, as by any statement of SQLAlchemy."""
    if connection.dialect.name != "sqlite":
        return False
    if not connection.in_transaction():
        connection.begin()
    return True


def _execute(
    connection: Connection, sql: str, values: Sequence[Any], *, many: bool = False
) -> sqlite3.Cursor:
    driver = cast("sqlite3.Connection", connection.connection.driver_connection)
    cursor = driver.cursor()
    for listener in connection.dispatch.before_cursor_execute:
        listener(connection, cursor, sql, values, None, many)
    try:
        return cursor.executemany(sql, values) if many else cursor.execute(sql, values)
    except sqlite3.Error as error:
        problem = DBAPIError.instance(sql, None, error, sqlite3.Error, dialect=connection.dialect)
        raise problem from error
