"""Classifies an answer before parsing, so that no block page ever becomes data or a delisting."""

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote, urlsplit

from sale_sofia.crawl.fetch.base import BlockKind, Response, Verdict
from sale_sofia.crawl.fetch.blocks import BlockMark, decisive_mark, is_proven, supporting_mark
from sale_sofia.crawl.fetch.client import retry_after_seconds
from sale_sofia.crawl.fetch.settings import TINY_BYTES
from sale_sofia.listings.page import is_whole

BOM: Final = b"\xef\xbb\xbf"
HTML_START: Final = re.compile(rb"\s*<(!doctype html|html|head|body)\b", re.IGNORECASE)
SPACE: Final = re.compile(rb"\s+")
WHITE_PAGE: Final = re.compile(
    rb"(<!doctype[^>]*>)?(<html[^>]*>)?(<head[^>]*>(</head>)?)?(<body[^>]*>)?(</body>)?(</html>)?",
    re.IGNORECASE,
)
REFUSED: Final[Mapping[int, BlockKind]] = {401: "login", 403: "forbidden", 451: "legal"}
REMOVED: Final = frozenset({404, 410})


def classify(
    response: Response, asked_url: str, now: datetime | None = None, *, proof: Collection[bytes] = ()
) -> Verdict:
    """The verdict on an answer to `asked_url`; `now` is needed to read a `Retry-After` that is a date.

    A challenge page is `blocked` whatever its status: a 404 that is one says nothing about the advert. A page
    that holds one of the portal's own marks (`proof`) is never `blocked` for what is written on it.
    """
    if response.status == HTTPStatus.NOT_MODIFIED:
        return Verdict("not_modified")
    if response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return Verdict("proxy_fault", "HTTP 407")
    moved = response.url != asked_url and _path(response.url) != _path(asked_url)
    wait = retry_after_seconds(response.headers.get("retry-after"), now, response.headers.get("date"))
    if mark := decisive_mark(response, moved=moved, proof=proof):
        return _blocked(response, mark, wait)
    if response.status >= HTTPStatus.BAD_REQUEST:
        return _by_status(response, wait)
    if moved or response.status >= HTTPStatus.MULTIPLE_CHOICES:
        leads = f"HTTP {response.status}, to {response.headers.get('location')}"
        return Verdict("redirected", f"to {response.url}" if moved else leads)
    return _by_body(response, proof)


def disguised_block(response: Response, *, proof: Collection[bytes] = ()) -> Verdict | None:
    """For a page without the expected content: the block it is, or None for a new layout.

    A page with one of the portal's own marks (`proof`) is the portal's, so a person must look at it.
    """
    mark = None if is_proven(response, proof) else supporting_mark(response)
    return _blocked(response, mark, None) if mark else None


def _by_status(response: Response, wait: float | None) -> Verdict:
    status = response.status
    if status in REMOVED:
        return Verdict("removed", f"HTTP {status}")
    if status in REFUSED:
        return _blocked(response, supporting_mark(response) or BlockMark("the portal", REFUSED[status]), wait)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _slow_down(response, wait)
    if status == HTTPStatus.SERVICE_UNAVAILABLE and "retry-after" in response.headers:
        return _slow_down(response, wait)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        mark = supporting_mark(response)
        return _blocked(response, mark, wait) if mark else Verdict("server_error", "HTTP 503")
    return Verdict("server_error", f"HTTP {status}", wait)


def _slow_down(response: Response, wait: float | None) -> Verdict:
    """Waiting helps against a rate limit, but not against a captcha that comes with it."""
    mark = supporting_mark(response)
    if mark and mark.kind == "captcha":
        return _blocked(response, mark, wait)
    by = f" by {mark.vendor}" if mark else ""
    return Verdict("rate_limited", f"HTTP {response.status}{by}", wait)


def _blocked(response: Response, mark: BlockMark, wait: float | None) -> Verdict:
    return Verdict("blocked", f"HTTP {response.status} by {mark.vendor}", wait, mark.kind, mark.vendor)


def _by_body(response: Response, proof: Collection[bytes]) -> Verdict:
    body = response.body.removeprefix(BOM)
    if not body or body.isspace():
        return Verdict("empty", "no body")
    if len(body) < TINY_BYTES:  # too small for an advert: empty, or a block if it has a supporting mark
        if WHITE_PAGE.fullmatch(SPACE.sub(b"", body)):
            return Verdict("empty", "a page without content")
        if _is_html(response) and (block := disguised_block(response, proof=proof)):
            return block
    if response.status == HTTPStatus.PARTIAL_CONTENT or (_is_html(response) and not is_whole(body)):
        return Verdict("truncated", f"{len(body)} bytes without an end")
    return Verdict("ok")


def _is_html(response: Response) -> bool:
    declared = response.headers.get("content-type")
    return "html" in declared.lower() if declared else bool(HTML_START.match(response.body.removeprefix(BOM)))


def _path(url: str) -> str:
    return unquote(urlsplit(url).path, errors="replace").rstrip("/")
