"""All that is particular to PostgreSQL: how it is reached, and how a transaction begins and ends."""

import logging
import math
import os
import secrets
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import psycopg
from sqlalchemy import URL, Connection, Engine, QueuePool, TextClause, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from sale_sofia.storage import settings as config
from sale_sofia.storage.connections import Outage, guard_forks
from sale_sofia.storage.errors import (
    CheckStopped,
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseDenied,
    DatabaseError,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnsupported,
    DiskFull,
    Stop,
)
from sale_sofia.storage.errors import DatabaseUnsupported as Unsupported
from sale_sofia.storage.settings import (
    LOCK_SPACE,
    MARK_SECONDS,
    MIGRATION_LOCK,
    SITE_LOCK_LOOK_SECONDS,
    ServerLimits,
)

# What a failure of PostgreSQL, or of the way to it, means to a person.

Sentence = Callable[[str], DatabaseError]


def _met_another(name: str) -> DatabaseBusy:
    return DatabaseBusy(f"Another process wrote the same to {name} at the same moment; nothing was written.")


def _locked(name: str) -> DatabaseBusy:
    waited = "longer than POSTGRES_LOCK_TIMEOUT"
    return DatabaseBusy(f"Another process kept a part of {name} locked for {waited}; nothing was written.")


def _slow(name: str) -> DatabaseError:
    return DatabaseError(
        f"{name} took longer than POSTGRES_STATEMENT_TIMEOUT for one statement; nothing was kept."
    )


def _full(name: str) -> DiskFull:
    return DiskFull(
        f"There is no room on the server for {name} to grow; nothing of this write was kept: free some space."
    )


def _read_only(name: str) -> DatabaseReadOnly:
    return DatabaseReadOnly(f"{name} may only be read here: it is a standby, or this user may not write.")


def _no_right(name: str) -> DatabaseDenied:
    return DatabaseDenied(f"The user of DATABASE_URL may not do this in {name}; grant the right to it.")


def _no_tables(name: str) -> DatabaseMissing:
    return DatabaseMissing(f"There is no initialised database at {name}; initialise it first.")


def _damaged(name: str) -> DatabaseCorrupt:
    return DatabaseCorrupt(f"PostgreSQL says that {name} is damaged; restore a copy.")


def missing(name: str) -> DatabaseMissing:
    """The server is there, but not the database."""
    return DatabaseMissing(f"There is no database {name} on its server; make it there with `createdb`.")


def gone(name: str, reason: str) -> DatabaseUnreachable:
    """The server does not answer, or stopped answering."""
    return DatabaseUnreachable(f"{name} does not answer: {reason}.")


_BY_STATE: Final[Mapping[str, Sentence]] = {
    "23505": _met_another,  # unique_violation: two were the first to store the same
    "40001": _met_another,  # serialization_failure
    "40P01": _met_another,  # deadlock_detected
    "55P03": _locked,
    "57014": _slow,
    "53100": _full,
    "25006": _read_only,
    "42501": _no_right,
    "42P01": _no_tables,
    "3D000": missing,
    "XX001": _damaged,
    "XX002": _damaged,
}
# Shut down, crashed, starting, recovering; an idle transaction that was ended; no place or memory left.
_AWAY: Final = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "53300", "53200", "53000"})
_AWAY_CLASS: Final = "08"

# What is said before there is a session comes without a code. The particular stand before the general.
_BY_WORDS: Final[Mapping[str, Sentence]] = {
    "password authentication failed": lambda name: DatabaseDenied(
        f"{name} refuses the password or the user of DATABASE_URL."
    ),
    "no password supplied": lambda name: DatabaseDenied(
        f"{name} wants a password: put it into DATABASE_URL, DATABASE_PASSWORD_FILE or a PGPASSFILE."
    ),
    "no pg_hba.conf entry": lambda name: DatabaseDenied(
        f"{name} lets nobody in from this machine, as this user or without TLS; its pg_hba.conf says who may."
    ),
    "certificate": lambda name: DatabaseDenied(
        f"The certificates of {name} and of this machine do not fit: see sslmode, sslrootcert and sslcert."
    ),
    "server does not support SSL": lambda name: DatabaseDenied(
        f"{name} has no TLS, and sslmode asks for it; turn it on there or lower sslmode."
    ),
    "SSL error": lambda name: DatabaseDenied(f"TLS with {name} failed: see sslmode and sslrootcert."),
    "invalid connection option": lambda name: DatabaseUnsupported(
        f"DATABASE_URL has an option after `?` that libpq does not know; {name} was not asked."
    ),
    "invalid sslmode": lambda name: DatabaseUnsupported(
        f"DATABASE_URL has a wrong sslmode; allowed: disable, allow, prefer, require, verify-ca, verify-full "
        f"({name})."
    ),
    "is not permitted to log in": _no_right,
    "permission denied for database": _no_right,
}
_REASONS: Final[Mapping[str, str]] = {
    "Connection refused": "the connection is refused, so nothing listens there",
    "timeout": "no answer came within POSTGRES_CONNECT_TIMEOUT",
    "translate host name": "nobody knows a host of this name",
    "resolve": "nobody knows a host of this name",
    "No such file": "there is no such socket, so nothing listens there",
    "closed the connection": "the connection broke",
    "terminating connection": "it ended the connection",
    "the connection is lost": "the connection broke",
    "starting up": "it is starting",
    "in recovery mode": "it is recovering",
    "shutting down": "it is shutting down",
    "too many": "it has no place for one more connection",
    "remaining connection slots": "it has no place for one more connection",
}


