"""One answer: classified, parsed, and called by its right name. Nothing is fetched or stored here."""

import json
import socket
import sqlite3
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final

from sqlalchemy.exc import DBAPIError

from sale_sofia.crawl.fetch.base import Response, Verdict, VerdictKind
from sale_sofia.crawl.fetch.classify import classify, disguised_block
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience import errors as tree
from sale_sofia.crawl.resilience.errors import CrawlError, HttpBlocked, ParseError, ParseSelector
from sale_sofia.crawl.urls import target
from sale_sofia.crawl.visit.outcomes import Found, Gone, NotModified, Read
from sale_sofia.history.cards import SeenCard, card_hash
from sale_sofia.listings.normalise import normalise_seen
from sale_sofia.listings.page import (
    ForeignPage,
    HostilePage,
    LayoutChanged,
    NotAListing,
    Page,
    PageError,
    PageTooLarge,
    ProjectPage,
    RemovedListing,
    UnreadablePage,
    WrongListing,
)
from sale_sofia.settings.errors import ServiceUnavailable as OwnServiceError
from sale_sofia.storage.errors import DamagedDatabase as CorruptFile
from sale_sofia.storage.errors import DatabaseBusy, DatabaseError
from sale_sofia.storage.sqlite import explain
from sale_sofia.websites.base import SearchPage, Site

# Which class of the one tree of errors something belongs to: an exception of whatever kind, or a verdict.

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
    # What SQLite's own exceptions do not say by their class stands in their code.
    meant = (isinstance(problem, sqlite3.Error) and explain(problem, Path(), 0.0)) or problem
    found = next((own for kind, own in _EXCEPTIONS.items() if isinstance(meant, kind)), None)
    if isinstance(meant, tree.redis_errors()):
        found = tree.ServiceRedis
    if found is None:
        unexpected = CrawlError(f"{type(problem).__name__}: {problem}")
        unexpected.__cause__ = problem  # by which the error log tells where it came from
        return unexpected
    return found(f"{problem.code if isinstance(problem, PageError) else type(problem).__name__}: {problem}")


def error_of(verdict: Verdict, status: int) -> CrawlError:
    """The error that a verdict other than `ok` is, with all that the answer told."""
    kind = _VERDICTS[verdict.kind]
    is_our_fault = status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _LATER_IT_MAY_WORK
    if kind is tree.HttpServer and is_our_fault:
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


@dataclass(frozen=True, slots=True)
class Judge:
    """Reads answers of one portal. `proof` are bytes of which every good page holds one."""

    site: Site
    proof: tuple[bytes, ...] = ()

    def outcome(self, claim: Claim, response: Response, now: datetime) -> Found | Read | NotModified | Gone:
        """What the answer says. Raises `CrawlError`: it is not the page asked for, or cannot be read."""
        verdict = classify(response, claim.url, now, proof=self.proof)
        if verdict.kind == "removed":
            return Gone(claim, "removed")
        if verdict.kind == "not_modified" and claim.kind == "listing":
            return NotModified(claim)
        if verdict.kind not in {"ok", "redirected"}:
            raise error_of(verdict, response.status)
        moved = verdict.kind == "redirected" and claim.kind == "search"
        page = page_of(claim, response)
        try:
            if claim.kind == "search":
                return self._found(claim, self.site.search(page), moved=moved)
            listing, seen = normalise_seen(self.site.listing(page))
            etag, last_modified = response.headers.get("etag"), response.headers.get("last-modified")
            return Read(claim, listing, etag, last_modified, seen)
        except (ProjectPage, RemovedListing) as what:
            return Gone(claim, what.code)
        except PageError as what:
            error = self._unreadable(response, what)
            if moved and isinstance(error, ParseSelector):
                return Gone(claim, "redirected")  # to something else than results: there is no such search
            raise error from what
        except MemoryError:
            raise  # not for us to say: whoever set the limit knows what it means
        except Exception as what:
            # Our own mistake, on one page of many: a person must look, the others go on.
            raise ParseError(f"{type(what).__name__}: {what}") from what

    def _found(self, claim: Claim, page: SearchPage, *, moved: bool) -> Found:
        """What the page says; what follows from it is decided where all pages of its search are known."""
        adverts = tuple(
            (
                SeenCard(
                    card.external_id,
                    card_hash(card.facts),
                    card.filling(page.fills),
                    card.url,
                    card.facts,
                ),
                target(self.site, card.url),
            )
            for card in page.cards
        )
        return Found(
            claim,
            adverts,
            following=target(self.site, page.next_url) if page.next_url else None,
            sitemaps=tuple(target(self.site, url) for url in page.further),
            total=page.total,
            exact=page.exact,
            capped=page.capped,
            last_page=page.last_page,
            most=page.most,
            most_pages=page.most_pages,
            stale_pages=page.stale_pages,
            ids=page.ids,
            moved=moved,
            cards=tuple(card.reading for card in page.cards),
            section=page.section,
        )

    def _unreadable(self, response: Response, what: PageError) -> Exception:
        """A captcha where the advert should be is a block; a page without one is for a person to look at."""
        block = None if isinstance(what, WrongListing) else disguised_block(response, proof=self.proof)
        error = error_of(block, response.status) if block else classify_error(what)
        error.status = response.status
        error.page_code = what.code
        return error


def page_of(claim: Claim, response: Response) -> Page:
    """The answer as the page that was asked for."""
    return Page(claim.url, response.body, response.headers.get("content-type"))
