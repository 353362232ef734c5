"""Whether anybody has a SQLite file open, whoever it is."""

import sqlite3
from contextlib import closing
from pathlib import Path


def is_in_use(file: Path) -> bool:
    """Whether any process has the database open; one that is absent or damaged is used by nobody.

    In WAL mode every connection holds a lock on the file as long as it is open, and one that wants the file
    alone gets it only when there is no other.
    """
    if not file.exists():
        return False
    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=0)
        ) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        return error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return False
