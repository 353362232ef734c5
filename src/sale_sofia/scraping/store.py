"""The database of this installation, as the settings name it."""

from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database


def open_database(settings: Settings) -> Database:
    """The database object; nothing is opened or made yet."""
    return Database(
        settings.database_url.get_secret_value(),
        busy_timeout_seconds=settings.sqlite_timeout,
        busy_retries=settings.sqlite_busy_retries,
    )
