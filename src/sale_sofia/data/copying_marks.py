"""What a copy writes down in its target until it is done: from where, and how far it is."""

from collections.abc import Mapping, Sequence

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    update,
)

from sale_sofia.data.copying_rows import Content

_marks = Table(
    "copy_in_progress",
    MetaData(),
    Column("table_name", String(80), primary_key=True),
    Column("source", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("rows", Integer, nullable=False),
)


class Mark:
    """The marks of one copy, as they were read."""

    def __init__(self, source: str, digests: Mapping[str, str], done: Mapping[str, int]) -> None:
        self.source = source
        self.digests = digests
        self.done = done

    def is_of(self, contents: Mapping[str, Content]) -> bool:
        """Whether the source is still as it was when the copy began."""
        return dict(self.digests) == {name: content.digest for name, content in contents.items()}


def read_mark(connection: Connection) -> Mark | None:
    """The mark of a copy that was begun and not brought to its end."""
    if not inspect(connection).has_table(_marks.name):
        return None
    rows = connection.execute(select(_marks)).all()
    source = rows[0].source if rows else ""
    names = {row.table_name: row for row in rows}
    return Mark(
        source,
        {name: row.digest for name, row in names.items()},
        {name: row.rows for name, row in names.items()},
    )


def begin(connection: Connection, source: str, contents: Mapping[str, Content]) -> None:
    """Mark the target as one of a copy that has done nothing yet."""
    _marks.drop(connection, checkfirst=True)
    _marks.create(connection)
    rows: Sequence[dict[str, object]] = [
        {"table_name": name, "source": source, "digest": content.digest, "rows": 0}
        for name, content in contents.items()
    ]
    connection.execute(insert(_marks), rows)


def move_on(connection: Connection, table: Table, rows: int) -> None:
    """So many rows of the table are in the target; belongs into the transaction that adds them."""
    connection.execute(update(_marks).where(_marks.c.table_name == table.name).values(rows=rows))


def end(connection: Connection) -> None:
    """The target is a database like any other."""
    _marks.drop(connection)
