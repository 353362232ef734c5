"""Which class of the one tree of errors something belongs to: an exception of whatever kind, or a verdict."""

import json
import socket
import sqlite3
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

from redis.exceptions import RedisError
from sqlalchemy.exc import DBAPIError

from sale_sofia.data.errors import DatabaseBusy, DatabaseError
from sale_sofia.data.errors import DatabaseCorrupt as CorruptFile
from sale_sofia.data.sqlite_errors import explain
from sale_sofia.fetching.base import Verdict, VerdictKind
from sale_sofia.listings.page_errors import (
    ForeignPage,
    HostilePage,
    LayoutChanged,
    NotAListing,
    PageError,
    PageTooLarge,
    UnreadablePage,
)
from sale_sofia.resilience import errors as tree
from sale_sofia.resilience.errors import CrawlError, HttpBlocked
from sale_sofia.services.errors import ServiceError as OwnServiceError

# The first class that fits is taken, so the particular stand before the general.
_EXCEPTIONS: Final[Mapping[type[Exception], type[CrawlError]]] = {
    LayoutChanged: tree.ParseSelector,
    HostilePage: tree.ParseHostile,
    PageTooLarge: tree.ParseHostile,
    UnreadablePage: tree.ParseHtml,
    NotAListing: tree.ParseOtherPage,
    ForeignPage: tree.ParseOtherPage,
    json.JSONDecodeError: tree.ParseJson,
    UnicodeDecodeError: tree.ParseHtml,
    DatabaseBusy: tree.DatabaseLocked,
    CorruptFile: tree.DatabaseCorrupt,
    DatabaseError: tree.DatabaseFailure,
    sqlite3.Error: tree.DatabaseFailure,
    DBAPIError: tree.DatabaseFailure,
    RedisError: tree.ServiceRedis,
    OwnServiceError: tree.ServiceRedis,
    ssl.SSLError: tree.NetworkTls,
    socket.gaierror: tree.NetworkDns,
    TimeoutError: tree.NetworkTimeout,
    ConnectionResetError: tree.NetworkReset,
    BrokenPipeError: tree.NetworkReset,
    ConnectionError: tree.NetworkConnection,
}
_VERDICTS: Final[Mapping[VerdictKind, type[CrawlError]]] = {
    "rate_limited": tree.HttpRateLimit,
    "blocked": tree.HttpBlocked,
    "proxy_fault": tree.ServiceProxy,
    "server_error": tree.HttpServer,
    # The portal sent less than a page: it broke off on its way, whatever the parser would say of it.
    "truncated": tree.NetworkBroken,
    "empty": tree.NetworkBroken,
    "removed": tree.HttpClient,
    # Only of adverts we ask whether they were modified; to them it is no error.
    "not_modified": tree.HttpClient,
}
_SERVICES: Final[Mapping[str, type[tree.ServiceError]]] = {
    "ollama": tree.ServiceOllama,
    "redis": tree.ServiceRedis,
    "proxy": tree.ServiceProxy,
    "browser": tree.ServiceBrowser,
}
_LATER_IT_MAY_WORK: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})


def classify_error(problem: Exception) -> CrawlError:
    """The error of our tree for any exception; an unknown one is a plain `CrawlError` that names it."""
    if isinstance(problem, CrawlError):
        return problem
    meant = _meaning(problem)
    found = next((own for kind, own in _EXCEPTIONS.items() if isinstance(meant, kind)), None)
    return found(_sentence(problem)) if found else CrawlError(f"{type(problem).__name__}: {problem}")


def error_of(verdict: Verdict, status: int) -> CrawlError:
    """The error that a verdict other than `ok` is, with all that the answer told."""
    kind = _VERDICTS[verdict.kind]
    if kind is tree.HttpServer and _is_our_fault(status):
        kind = tree.HttpClient
    error = kind(f"{verdict.kind}: {verdict.detail}")
    error.status = status
    error.retry_after_seconds = verdict.retry_after_seconds
    if isinstance(error, HttpBlocked):
        error.block_kind = verdict.block_kind
    return error


def service_error(name: str, problem: Exception) -> tree.ServiceError:
    """The error for a service of ours that failed: ollama, redis, proxy or browser."""
    return _SERVICES[name](f"{name}: {str(problem) or type(problem).__name__}")


def _meaning(problem: Exception) -> Exception:
    """What SQLite's own exceptions do not say by their class stands in their code."""
    return (isinstance(problem, sqlite3.Error) and explain(problem, Path(), 0.0)) or problem


def _sentence(problem: Exception) -> str:
    name = problem.code if isinstance(problem, PageError) else type(problem).__name__
    return f"{name}: {problem}"


def _is_our_fault(status: int) -> bool:
    return status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _LATER_IT_MAY_WORK
