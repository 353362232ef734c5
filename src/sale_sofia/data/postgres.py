"""All that is particular to PostgreSQL: how it is reached, and how a transaction begins and ends."""

import math
import os
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Any, Final

import psycopg
from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from sale_sofia.config import postgres as config
from sale_sofia.config.postgres import ServerLimits
from sale_sofia.data import postgres_errors, postgres_locks, postgres_marks
from sale_sofia.data.errors import DatabaseBusy, DatabaseError, DatabaseReadOnly, DatabaseUnreachable, Stop
from sale_sofia.data.errors import DatabaseUnsupported as Unsupported
from sale_sofia.data.forks import guard_forks
from sale_sofia.data.outage import Outage
from sale_sofia.data.postgres_faults import faults
from sale_sofia.data.postgres_marks import Mark

_DRIVER: Final = "postgresql+psycopg"
_DRIVERS: Final = frozenset({"postgresql", _DRIVER})
_WITHOUT_LIMIT: Final = -1
_SHOWN_OPTIONS: Final = ("host", "port")
_SERVER = text(
    "SELECT current_setting('server_version_num')::int AS version, pg_is_in_recovery() AS standby, "
    "current_setting('server_encoding') AS encoding"
)


class PostgresStore:
    """One database of a server. Writers lock the rows they are about; readers see one moment."""

    def __init__(self, url: URL, busy_timeout: float, limits: ServerLimits) -> None:
        if url.drivername not in _DRIVERS:
            raise Unsupported(f"{url.drivername} is no driver of ours; write postgresql://… or {_DRIVER}://…")
        self.name = _shown(url)
        self._limits = limits
        self._session = _session_settings(busy_timeout, limits)
        self._writer = self._engine(url, writes=True)
        self._reader = self._engine(url, writes=False)

    def _engine(self, url: URL, *, writes: bool) -> Engine:
        engine = create_engine(
            url.set(drivername=_DRIVER),
            connect_args=_connect_arguments(self._limits),
            poolclass=QueuePool,
            max_overflow=_WITHOUT_LIMIT,
            pool_pre_ping=True,
            pool_use_lifo=True,  # those beyond what is needed fall asleep and are ended by nobody's traffic
        )
        event.listen(engine, "do_connect", _name_session)
        event.listen(engine, "connect", self._begin_session if writes else self._begin_reading)
        guard_forks(engine)
        return engine

    def _begin_session(self, connection: psycopg.Connection, _record: object) -> None:
        names = ", ".join(f"set_config('{name}', %s, false)" for name in self._session)
        connection.autocommit = True
        connection.execute(f"SELECT {names}".encode(), list(self._session.values()))
        connection.autocommit = False

    def _begin_reading(self, connection: psycopg.Connection, record: object) -> None:
        self._begin_session(connection, record)
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction, kept as a whole at the end of the block, also when the answer to that is lost."""
        with self._writer.connect() as connection, connection.begin() as transaction:
            yield connection
            mark = postgres_marks.leave(connection)
            try:
                transaction.commit()
            except DBAPIError as error:
                if not postgres_errors.is_loss(error) or not self._was_kept(mark):
                    raise

    def read(self) -> AbstractContextManager[Connection]:
        """One view of the data; writing through it is refused."""
        return self._reader.connect()

    def exists(self) -> bool:
        """A server is there, or it says itself why not."""
        return True

    def prepare(self) -> None:
        """Refuse a server that cannot be used, and make the table of marks; nothing else has to be there."""
        with self._writer.begin() as connection:
            _check_server(connection, self.name)
            connection.execute(postgres_marks.MAKE_TABLE)

    def exclusive(self) -> AbstractContextManager[None]:
        """Only one process of all is inside."""
        return postgres_locks.exclusive(self._writer, self.name)

    def portal_lock(self, site: str) -> AbstractContextManager[str | None]:
        """The portal on all machines that use this database: None when it is ours, else who has it."""
        return postgres_locks.portal_lock(self._writer, site)

    def faults(self, connection: Connection, stop: Stop) -> list[str]:
        """What can be found wrong from here."""
        return faults(connection, stop)

    def explain(self, error: DBAPIError) -> DatabaseError | None:
        """The one sentence for a failure of the environment; `None` for a caller's mistake."""
        return postgres_errors.explain(error, self.name)

    def dispose(self) -> None:
        """Close what is open."""
        self._writer.dispose()
        self._reader.dispose()

    def _was_kept(self, mark: Mark) -> bool:
        outage = Outage(self._limits.outage_seconds)
        outage.over()
        for tries in count():
            try:
                with self._writer.begin() as connection:
                    return postgres_marks.was_kept(connection, mark)
            except DBAPIError as error:
                self._wait_for_answer(outage, self.explain(error) or error, tries)
        raise AssertionError("counting has no end")

    def _wait_for_answer(self, outage: Outage, problem: Exception, tries: int) -> None:
        if not isinstance(problem, DatabaseBusy | DatabaseUnreachable):
            raise problem
        try:
            outage.endure(DatabaseUnreachable(str(problem)), tries)
        except DatabaseUnreachable as error:
            raise DatabaseError(
                f"{self.name} went away during a commit and did not come back; "
                "whether that write was kept is not known."
            ) from error


