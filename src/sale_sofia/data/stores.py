"""What every kind of database does for `Database`, each in its own way."""

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import URL, Connection
from sqlalchemy.exc import DBAPIError

from sale_sofia.config.postgres import ServerLimits
from sale_sofia.data.errors import DatabaseError, Stop
from sale_sofia.data.sqlite import SqliteStore

_SERVER = "postgresql"


class Store(Protocol):
    """One database of one kind. Making it opens, creates and changes nothing."""

    name: str
    """What it is called before people: where it is, and no password."""

    def write(self) -> AbstractContextManager[Connection]:
        """One transaction, kept as a whole at the end of the block, or not at all."""

    def read(self) -> AbstractContextManager[Connection]:
        """One view of the data; writing through it is refused."""

    def exists(self) -> bool:
        """Whether there is anything that could be opened."""

    def prepare(self) -> None:
        """Make the place where the tables will be."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Only one process of all is inside."""

    def portal_lock(self, site: str) -> AbstractContextManager[str | None]:
        """The portal on all machines that use this database: None when it is ours, else who has it."""

    def faults(self, connection: Connection, stop: Stop) -> list[str]:
        """What the database itself finds wrong."""

    def explain(self, error: DBAPIError) -> DatabaseError | None:
        """The one sentence for a failure of the environment; `None` for a caller's mistake."""

    def dispose(self) -> None:
        """Close what is open."""


def is_server(url: URL) -> bool:
    """Whether the address is of a database server, and not of a file."""
    return url.get_backend_name() == _SERVER


def make_store(url: URL, busy_timeout: float, limits: ServerLimits) -> Store:
    """The store that the address names.

    Raises:
        DatabaseUnsupported: it names none that this program can use.
    """
    if is_server(url):
        from sale_sofia.data.postgres import PostgresStore  # noqa: PLC0415 - who has a file needs no driver

        return PostgresStore(url, busy_timeout, limits)
    return SqliteStore(url, busy_timeout)
