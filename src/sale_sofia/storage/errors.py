"""What can go wrong with the database, each in one sentence that says what to do.

DatabaseError
├── DatabaseBusy        another process keeps it locked: nothing was written, try again later
├── DatabaseUnreachable its server does not answer, or went away: nothing was written, try again later
├── DatabaseDenied      its server does not let us in: a person must correct password, rights or certificates
├── DatabaseMissing     there is none yet, or it has no tables: initialise it
├── DatabaseReadOnly    the file, its folder or the server may not be written to: a person must allow it
├── DiskFull            no room left: nothing of the write was kept, a person must make room
├── DatabaseCorrupt     not a database, or a damaged one: a person must restore a copy
├── DatabaseTooNew      a newer program made it: update this one
└── DatabaseUnsupported an address of a kind that this program cannot use
"""

from collections.abc import Callable, Sequence

Stop = Callable[[], bool]
"""Asked again and again by long work: whether it is to end."""


def never() -> bool:
    """Long work that nobody ends."""
    return False


class CheckStopped(Exception):
    """A check of the whole database was stopped; what it had found until then."""

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__("the check was stopped")
        self.found = tuple(found)


class DatabaseError(Exception):
    """The database could not do what was asked; the text is for the person at the screen."""


class DatabaseBusy(DatabaseError):
    """Another process keeps it locked. Nothing was written, so the work can be done again as a whole."""


class DatabaseUnreachable(DatabaseError):
    """Its server does not answer. Nothing was written, so the work can be done again as a whole."""


class DatabaseDenied(DatabaseError):
    """Its server does not let us in, or not do this."""


class DatabaseMissing(DatabaseError):
    """There is no database there yet, or it has no tables."""


class DatabaseReadOnly(DatabaseError):
    """It may not be written to."""


class DiskFull(DatabaseError):
    """It cannot grow. Nothing of the failed transaction was kept."""


class DatabaseCorrupt(DatabaseError):
    """It is no database, or a damaged one."""


class DatabaseTooNew(DatabaseError):
    """Its tables have a form that this program does not know."""


class DatabaseUnsupported(DatabaseError):
    """The address names a kind of database that this program cannot use."""
