"""Fast statements, for what a crawl runs with every page.

SQLAlchemy processes a statement and each of its values again at every run, which takes several times as long
as SQLite does. A `Quick` statement is compiled once and goes directly to SQLite's driver; on a server, which
takes longer to reach, it runs like any other (decision 048).
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
from sale_sofia.storage.tables import Digest

Values = Mapping[str, Any]
_Process = Callable[[Any], Any]
_NO_VALUES: Final[Values] = {}


class Quick:
    """One statement for many runs; its effect, results, errors and events are those of `execute`.

    `IN` lists may hold only plain numbers and texts, and no column may have a Python default.
    """

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._prepared: dict[tuple[str, ...], _Prepared] = {}

    def run(self, connection: Connection, rows: Sequence[Values]) -> int:
        """Run it once for each row, all with the same keys; returns how many rows of the table it wrote."""
        if not rows:
            return 0
        if not _use_driver(connection):
            result = connection.execute(self._statement, rows, execution_options={"preserve_rowcount": True})
            return result.rowcount
        prepared = self._prepare(connection, rows[0])
        if len(rows) == 1:
            return _execute(connection, *prepared.call(rows[0])).rowcount
        return _execute(connection, prepared.sql, prepared.values_of(rows), many=True).rowcount

    def rows(self, connection: Connection, values: Values = _NO_VALUES) -> Sequence[tuple[Any, ...]]:
        """The rows that it selects or returns, as plain tuples in the order of its columns."""
        if not _use_driver(connection):
            return connection.execute(self._statement, values).all()
        prepared = self._prepare(connection, values)
        rows = _execute(connection, *prepared.call(values)).fetchall()
        return [prepared.read(row) for row in rows] if prepared.readers else rows

    def mappings(self, connection: Connection, values: Values = _NO_VALUES) -> Sequence[Mapping[Any, Any]]:
        """The same rows, by the names of the columns."""
        if not _use_driver(connection):
            return connection.execute(self._statement, values).mappings().all()
        names = self._prepare(connection, values).columns
        return [dict(zip(names, row, strict=True)) for row in self.rows(connection, values)]

    def _prepare(self, connection: Connection, row: Values) -> "_Prepared":
        names = tuple(row)
        if (prepared := self._prepared.get(names)) is None:
            prepared = self._prepared[names] = _Prepared(self._statement, connection.dialect, names)
        return prepared


class _Prepared:
    """A statement compiled for SQLite and for values with certain keys."""

    def __init__(self, statement: Executable, dialect: Dialect, names: Sequence[str]) -> None:
        clause = cast("ClauseElement", statement)
        compiled = cast("SQLCompiler", clause.compile(dialect=dialect, column_keys=list(names)))
        self.sql = str(compiled)
        self._names = parameters = compiled.positiontup or []
        binds = [compiled.binds[name] for name in parameters]
        self._fixed = {
            name: bind.value for name, bind in zip(parameters, binds, strict=True) if not bind.required
        }
        self._lists = {name for name, bind in zip(parameters, binds, strict=True) if bind.expanding}
        self._writers = [
            (index, process, _writes_null(bind.type))
            for index, bind in enumerate(binds)
            if (process := _writer(bind.type, dialect)) and not bind.expanding
        ]
        self._pick: Callable[[Any], Any] = itemgetter(*parameters) if parameters else lambda _: ()
        result_columns = getattr(statement, "exported_columns", ())
        self.columns = [column.key for column in result_columns]
        self.readers: list[tuple[int, _Process]] = [
            (index, process)
            for index, column in enumerate(result_columns)
            if (process := _reader(column.type, dialect))
        ]

    def values_of(self, rows: Sequence[Values]) -> list[Sequence[Any]]:
        """The values of many rows as the driver takes them."""
        if self._fixed or self._writers or len(self._names) == 1:
            return list(map(self.values, rows))
        return list(map(self._pick, rows))

    def values(self, row: Values) -> Sequence[Any]:
        """The values of a row as the driver takes them."""
        picked = self._pick({**self._fixed, **row} if self._fixed else row)
        if len(self._names) == 1:
            picked = (picked,)
        if not self._writers:
            return cast("tuple[Any, ...]", picked)
        values = list(picked)
        for index, process, writes_null in self._writers:
            value = values[index]
            if value is not None or writes_null:
                values[index] = process(value)
        return values

    def call(self, row: Values) -> tuple[str, Sequence[Any]]:
        """The SQL and its values for the driver; `IN` lists get a placeholder for each value."""
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
        """A row of the driver in our values."""
        values = list(row)
        for index, process in self.readers:
            values[index] = process(values[index])
        return tuple(values)


def _writer(kind: TypeEngine[Any], dialect: Dialect) -> _Process | None:
    """Converts our value to the driver's like SQLAlchemy, in fewer steps; None: nothing to convert."""
    if isinstance(kind, Boolean):  # the driver stores them as 0 and 1
        return None
    if isinstance(kind, JSON):
        return to_json
    if isinstance(kind, Digest):
        return bytes.fromhex
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _writes_null(kind: TypeEngine[Any]) -> bool:
    """Whether the type stores None as something else: JSON may store it as its own null."""
    return not (isinstance(kind, Digest) or (isinstance(kind, JSON) and kind.none_as_null))


def _reader(kind: TypeEngine[Any], dialect: Dialect) -> _Process | None:
    if isinstance(kind, JSON):
        return _read_json
    return kind.dialect_impl(dialect).result_processor(dialect, None)


def _read_json(value: Any) -> Any:  # noqa: ANN401 - whatever was stored
    """SQLite stores a JSON text that is a number as a number, and returns that."""
    return from_json(value) if isinstance(value, str) else value


def _use_driver(connection: Connection) -> bool:
    """Whether to call SQLite's driver; then begins a transaction, as any statement of SQLAlchemy would."""
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
