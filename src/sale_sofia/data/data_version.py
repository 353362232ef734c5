"""Whether anything was committed since one last looked, asked so cheaply that every page can ask."""

import sqlite3
import threading
from typing import Final

from sqlalchemy import text

from sale_sofia.data.database import Database, is_server
from sale_sofia.data.sqlite import file_of

_SERVER_SNAPSHOT: Final = text("SELECT CAST(pg_current_snapshot() AS text)")
"""Names the committed transactions one can see: the same text, the same data."""


class DataVersion:
    """Looks at one database. As long as `current` gives the same, nobody has committed anything."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._served = is_server(database.url.render_as_string(hide_password=False))
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None

    def current(self) -> str:
        """The version of the data; one from before another commit is never given after it."""
        if self._served:
            return str(self._database.run_read(lambda connection: connection.scalar(_SERVER_SNAPSHOT)))
        with self._lock:
            return str(self._opened().execute("PRAGMA data_version").fetchone()[0])

    def _opened(self) -> sqlite3.Connection:
        """One connection that only looks: SQLite counts the commits of others for each connection."""
        if self._file is None:
            uri = f"{file_of(self._database.url).as_uri()}?mode=ro"
            self._file = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        return self._file

    def close(self) -> None:
        """Let go of the file; asked again, it is opened again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
