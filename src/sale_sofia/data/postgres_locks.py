"""Advisory locks of PostgreSQL: held by a connection, let go by the server when it ends, however it ends."""

import logging
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from sale_sofia.config.postgres import LOCK_SPACE, MIGRATION_LOCK, SITE_LOCK_LOOK_SECONDS
from sale_sofia.data.errors import DatabaseBusy

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
