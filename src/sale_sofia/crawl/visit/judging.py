"""Judges one answer: classifies it, parses it, names the error. Nothing is fetched or stored here."""

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
from sale_sofia.crawl.fetch.client import redirect_of
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

# The class of our error tree for any exception and for a verdict.

# The first class that matches counts: specific ones stand before general ones.
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
    # Less than a page arrived: it broke off on its way, whatever the parser would make of it.
    "truncated": tree.NetworkBroken,
    "empty": tree.NetworkBroken,
    "removed": tree.HttpClient,
    # Only adverts are requested conditionally; for them it is no error.
    "not_modified": tree.HttpClient,
}
_SERVICES: Final[Mapping[str, type[tree.ServiceError]]] = {
    "ollama": tree.ServiceOllama,
    "redis": tree.ServiceRedis,
    "proxy": tree.ServiceProxy,
    "browser": tree.ServiceBrowser,
}
_MAY_WORK_LATER: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})


def classify_error(problem: Exception) -> CrawlError:
    """The error of our tree for any exception; an unknown one becomes a plain `CrawlError` that names it."""
    if isinstance(problem, CrawlError):
        return problem
    # SQLite's own exceptions say by their code, not by their class, what went wrong.
    explained = (isinstance(problem, sqlite3.Error) and explain(problem, Path(), 0.0)) or problem
    error_class = next((ours for kind, ours in _EXCEPTIONS.items() if isinstance(explained, kind)), None)
    if isinstance(explained, tree.redis_errors()):
        error_class = tree.ServiceRedis
    if error_class is None:
        unexpected = CrawlError(f"{type(problem).__name__}: {problem}")
        unexpected.__cause__ = problem  # the error log shows where it came from
        return unexpected
    return error_class(
        f"{problem.code if isinstance(problem, PageError) else type(problem).__name__}: {problem}"
    )


def error_of(verdict: Verdict, status: int) -> CrawlError:
    """The error for a verdict that is neither `ok` nor `redirected`, with the details of the answer."""
    kind = _VERDICTS[verdict.kind]
    is_our_fault = status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _MAY_WORK_LATER
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
    """Reads answers of one portal. Every good page contains one of the byte strings of `proof`."""

    site: Site
    proof: tuple[bytes, ...] = ()

    def outcome(self, claim: Claim, response: Response, now: datetime) -> Found | Read | NotModified | Gone:
        """What the answer says. Raises `CrawlError`: it is not the requested page, or cannot be read."""
        verdict = classify(response, claim.url, now, proof=self.proof)
        if verdict.kind == "removed":
            return Gone(claim, "removed")
        if verdict.kind == "not_modified" and claim.kind == "listing":
            return NotModified(claim)
        if verdict.kind not in {"ok", "redirected"}:
            raise error_of(verdict, response.status)
        _check_followed(claim, response)
        moved = verdict.kind == "redirected" and claim.kind == "search"
        page = page_of(claim, response)
        try:
            if claim.kind == "search":
                return self._found(claim, self.site.search(page), moved=moved)
            listing, seen = normalise_seen(self.site.listing(page))
            etag, last_modified = response.headers.get("etag"), response.headers.get("last-modified")
            return Read(claim, listing, etag, last_modified, seen)
        except (ProjectPage, RemovedListing) as other_page:
            return Gone(claim, other_page.code)
        except PageError as page_error:
            error = self._unreadable(response, page_error)
            if moved and isinstance(error, ParseSelector):
                return Gone(claim, "redirected")  # not to results: there is no such search
            raise error from page_error
        except MemoryError:
            raise  # whoever set the limit knows what it means
        except Exception as problem:
            # A bug of ours, on one page of many: a person must look, the other pages go on.
            raise ParseError(f"{type(problem).__name__}: {problem}") from problem

    def _found(self, claim: Claim, page: SearchPage, *, moved: bool) -> Found:
        """What the page says; what follows from it is decided where the whole search is known."""
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

    def _unreadable(self, response: Response, page_error: PageError) -> Exception:
        """A block if there is a captcha instead of the page; otherwise an error for a person to look at."""
        block = None if isinstance(page_error, WrongListing) else disguised_block(response, proof=self.proof)
        error = error_of(block, response.status) if block else classify_error(page_error)
        error.status = response.status
        error.page_code = page_error.code
        return error


def _check_followed(claim: Claim, response: Response) -> None:
    """Raise `RobotsDisallowed` for a redirect that was not followed: see `CurlFetcher.fetch`."""
    if response.url != claim.url and redirect_of(response.status, response.headers, response.url):
        raise tree.RobotsDisallowed(f"redirected to {response.url}, which robots.txt forbids")


def page_of(claim: Claim, response: Response) -> Page:
    """The answer as the page of the claimed address."""
    return Page(claim.url, response.body, response.headers.get("content-type"))
