"""What an installation stores, where its settings say: database, archive, error log."""

from sale_sofia.crawl.fetch.archive import PageArchive
from sale_sofia.geography.imported import use
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, is_on_server
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.telemetry.error_log import FILE_NAME as ERROR_LOG
from sale_sofia.telemetry.error_log import ErrorLog


def open_database(settings: Settings) -> Database:
    """The database object, not yet opened or made. From now on the places of this DATA_DIR are used."""
    use(settings.data_dir)
    url = settings.database_url.get_secret_value()
    served = is_on_server(url)
    return Database(
        url,
        busy_timeout_seconds=settings.postgres_lock_timeout if served else settings.sqlite_timeout,
        busy_retries=settings.postgres_retries if served else settings.sqlite_busy_retries,
        server=settings.server_limits,
    )


def open_ready(settings: Settings) -> Database:
    """The database, made if absent, with all tables up to date."""
    database = open_database(settings)
    initialize_database(database)
    return database


def open_archive(settings: Settings) -> PageArchive:
    """The archive of pages."""
    return PageArchive(settings.data_dir / "archive", settings.archive_max_mb * 1_000_000)


def open_error_log(settings: Settings) -> ErrorLog:
    """The error log."""
    return ErrorLog(settings.data_dir / ERROR_LOG)