def is_loss(error: DBAPIError) -> bool:
    """Whether the connection is gone: what was asked last may or may not have been done."""
    return error.connection_invalidated or _is_away(error.orig)


def explain(error: DBAPIError, name: str) -> DatabaseError | None:
    """The one sentence for a failure of the environment; `None` for a caller's mistake."""
    cause = error.orig
    state = getattr(cause, "sqlstate", None) or ""
    if state in _BY_STATE:
        return _BY_STATE[state](name)
    if is_loss(error):
        return _outside(str(cause), name)
    if isinstance(cause, psycopg.OperationalError | psycopg.InternalError):
        return DatabaseError(f"{name} failed: {_first_line(str(cause))}.")
    if isinstance(cause, psycopg.ProgrammingError) and not state:
        return _outside(str(cause), name)
    return None


def _is_away(cause: BaseException | None) -> bool:
    state = getattr(cause, "sqlstate", None)
    if state is None:
        return isinstance(cause, psycopg.OperationalError)
    return state in _AWAY or state.startswith(_AWAY_CLASS)


def _outside(words: str, name: str) -> DatabaseError:
    """A failure of the way to the server, or of its door; its words hold no password."""
    if 'database "' in words and "does not exist" in words:
        return missing(name)
    if 'role "' in words and "does not exist" in words:
        return _BY_WORDS["password authentication failed"](name)
    found = next((sentence for mark, sentence in _BY_WORDS.items() if mark in words), None)
    if found is not None:
        return found(name)
    reason = next((reason for mark, reason in _REASONS.items() if mark in words), _first_line(words))
    return gone(name, reason)


def _first_line(words: str) -> str:
    return (words.strip().splitlines() or ["no reason was given"])[0].rstrip(".")


# Advisory locks of PostgreSQL: held by a connection, let go by the server when it ends, however it ends.

log = logging.getLogger(__name__)

_WAIT = text("SELECT pg_advisory_lock(:space, :key)")
_TRY = text("SELECT pg_try_advisory_lock(:space, :key)")
_LET_GO = text("SELECT pg_advisory_unlock(:space, :key)")
_HOLDER = text(
    "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'advisory' AND granted AND classid = :space AND objid::bigint = :unsigned "
    "AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_STILL_THERE = text("SELECT 1")
_LOCK_TIMEOUT = "55P03"


def _keys(name: str) -> dict[str, int]:
    unsigned = zlib.crc32(name.encode())
    return {"space": LOCK_SPACE, "key": unsigned - 2**32 if unsigned >= 2**31 else unsigned}


@contextmanager
def exclusive(engine: Engine, name: str) -> Iterator[None]:
    """Only one process of all is inside.

    Raises:
        DatabaseBusy: another one stayed inside for too long.
    """
    with _session(engine) as connection:
        try:
            connection.execute(_WAIT, _keys(MIGRATION_LOCK))
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) == _LOCK_TIMEOUT:
                raise _still_preparing(name) from error
            raise
        try:
            yield
        finally:
            with suppress(DBAPIError):  # without a connection there is no lock either
                connection.execute(_LET_GO, _keys(MIGRATION_LOCK))


def _still_preparing(name: str) -> DatabaseBusy:
    return DatabaseBusy(f"Another process is still preparing the database {name}; try again later.")


@contextmanager
def _session(engine: Engine) -> Iterator[Connection]:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection


@contextmanager
def portal_lock(engine: Engine, site: str) -> Iterator[str | None]:
    """Hold the portal, also over a restart of the server; gives who has it when that is somebody else."""
    keeper = _Keeper(engine, site)
    try:
        holder = keeper.take()
        if holder is None:
            keeper.start()
        yield holder
    finally:
        keeper.end()