def _shown(url: URL) -> str:
    """Where it is: no user either, as a password may have slipped into its place."""
    options = {name: value for name, value in url.query.items() if name in _SHOWN_OPTIONS}
    return URL.create("postgresql", None, None, url.host, url.port, url.database, options).render_as_string()


def _connect_arguments(limits: ServerLimits) -> dict[str, Any]:
    return {
        "connect_timeout": math.ceil(limits.connect_seconds),
        "keepalives_idle": config.KEEPALIVE_IDLE_SECONDS,
        "keepalives_interval": config.KEEPALIVE_INTERVAL_SECONDS,
        "keepalives_count": config.KEEPALIVE_COUNT,
        "tcp_user_timeout": _milliseconds(limits.silence_seconds),
    }


def _session_settings(busy_timeout: float, limits: ServerLimits) -> dict[str, str]:
    """What the server is told of each session; it too notices that its other end is gone."""
    lock = max(1, _milliseconds(busy_timeout))  # zero would be for ever
    milliseconds = {
        "lock_timeout": lock,
        "statement_timeout": max(_milliseconds(limits.statement_seconds), lock + 1),
        "idle_in_transaction_session_timeout": _milliseconds(limits.idle_seconds),
        "tcp_user_timeout": _milliseconds(limits.silence_seconds),
    }
    seconds = {
        "tcp_keepalives_idle": config.KEEPALIVE_IDLE_SECONDS,
        "tcp_keepalives_interval": config.KEEPALIVE_INTERVAL_SECONDS,
        "tcp_keepalives_count": config.KEEPALIVE_COUNT,
    }
    return {name: str(value) for name, value in (milliseconds | seconds).items()}


def _milliseconds(seconds: float) -> int:
    return math.ceil(seconds * 1000)


def _name_session(_dialect: object, _record: object, _arguments: object, parameters: dict[str, Any]) -> None:
    """So that people who look at the server see who is there."""
    parameters.setdefault("application_name", f"sale-sofia {socket.gethostname()} {os.getpid()}"[:63])


def _check_server(connection: Connection, name: str) -> None:
    server = connection.execute(_SERVER).one()
    if server.version < config.LEAST_SERVER_VERSION:
        raise Unsupported(
            f"The server of {name} is version {server.version // 10_000}; "
            f"PostgreSQL {config.LEAST_SERVER_NAME} or newer is needed."
        )
    if server.encoding != config.ENCODING:
        raise Unsupported(f"{name} holds its texts in {server.encoding}; make it with the encoding UTF8.")
    if server.standby:
        raise DatabaseReadOnly(f"{name} is on a standby server, which only reads; name the primary.")
