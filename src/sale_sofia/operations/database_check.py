"""Can the database of DATABASE_URL be used from here, and is it sound? Nothing is made or changed."""

import time
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from sale_sofia.history.future import future_sentence
from sale_sofia.operations.doctor import Told
from sale_sofia.operations.settings import DATABASE_SECONDS, SHOWN_FAULTS
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, is_on_server
from sale_sofia.storage.errors import CheckStopped, DatabaseCorrupt, DatabaseError, Stop
from sale_sofia.storage.migrate import HEAD, current_revision
from sale_sofia.storage.sqlite import network_share

Finding = tuple[str, str | None]
"""What was found, and what to do about it where it is wrong."""
_RESTORE: Final = (
    "Stop what runs and restore a backup: `sale-sofia backup list`, `sale-sofia restore FILE --replace`."
)


def untold(_seconds: float, _most: float) -> None:
    """A progress that nobody looks at."""


def look_at_database(settings: Settings, told: Told = untold) -> list[Finding]:
    """What the database is like after a look at all of it, and the advice for each of its faults."""
    url = settings.database_url.get_secret_value()
    database = _opened(settings, url)
    try:
        state, advice = _server(database) if is_on_server(url) else _file(database)
        if advice or current_revision(database) is None:
            return [(state, advice)]
        return _contents(database, state, told)
    except DatabaseCorrupt as error:
        return [(str(error), _RESTORE)]
    except DatabaseError as error:
        return [(str(error), "Correct DATABASE_URL, or unset it to use a file in DATA_DIR.")]
    finally:
        database.dispose()


def _contents(database: Database, state: str, told: Told) -> list[Finding]:
    """Every page, every index, every row that points to another."""
    try:
        faults, checked = database.faults(_time_over(told)), "sound"
    except CheckStopped as stopped:
        faults = list(stopped.found)
        checked = f"nothing wrong in {DATABASE_SECONDS:g} s, not all seen: `sale-sofia db check` sees all"
    if not faults:
        return [(f"{state}, {checked}", None)]
    return [(f"{database.name}: {fault}", _RESTORE) for fault in faults[:SHOWN_FAULTS]]


def _time_over(told: Told) -> Stop:
    begun = time.monotonic()

    def stop() -> bool:
        seconds = time.monotonic() - begun
        told(min(seconds, DATABASE_SECONDS), DATABASE_SECONDS)
        return seconds > DATABASE_SECONDS

    return stop


def database_clock_offset(settings: Settings) -> float | None:
    """By how many seconds a server's clock is ahead of ours; None for a file, and for a silent server."""
    url = settings.database_url.get_secret_value()
    if not is_on_server(url):
        return None
    database = _opened(settings, url)
    try:
        with database.read() as connection:
            return _offset(connection)
    except DatabaseError:  # told by the check of the database itself
        return None
    finally:
        database.dispose()


def future_of_database(settings: Settings) -> str | None:
    """What its rows say of the future; None where they say nothing, or cannot be read."""
    database = _opened(settings, settings.database_url.get_secret_value())
    try:
        if current_revision(database) != HEAD:
            return None
        with database.read() as connection:
            return future_sentence(connection, now=time.time())
    except DatabaseError:  # told by the check of the database itself
        return None
    finally:
        database.dispose()


def _offset(connection: Connection) -> float:
    before = time.time()
    told = float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one())
    return told - (before + time.time()) / 2


def _opened(settings: Settings, url: str) -> Database:
    return Database(
        url, busy_timeout_seconds=settings.sqlite_timeout, busy_retries=0, server=settings.server_limits
    )


def _file(database: Database) -> Finding:
    if kind := network_share(Path(database.name).parent):
        return f"{database.name} is on a network share ({kind})", "Use a disk of this machine, or PostgreSQL."
    return f"{database.name}: {_state(current_revision(database))}", None


def _server(database: Database) -> Finding:
    with database.read() as connection:
        version = _version(connection)
    return f"{database.name}, PostgreSQL {version}: {_state(current_revision(database))}", None


def _version(connection: Connection) -> str:
    return str(connection.exec_driver_sql("SHOW server_version").scalar_one()).split()[0]


def _state(revision: str | None) -> str:
    if revision is None:
        return "no tables yet, they are made when first needed"
    return "ready" if revision == HEAD else f"version {revision}, upgraded when next used"
