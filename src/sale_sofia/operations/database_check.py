"""Can the database of DATABASE_URL be used from here, and is it sound? Nothing is made or changed."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from sale_sofia.history.future import future_sentence
from sale_sofia.operations.doctor import Told
from sale_sofia.operations.settings import DATABASE_SECONDS, SHOWN_FAULTS
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, is_on_server
from sale_sofia.storage.errors import CheckStopped, DatabaseCorrupt, DatabaseError
from sale_sofia.storage.migrate import HEAD, current_revision
from sale_sofia.storage.sqlite import network_share

Finding = tuple[str, str | None]
"""What was found, and what to do about it where it is wrong."""
_RESTORE: Final = (
    "Stop what runs and restore a backup: `sale-sofia backup list`, `sale-sofia restore FILE --replace`."
)


def look_at_database(settings: Settings, told: Told = lambda _seconds, _most: None) -> list[Finding]:
    """What the database is like after a look at all of it, and the advice for each of its faults."""
    try:
        with _opened(settings) as database:
            name = database.name
            if is_on_server(settings.database_url.get_secret_value()):
                with database.read() as connection:
                    version = str(connection.exec_driver_sql("SHOW server_version").scalar_one()).split()[0]
                name = f"{name}, PostgreSQL {version}"
            elif kind := network_share(Path(name).parent):
                advice = "Use a disk of this machine, or PostgreSQL."
                return [(f"{name} is on a network share ({kind})", advice)]
            revision = current_revision(database)
            if revision is None:
                return [(f"{name}: no tables yet, they are made when first needed", None)]
            state = "ready" if revision == HEAD else f"version {revision}, upgraded when next used"
            return _contents(database, f"{name}: {state}", told)
    except DatabaseCorrupt as error:
        return [(str(error), _RESTORE)]
    except DatabaseError as error:
        return [(str(error), "Correct DATABASE_URL, or unset it to use a file in DATA_DIR.")]


def _contents(database: Database, state: str, told: Told) -> list[Finding]:
    """Every page, every index, every row that points to another."""
    begun = time.monotonic()

    def time_is_over() -> bool:
        seconds = time.monotonic() - begun
        told(min(seconds, DATABASE_SECONDS), DATABASE_SECONDS)
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
    """By how many seconds a server's clock is ahead of ours; None for a file, and for a silent server."""
    if not is_on_server(settings.database_url.get_secret_value()):
        return None
    # A database that cannot be read is told by the check of the database itself.
    with suppress(DatabaseError), _opened(settings) as database, database.read() as connection:
        before = time.time()
        theirs = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one()
        return float(theirs) - (before + time.time()) / 2
    return None


def future_of_database(settings: Settings) -> str | None:
    """What its rows say of the future; None where they say nothing, or cannot be read."""
    with suppress(DatabaseError), _opened(settings) as database:
        if current_revision(database) == HEAD:
            with database.read() as connection:
                return future_sentence(connection, now=time.time())
    return None


@contextmanager
def _opened(settings: Settings) -> Iterator[Database]:
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
