"""What can go wrong with the database, each in one sentence that says what to do.

DatabaseError
├── DatabaseBusy        another process keeps it locked: nothing was written, try again later
├── DatabaseUnreachable its server does not answer, or went away: nothing was written, try again later
├── DatabaseDenied      its server does not let us in: a person must correct password, rights or certificates
├── DatabaseMissing     there is none yet, or it has no tables: initialise it
├── DatabaseReadOnly    the file, its folder or the server may not be written to: a person must allow it
├── DiskFull            no room left: nothing of the write was kept, a person must make room
├── DamagedDatabase     not a database, or a damaged one: a person must restore a copy
├── DatabaseTooNew      a newer program made it: update this one
└── DatabaseUnsupported an address of a kind that this program cannot use
"""

from collections.abc import Callable, Sequence

Stop = Callable[[], bool]
"""Polled by long work: whether it is to end."""


def never() -> bool:
    """A `Stop` for work that runs to its end."""
    return False


class CheckStopped(Exception):
    """A check of the whole database was stopped; `found` holds its findings so far."""

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__("the check was stopped")
        self.found = tuple(found)


class DatabaseError(Exception):
    """The database could not do its work; the message is for people."""


class DatabaseBusy(DatabaseError):
    """Another process holds the lock. Nothing was written, so the work can be retried as a whole."""


class DatabaseUnreachable(DatabaseError):
    """Its server does not answer. Nothing was written, so the work can be retried as a whole."""


class DatabaseDenied(DatabaseError):
    """Its server refuses the login or the operation."""


class DatabaseMissing(DatabaseError):
    """There is no database there yet, or it has no tables."""


class DatabaseReadOnly(DatabaseError):
    """It may not be written to."""


class DiskFull(DatabaseError):
    """It cannot grow. Nothing of the failed transaction was kept."""


class DamagedDatabase(DatabaseError):
    """It is no database, or a damaged one."""


class DatabaseTooNew(DatabaseError):
    """Its tables have a form that this program does not know."""


class DatabaseUnsupported(DatabaseError):
    """The address names a kind of database that this program cannot use."""
