"""Checks whether the database of DATABASE_URL can be used from here and is sound; changes nothing."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from sale_sofia.history.future import future_sentence
from sale_sofia.operations.doctor import ElapsedCallback
from sale_sofia.operations.settings import DATABASE_SECONDS, SHOWN_FAULTS
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, is_on_server
from sale_sofia.storage.errors import CheckStopped, DamagedDatabase, DatabaseError
from sale_sofia.storage.migrate import HEAD, current_revision
from sale_sofia.storage.sqlite import network_share

DatabaseFinding = tuple[str, str | None]
"""What was found, and the advice if it is wrong."""
_RESTORE: Final = (
    "Stop what runs and restore a backup: `sale-sofia backup list`, `sale-sofia restore FILE --replace`."
)


def look_at_database(
    settings: Settings, on_progress: ElapsedCallback = lambda _seconds, _most: None
) -> list[DatabaseFinding]:
    """Check the whole database; its state, or its faults each with advice."""
    try:
        with _open(settings) as database:
            name = database.name
            if is_on_server(settings.database_url.get_secret_value()):
                with database.read() as connection:
                    version = str(connection.exec_driver_sql("SHOW server_version").scalar_one()).split()[0]
                name = f"{name}, PostgreSQL {version}"
            elif kind := network_share(Path(name)):
                advice = "Use a disk of this machine, or PostgreSQL."
                return [(f"{name} is on a network share ({kind})", advice)]
            revision = current_revision(database)
            if revision is None:
                return [(f"{name}: no tables yet, they are made when first needed", None)]
            state = "ready" if revision == HEAD else f"version {revision}, upgraded when next used"
            return _check_contents(database, f"{name}: {state}", on_progress)
    except DamagedDatabase as error:
        return [(str(error), _RESTORE)]
    except DatabaseError as error:
        return [(str(error), "Correct DATABASE_URL, or unset it to use a file in DATA_DIR.")]


def _check_contents(database: Database, state: str, on_progress: ElapsedCallback) -> list[DatabaseFinding]:
    """Check every page, every index and every foreign key, for at most DATABASE_SECONDS."""
    begun = time.monotonic()

    def time_is_over() -> bool:
        seconds = time.monotonic() - begun
        on_progress(min(seconds, DATABASE_SECONDS), DATABASE_SECONDS)
        return seconds > DATABASE_SECONDS

    try:
        faults, checked = database.faults(time_is_over), "sound"
    except CheckStopped as stopped:
        faults = list(stopped.found)
        checked = f"nothing wrong in {DATABASE_SECONDS:g} s, not all seen: `sale-sofia db check` sees all"
    if not faults:
        return [(f"{state}, {checked}", None)]
    return [(f"{database.name}: {fault}", _RESTORE) for fault in faults[:SHOWN_FAULTS]]


def database_clock_offset(settings: Settings) -> float | None:
    """By how many seconds a server's clock is ahead of ours; None for a file or a silent server."""
    if not is_on_server(settings.database_url.get_secret_value()):
        return None
    # A database that cannot be read is reported by the check of the database itself.
    with suppress(DatabaseError), _open(settings) as database, database.read() as connection:
        before = time.time()
        theirs = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one()
        return float(theirs) - (before + time.time()) / 2
    return None


def future_of_database(settings: Settings) -> str | None:
    """A sentence about rows dated in the future; None if there are none or they cannot be read."""
    with suppress(DatabaseError), _open(settings) as database:
        if current_revision(database) == HEAD:
            with database.read() as connection:
                return future_sentence(connection, now=time.time())
    return None


@contextmanager
def _open(settings: Settings) -> Iterator[Database]:
    database = Database(
        settings.database_url.get_secret_value(),
        busy_timeout_seconds=settings.sqlite_timeout,
        busy_retries=0,
        server=settings.server_limits,
    )
    try:
        yield database
    finally:
        database.dispose()
