"""Everything specific to PostgreSQL: its connections, transactions, locks and errors."""

import logging
import math
import os
import secrets
import socket
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from typing import Any, Final

import psycopg
from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from sale_sofia.storage import settings as config
from sale_sofia.storage.connections import ServerOutage, guard_forks, to_json
from sale_sofia.storage.errors import (
    CheckStopped,
    DamagedDatabase,
    DatabaseBusy,
    DatabaseDenied,
    DatabaseError,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnsupported,
    DiskFull,
    Stop,
)
from sale_sofia.storage.settings import LOCK_SPACE, MARK_SECONDS, SITE_LOCK_LOOK_SECONDS, ServerLimits

log = logging.getLogger(__name__)

# Errors of PostgreSQL, or of the connection to it, for people. Each sentence names the database.

Meaning = tuple[type[DatabaseError], str]
_MET_ANOTHER: Final = (
    DatabaseBusy,
    "Another process wrote the same to {name} at the same moment; nothing was written.",
)
_NO_RIGHT: Final = (
    DatabaseDenied,
    "The user of DATABASE_URL may not do this in {name}; grant the right to it.",
)
_MISSING: Final = (
    DatabaseMissing,
    "There is no database {name} on its server; make it there with `createdb`.",
)
_DAMAGED: Final = (DamagedDatabase, "PostgreSQL says that {name} is damaged; restore a copy.")
_WRONG_PASSWORD: Final = (DatabaseDenied, "{name} refuses the password or the user of DATABASE_URL.")
_BY_STATE: Final[Mapping[str, Meaning]] = {
    "23505": _MET_ANOTHER,  # unique_violation: two were the first to store the same
    "40001": _MET_ANOTHER,  # serialization_failure
    "40P01": _MET_ANOTHER,  # deadlock_detected
    "55P03": (
        DatabaseBusy,
        (
            "Another process kept a part of {name} locked for longer than POSTGRES_LOCK_TIMEOUT; "
            "nothing was written."
        ),
    ),
    "57014": (
        DatabaseError,
        "{name} took longer than POSTGRES_STATEMENT_TIMEOUT for one statement; nothing was kept.",
    ),
    "53100": (
        DiskFull,
        "There is no room on the server for {name} to grow; nothing of this write was kept: free some space.",
    ),
    "25006": (
        DatabaseReadOnly,
        "{name} may only be read here: it is a standby, or this user may not write.",
    ),
    "42501": _NO_RIGHT,
    "42P01": (DatabaseMissing, "There is no initialised database at {name}; initialise it first."),
    "3D000": _MISSING,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}
# Shut down, crashed, starting, recovering; an idle transaction that was ended; no place or memory left.
_AWAY: Final = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "53300", "53200", "53000"})

