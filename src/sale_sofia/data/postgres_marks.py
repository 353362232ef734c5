"""Each write leaves a mark, so that a commit whose answer was lost can be looked up.

A connection that breaks during COMMIT leaves its user not knowing whether the write was kept: doing it again
could do it twice, leaving it could lose it. So each connection has a row with the number of its last write,
changed in the same transaction. Whoever looks waits for that row, thus for the end of a write that is still
under way on the server.
"""

import secrets
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, text

from sale_sofia.config.postgres import MARK_SECONDS

TABLE: Final = "write_marks"
"""Made beside the schema's tables, and never copied: it is about the connections of this server."""
_WRITER, _NUMBER = "mark_writer", "mark_number"
MAKE_TABLE: Final = text(
    "CREATE TABLE IF NOT EXISTS write_marks "
    "(writer text PRIMARY KEY, number bigint NOT NULL, seen_at timestamptz NOT NULL DEFAULT now())"
)
_LEAVE = text(
    "INSERT INTO write_marks (writer, number) VALUES (:writer, :number) "
    "ON CONFLICT (writer) DO UPDATE SET number = excluded.number, seen_at = now()"
)
_LOOK = text(
    "INSERT INTO write_marks (writer, number) VALUES (:writer, 0) "
    "ON CONFLICT (writer) DO UPDATE SET seen_at = now() RETURNING number"
)
_FORGET = text(
    "DELETE FROM write_marks WHERE writer IN (SELECT writer FROM write_marks "
    "WHERE seen_at < now() - :seconds * interval '1 second' FOR UPDATE SKIP LOCKED)"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """One write of one connection."""

    writer: str
    number: int


def leave(connection: Connection) -> Mark:
    """Mark the write that the connection is in; its first one forgets the marks of the long dead."""
    known = connection.info
    if _WRITER not in known:
        known[_WRITER], known[_NUMBER] = secrets.token_hex(12), 0
        connection.execute(_FORGET, {"seconds": MARK_SECONDS})
    known[_NUMBER] += 1
    mark = Mark(known[_WRITER], known[_NUMBER])
    connection.execute(_LEAVE, {"writer": mark.writer, "number": mark.number})
    return mark


def was_kept(connection: Connection, mark: Mark) -> bool:
    """Whether the marked write was committed; it certainly will not be any more when this says no."""
    return bool(connection.execute(_LOOK, {"writer": mark.writer}).scalar_one() >= mark.number)
