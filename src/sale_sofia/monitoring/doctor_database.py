"""Can the database of DATABASE_URL be used from here? Nothing is made or changed."""

import time
from pathlib import Path

from sqlalchemy import Connection

from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database, is_server
from sale_sofia.data.errors import DatabaseError
from sale_sofia.data.future_moments import future_sentence
from sale_sofia.data.migrate import HEAD, current_revision
from sale_sofia.data.network_shares import network_share

Finding = tuple[str, str | None]
"""What was found, and what to do about it where it is wrong."""


def look_at_database(settings: Settings) -> Finding:
    """What the database is like, and the advice for one that cannot be used."""
    url = settings.database_url.get_secret_value()
    database = _opened(settings, url)
    try:
        return _server(database) if is_server(url) else _file(database)
    except DatabaseError as error:
        return str(error), "Correct DATABASE_URL, or unset it to use a file in DATA_DIR."
    finally:
        database.dispose()


def database_clock_offset(settings: Settings) -> float | None:
    """By how many seconds a server's clock is ahead of ours; None for a file, and for a silent server."""
    url = settings.database_url.get_secret_value()
    if not is_server(url):
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
