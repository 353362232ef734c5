"""What a failure of PostgreSQL, or of the way to it, means to a person."""

from collections.abc import Callable, Mapping
from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError

from sale_sofia.data.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseDenied,
    DatabaseError,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnsupported,
    DiskFull,
)

Sentence = Callable[[str], DatabaseError]


def _met_another(name: str) -> DatabaseBusy:
    return DatabaseBusy(f"Another process wrote the same to {name} at the same moment; nothing was written.")


def _locked(name: str) -> DatabaseBusy:
    waited = "longer than POSTGRES_LOCK_TIMEOUT"
    return DatabaseBusy(f"Another process kept a part of {name} locked for {waited}; nothing was written.")


def _slow(name: str) -> DatabaseError:
    return DatabaseError(
        f"{name} took longer than POSTGRES_STATEMENT_TIMEOUT for one statement; nothing was kept."
    )


def _full(name: str) -> DiskFull:
    return DiskFull(
        f"There is no room on the server for {name} to grow; nothing of this write was kept: free some space."
    )


def _read_only(name: str) -> DatabaseReadOnly:
    return DatabaseReadOnly(f"{name} may only be read here: it is a standby, or this user may not write.")


def _no_right(name: str) -> DatabaseDenied:
    return DatabaseDenied(f"The user of DATABASE_URL may not do this in {name}; grant the right to it.")


def _no_tables(name: str) -> DatabaseMissing:
    return DatabaseMissing(f"There is no initialised database at {name}; initialise it first.")


def _damaged(name: str) -> DatabaseCorrupt:
    return DatabaseCorrupt(f"PostgreSQL says that {name} is damaged; restore a copy.")


def missing(name: str) -> DatabaseMissing:
    """The server is there, but not the database."""
    return DatabaseMissing(f"There is no database {name} on its server; make it there with `createdb`.")


def gone(name: str, reason: str) -> DatabaseUnreachable:
    """The server does not answer, or stopped answering."""
    return DatabaseUnreachable(f"{name} does not answer: {reason}.")


_BY_STATE: Final[Mapping[str, Sentence]] = {
    "23505": _met_another,  # unique_violation: two were the first to store the same
    "40001": _met_another,  # serialization_failure
    "40P01": _met_another,  # deadlock_detected
    "55P03": _locked,
    "57014": _slow,
    "53100": _full,
    "25006": _read_only,
    "42501": _no_right,
    "42P01": _no_tables,
    "3D000": missing,
    "XX001": _damaged,
    "XX002": _damaged,
}
# Shut down, crashed, starting, recovering; an idle transaction that was ended; no place or memory left.
_AWAY: Final = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "53300", "53200", "53000"})
_AWAY_CLASS: Final = "08"

# What is said before there is a session comes without a code. The particular stand before the general.
_BY_WORDS: Final[Mapping[str, Sentence]] = {
    "password authentication failed": lambda name: DatabaseDenied(
        f"{name} refuses the password or the user of DATABASE_URL."
    ),
    "no password supplied": lambda name: DatabaseDenied(
        f"{name} wants a password: put it into DATABASE_URL, DATABASE_PASSWORD_FILE or a PGPASSFILE."
    ),
    "no pg_hba.conf entry": lambda name: DatabaseDenied(
        f"{name} lets nobody in from this machine, as this user or without TLS; its pg_hba.conf says who may."
    ),
    "certificate": lambda name: DatabaseDenied(
        f"The certificates of {name} and of this machine do not fit: see sslmode, sslrootcert and sslcert."
    ),
    "server does not support SSL": lambda name: DatabaseDenied(
        f"{name} has no TLS, and sslmode asks for it; turn it on there or lower sslmode."
    ),
    "SSL error": lambda name: DatabaseDenied(f"TLS with {name} failed: see sslmode and sslrootcert."),
    "invalid connection option": lambda name: DatabaseUnsupported(
        f"DATABASE_URL has an option after `?` that libpq does not know; {name} was not asked."
    ),
    "invalid sslmode": lambda name: DatabaseUnsupported(
        f"DATABASE_URL has a wrong sslmode; allowed: disable, allow, prefer, require, verify-ca, verify-full "
        f"({name})."
    ),
    "is not permitted to log in": _no_right,
    "permission denied for database": _no_right,
}
_REASONS: Final[Mapping[str, str]] = {
    "Connection refused": "the connection is refused, so nothing listens there",
    "timeout": "no answer came within POSTGRES_CONNECT_TIMEOUT",
    "translate host name": "nobody knows a host of this name",
    "resolve": "nobody knows a host of this name",
    "No such file": "there is no such socket, so nothing listens there",
    "closed the connection": "the connection broke",
    "terminating connection": "it ended the connection",
    "the connection is lost": "the connection broke",
    "starting up": "it is starting",
    "in recovery mode": "it is recovering",
    "shutting down": "it is shutting down",
    "too many": "it has no place for one more connection",
    "remaining connection slots": "it has no place for one more connection",
}


def is_loss(error: DBAPIError) -> bool:
    """Whether the connection is gone: what was asked last may or may not have been done."""
    return error.connection_invalidated or _is_away(error.orig)


def explain(error: DBAPIError, name: str) -> DatabaseError | None:
    """The one sentence for a failure of the environment; `None` for a caller's mistake."""
    cause = error.orig
    state = getattr(cause, "sqlstate", None) or ""
    if state in _BY_STATE:
        return _BY_STATE[state](name)
    if is_loss(error):
        return _outside(str(cause), name)
    if isinstance(cause, psycopg.OperationalError | psycopg.InternalError):
        return DatabaseError(f"{name} failed: {_first_line(str(cause))}.")
    if isinstance(cause, psycopg.ProgrammingError) and not state:
        return _outside(str(cause), name)
    return None


def _is_away(cause: BaseException | None) -> bool:
    state = getattr(cause, "sqlstate", None)
    if state is None:
        return isinstance(cause, psycopg.OperationalError)
    return state in _AWAY or state.startswith(_AWAY_CLASS)


def _outside(words: str, name: str) -> DatabaseError:
    """A failure of the way to the server, or of its door; its words hold no password."""
    if 'database "' in words and "does not exist" in words:
        return missing(name)
    if 'role "' in words and "does not exist" in words:
        return _BY_WORDS["password authentication failed"](name)
    found = next((sentence for mark, sentence in _BY_WORDS.items() if mark in words), None)
    if found is not None:
        return found(name)
    reason = next((reason for mark, reason in _REASONS.items() if mark in words), _first_line(words))
    return gone(name, reason)


def _first_line(words: str) -> str:
    return (words.strip().splitlines() or ["no reason was given"])[0].rstrip(".")
