"""The database of this installation, as the settings name it."""

from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database, is_server


def open_database(settings: Settings) -> Database:
    """The database object; nothing is opened or made yet."""
    url = settings.database_url.get_secret_value()
    served = is_server(url)
    return Database(
        url,
        busy_timeout_seconds=settings.postgres_lock_timeout if served else settings.sqlite_timeout,
        busy_retries=settings.postgres_retries if served else settings.sqlite_busy_retries,
        server=settings.server_limits,
    )