class _Keeper:
    """Holds a portal's lock by a connection of its own, and takes it again when that was lost."""

    def __init__(self, engine: Engine, site: str) -> None:
        self._engine = engine
        self._site = site
        self._connection: Connection | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lock of {site}", daemon=True)

    def take(self) -> str | None:
        """None when the lock is ours, else who has it."""
        if self._connection is None:
            self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        keys = _keys(self._site)
        if self._connection.execute(_TRY, keys).scalar_one():
            return None
        asked = {"space": keys["space"], "unsigned": keys["key"] % 2**32}
        return self._connection.execute(_HOLDER, asked).scalar() or "another machine"

    def start(self) -> None:
        """From now on look from time to time whether it still holds."""
        self._thread.start()

    def end(self) -> None:
        """Let go: the server does when the connection ends."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._drop()

    def _keep(self) -> None:
        while not self._over.wait(SITE_LOCK_LOOK_SECONDS):
            try:
                self._look()
            except DBAPIError:  # not back yet: the next look tries again
                self._drop()

    def _look(self) -> None:
        if self._connection is not None:
            self._connection.execute(_STILL_THERE)
        elif holder := self.take():
            log.error("While the database was away %s began to crawl %s too.", holder, self._site)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(DBAPIError):
                connection.invalidate()
            connection.close()


# Each write leaves a mark, so that a commit whose answer was lost can be looked up. A connection that
# breaks during COMMIT leaves its user not knowing whether the write was kept: doing it again could do it
# twice, leaving it could lose it. So each connection has a row with the number of its last write, changed
# in the same transaction. Whoever looks waits for that row, thus for the end of a write that is still under
# way on the server.

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


# What can be found wrong with the tables of a server from outside: all of them are read.

_UNFINISHED: Final = text(
    "SELECT format('index %s is not valid', indexrelid::regclass) FROM pg_index WHERE NOT indisvalid "
    "UNION ALL SELECT format('constraint %s of %s was never checked', conname, conrelid::regclass) "
    "FROM pg_constraint WHERE NOT convalidated AND contype <> 'n'"
)
_TABLES: Final = text(
    "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' "
    "AND relnamespace = current_schema()::regnamespace ORDER BY 1"
)
_INDEXES: Final = text(
    "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
    "WHERE relnamespace = current_schema()::regnamespace AND indisvalid "
    "AND EXISTS (SELECT FROM pg_extension WHERE extname = 'amcheck') ORDER BY 1"
)
_CHECK_INDEX: Final = text("SELECT bt_index_check(CAST(:name AS regclass))")
_DAMAGED: Final = frozenset({"XX000", "XX001", "XX002", "58030", "58P01"})
"""What PostgreSQL answers when it meets what it did not write; files that cannot be read are among it."""


def faults(connection: Connection, stop: Stop) -> list[str]:
    """Indexes that were not finished, constraints that were never checked, and tables that cannot be read.

    Every value of every row is read; the order of indexes is checked where the extension `amcheck` is there.

    Raises:
        CheckStopped: it was to stop before it had seen all.
    """
    found = list(connection.execute(_UNFINISHED).scalars())
    for name, look in _looks(connection):
        if stop():
            raise CheckStopped(found)
        found += _tried(connection, name, look)
    return found


def _looks(connection: Connection) -> Iterator[tuple[str, TextClause]]:
    for name in connection.execute(_TABLES).scalars().all():  # quoted by the server where it must be
        yield name, text(f"SELECT sum(length(CAST(one AS text))) FROM {name} AS one")  # noqa: S608
    for name in connection.execute(_INDEXES).scalars().all():
        yield name, _CHECK_INDEX.bindparams(name=name)


def _tried(connection: Connection, name: str, look: TextClause) -> list[str]:
    try:
        with connection.begin_nested():
            connection.execute(look)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in _DAMAGED:
            raise
        reason = str(error.orig).strip().partition("\n")[0]
        return [f"damaged: {name}: {reason}"]
    return []


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
            mark = leave(connection)
            try:
                transaction.commit()
            except DBAPIError as error:
                if not is_loss(error) or not self._was_kept(mark):
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
            connection.execute(MAKE_TABLE)

    def exclusive(self) -> AbstractContextManager[None]:
        """Only one process of all is inside."""
        return exclusive(self._writer, self.name)

    def portal_lock(self, site: str) -> AbstractContextManager[str | None]:
        """The portal on all machines that use this database: None when it is ours, else who has it."""
        return portal_lock(self._writer, site)

    def faults(self, connection: Connection, stop: Stop) -> list[str]:
        """What can be found wrong from here."""
        return faults(connection, stop)

    def explain(self, error: DBAPIError) -> DatabaseError | None:
        """The one sentence for a failure of the environment; `None` for a caller's mistake."""
        return explain(error, self.name)

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
                    return was_kept(connection, mark)
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