# Errors before there is a session have no code. The first match counts, so specific ones come first.
_BY_WORDS: Final[Mapping[str, Meaning]] = {
    "password authentication failed": _WRONG_PASSWORD,
    "no password supplied": (
        DatabaseDenied,
        "{name} wants a password: put it into DATABASE_URL, DATABASE_PASSWORD_FILE or a PGPASSFILE.",
    ),
    "no pg_hba.conf entry": (
        DatabaseDenied,
        "{name} lets nobody in from this machine, as this user or without TLS; its pg_hba.conf says who may.",
    ),
    "certificate": (
        DatabaseDenied,
        "The certificates of {name} and of this machine do not fit: see sslmode, sslrootcert and sslcert.",
    ),
    "server does not support SSL": (
        DatabaseDenied,
        "{name} has no TLS, and sslmode asks for it; turn it on there or lower sslmode.",
    ),
    "SSL error": (DatabaseDenied, "TLS with {name} failed: see sslmode and sslrootcert."),
    "invalid connection option": (
        DatabaseUnsupported,
        "DATABASE_URL has an option after `?` that libpq does not know; {name} was not asked.",
    ),
    "invalid sslmode": (
        DatabaseUnsupported,
        (
            "DATABASE_URL has a wrong sslmode; "
            "allowed: disable, allow, prefer, require, verify-ca, verify-full ({name})."
        ),
    ),
    "is not permitted to log in": _NO_RIGHT,
    "permission denied for database": _NO_RIGHT,
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


def _state_of(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""


def _is_loss(error: DBAPIError) -> bool:
    """Whether the connection is lost: the last statement may or may not have taken effect."""
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return isinstance(error.orig, psycopg.OperationalError)
    return state in _AWAY or state.startswith("08")


def _explain_outside(words: str, name: str) -> DatabaseError:
    """The error for a failed connection or login; its message holds no password."""
    meaning = next((meaning for mark, meaning in _BY_WORDS.items() if mark in words), None)
    if 'database "' in words and "does not exist" in words:
        meaning = _MISSING
    elif 'role "' in words and "does not exist" in words:
        meaning = _WRONG_PASSWORD
    if meaning is not None:
        kind, sentence = meaning
        return kind(sentence.format(name=name))
    reason = next((reason for mark, reason in _REASONS.items() if mark in words), _first_line(words))
    return DatabaseUnreachable(f"{name} does not answer: {reason}.")


def _first_line(words: str) -> str:
    return (words.strip().splitlines() or ["no reason was given"])[0].rstrip(".")


# Advisory locks: held by a connection, released by the server when it ends, however it ends.

_HOLDER = text(
    "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'advisory' AND granted AND classid = :space AND objid::bigint = :unsigned "
    "AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def _keys(name: str) -> dict[str, int]:
    unsigned = zlib.crc32(name.encode())
    return {"space": LOCK_SPACE, "key": unsigned - 2**32 if unsigned >= 2**31 else unsigned}


class _Keeper:
    """Holds a portal's lock on a connection of its own, and takes it again after a lost connection."""

    def __init__(self, engine: Engine, site: str) -> None:
        self._engine = engine
        self._site = site
        self._connection: Connection | None = None
        self._ours = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lock of {site}", daemon=True)

    def take(self) -> str | None:
        """Try to take the lock: None when it is ours, else who has it."""
        if self._connection is None:
            self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        keys = _keys(self._site)
        take = text("SELECT pg_try_advisory_lock(:space, :key)")
        self._ours = self._connection.execute(take, keys).scalar_one()
        if self._ours:
            return None
        lock = {"space": keys["space"], "unsigned": keys["key"] % 2**32}
        return self._connection.execute(_HOLDER, lock).scalar() or "another machine"

    def start(self) -> None:
        """Start checking at intervals whether the lock still holds."""
        self._thread.start()

    def end(self) -> None:
        """Release the lock by ending its connection."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._drop()

    def _keep(self) -> None:
        # The server may not have noticed yet that our own last connection is lost: that is no other crawl.
        told = {None, _session_name()}
        while not self._over.wait(SITE_LOCK_LOOK_SECONDS):
            try:
                if self._connection is not None and self._ours:
                    self._connection.execute(text("SELECT 1"))
                elif (holder := self.take()) not in told:
                    told.add(holder)
                    log.error("While the database was away %s began to crawl %s too.", holder, self._site)
            except DBAPIError:  # not back yet: the next round tries again
                self._drop()

    def _drop(self) -> None:
        connection, self._connection, self._ours = self._connection, None, False
        if connection is not None:
            with suppress(DBAPIError):
                connection.invalidate()
            connection.close()


# Each write leaves a mark, so that a commit whose answer was lost can be looked up. When a connection breaks
# during COMMIT, its user does not know whether the write was committed: a retry could apply it twice, no
# retry could lose it. So each connection has a row with the number of its last write, changed in the same
# transaction. A look-up waits for that row, and thus for the end of a write that is still running on the
# server.

TABLE: Final = "write_marks"
"""Created beside the schema's tables, and never copied: it is about the connections of this server."""
_MAKE_TABLE: Final = text(
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


def _leave_mark(connection: Connection) -> dict[str, Any]:
    """Mark the connection's current write; its first one also deletes old marks."""
    info = connection.info
    if "mark_writer" not in info:
        info["mark_writer"], info["mark_number"] = secrets.token_hex(12), 0
        connection.execute(_FORGET, {"seconds": MARK_SECONDS})
    info["mark_number"] += 1
    mark = {"writer": info["mark_writer"], "number": info["mark_number"]}
    connection.execute(_LEAVE, mark)
    return mark


# Checks of the tables of a server from outside: all of them are read.

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
_DAMAGED_STATES: Final = frozenset({"XX000", "XX001", "XX002", "58030", "58P01"})
"""The error codes of PostgreSQL for damaged data, unreadable files included."""
_DRIVER: Final = "postgresql+psycopg"
_SERVER = text(
    "SELECT current_setting('server_version_num')::int AS version, pg_is_in_recovery() AS standby, "
    "current_setting('server_encoding') AS encoding"
)


class PostgresStore:
    """One database of a server. Writers lock the rows they change; readers see one snapshot."""

    def __init__(self, url: URL, busy_timeout: float, limits: ServerLimits) -> None:
        if url.drivername not in {"postgresql", _DRIVER}:
            raise DatabaseUnsupported(
                f"{url.drivername} is no driver of ours; write postgresql://… or {_DRIVER}://…"
            )
        # Without the user too, as a password may have slipped into its place.
        options = {name: value for name, value in url.query.items() if name in {"host", "port"}}
        address = URL.create("postgresql", None, None, url.host, url.port, url.database, options)
        self.name = address.render_as_string()
        self._limits = limits
        self._session = _session_settings(busy_timeout, limits)
        self._writer = self._engine(url, writes=True)
        self._reader = self._engine(url, writes=False)

    def _engine(self, url: URL, *, writes: bool) -> Engine:
        engine = create_engine(
            url.set(drivername=_DRIVER),
            connect_args={
                "connect_timeout": math.ceil(self._limits.connect_seconds),
                "keepalives_idle": config.KEEPALIVE_IDLE_SECONDS,
                "keepalives_interval": config.KEEPALIVE_INTERVAL_SECONDS,
                "keepalives_count": config.KEEPALIVE_COUNT,
                "tcp_user_timeout": _milliseconds(self._limits.silence_seconds),
            },
            poolclass=QueuePool,
            max_overflow=-1,  # without limit
            json_serializer=to_json,
            pool_pre_ping=True,
            pool_use_lifo=True,  # surplus connections stay idle
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
        """One transaction, committed at the end of the block, even when the answer to that is lost."""
        with self._writer.connect() as connection, connection.begin() as transaction:
            yield connection
            mark = _leave_mark(connection)
            try:
                transaction.commit()
            except DBAPIError as error:
                if not _is_loss(error) or not self._was_kept(mark):
                    raise

    def _was_kept(self, mark: Mapping[str, Any]) -> bool:
        """Whether the marked write was committed; after False it never will be."""
        outage = ServerOutage(self._limits.outage_seconds)
        outage.over()
        for tries in count():
            try:
                with self._writer.begin() as connection:
                    number = connection.execute(_LOOK, {"writer": mark["writer"]}).scalar_one()
                    return bool(number >= mark["number"])
            except DBAPIError as error:
                problem = self.explain(error) or error
            if not isinstance(problem, DatabaseBusy | DatabaseUnreachable):
                raise problem
            try:
                outage.endure(DatabaseUnreachable(str(problem)), tries)
            except DatabaseUnreachable as error:
                raise DatabaseError(
                    f"{self.name} went away during a commit and did not come back; "
                    "whether that write was kept is not known."
                ) from error
        raise AssertionError("counting has no end")

    def read(self) -> AbstractContextManager[Connection]:
        """One consistent snapshot of the data; writing through it is refused."""
        return self._reader.connect()

    def exists(self) -> bool:
        """Always true: a missing server raises its own error."""
        return True

    def prepare(self) -> None:
        """Reject a server that cannot be used, and create the table of marks."""
        with self._writer.begin() as connection:
            server = connection.execute(_SERVER).one()
            if server.version < config.LEAST_SERVER_VERSION:
                raise DatabaseUnsupported(
                    f"The server of {self.name} is version {server.version // 10_000}; "
                    f"PostgreSQL {config.LEAST_SERVER_NAME} or newer is needed."
                )
            if server.encoding != config.ENCODING:
                raise DatabaseUnsupported(
                    f"{self.name} holds its texts in {server.encoding}; make it with the encoding UTF8."
                )
            if server.standby:
                raise DatabaseReadOnly(
                    f"{self.name} is on a standby server, which only reads; name the primary."
                )
            connection.execute(_MAKE_TABLE)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Only one process is inside.

        Raises:
            DatabaseBusy: another one stayed inside for too long.
        """
        keys = _keys("migrations")
        with self._writer.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            try:
                connection.execute(text("SELECT pg_advisory_lock(:space, :key)"), keys)
            except DBAPIError as error:
                if _state_of(error) != "55P03":  # the lock timeout
                    raise
                raise DatabaseBusy(
                    f"Another process is still preparing the database {self.name}; try again later."
                ) from error
            try:
                yield
            finally:
                with suppress(DBAPIError):  # without a connection there is no lock either
                    connection.execute(text("SELECT pg_advisory_unlock(:space, :key)"), keys)

    @contextmanager
    def portal_lock(self, site: str) -> Iterator[str | None]:
        """Lock the portal, even across a restart of the server; yields the holder if another has it."""
        keeper = _Keeper(self._writer, site)
        try:
            holder = keeper.take()
            if holder is None:
                keeper.start()
            yield holder
        finally:
            keeper.end()

    def faults(self, connection: Connection, stop: Stop) -> list[str]:
        """Invalid indexes, constraints that were never checked, tables that cannot be read.

        Every value of every row is read; indexes are checked too if the extension `amcheck` is installed.

        Raises:
            CheckStopped: it was stopped before it had checked everything.
        """
        faults = list(connection.execute(_UNFINISHED).scalars())
        tables = connection.execute(_TABLES).scalars().all()  # quoted by the server where it must be
        looks = {name: text(f"SELECT sum(length(CAST(one AS text))) FROM {name} AS one") for name in tables}  # noqa: S608
        check = text("SELECT bt_index_check(CAST(:name AS regclass))")
        looks |= {name: check.bindparams(name=name) for name in connection.execute(_INDEXES).scalars().all()}
        for name, look in looks.items():
            if stop():
                raise CheckStopped(faults)
            try:
                with connection.begin_nested():
                    connection.execute(look)
            except DBAPIError as error:
                if _state_of(error) not in _DAMAGED_STATES:
                    raise
                reason = str(error.orig).strip().partition("\n")[0]
                faults.append(f"damaged: {name}: {reason}")
        return faults

    def explain(self, error: DBAPIError) -> DatabaseError | None:
        """The error for people behind a failure of the environment; `None` for a caller's mistake."""
        cause, state = error.orig, _state_of(error)
        if state in _BY_STATE:
            kind, sentence = _BY_STATE[state]
            return kind(sentence.format(name=self.name))
        if _is_loss(error):
            return _explain_outside(str(cause), self.name)
        if isinstance(cause, psycopg.OperationalError | psycopg.InternalError):
            return DatabaseError(f"{self.name} failed: {_first_line(str(cause))}.")
        if isinstance(cause, psycopg.ProgrammingError) and not state:
            return _explain_outside(str(cause), self.name)
        return None

    def dispose(self) -> None:
        """Close all connections."""
        self._writer.dispose()
        self._reader.dispose()


def _session_settings(busy_timeout: float, limits: ServerLimits) -> dict[str, str]:
    """The server's settings for each session, so that it notices a lost client too."""
    lock = max(1, _milliseconds(busy_timeout))  # zero would mean forever
    values = {
        "lock_timeout": lock,
        "statement_timeout": max(_milliseconds(limits.statement_seconds), lock + 1),
        "idle_in_transaction_session_timeout": _milliseconds(limits.idle_seconds),
        "tcp_user_timeout": _milliseconds(limits.silence_seconds),
        "tcp_keepalives_idle": config.KEEPALIVE_IDLE_SECONDS,
        "tcp_keepalives_interval": config.KEEPALIVE_INTERVAL_SECONDS,
        "tcp_keepalives_count": config.KEEPALIVE_COUNT,
    }
    return {name: str(value) for name, value in values.items()}


def _milliseconds(seconds: float) -> int:
    return math.ceil(seconds * 1000)


def _name_session(_dialect: object, _record: object, _arguments: object, parameters: dict[str, Any]) -> None:
    """Set the application name, so that people can see on the server who is connected."""
    parameters.setdefault("application_name", _session_name())


def _session_name() -> str:
    return f"sale-sofia {socket.gethostname()} {os.getpid()}"[:63]
