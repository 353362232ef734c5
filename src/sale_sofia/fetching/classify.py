"""What an answer is, decided before parsing: no block page ever becomes data or a delisting."""

import re
from datetime import datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote, urlsplit

from sale_sofia.fetching.base import Response, Verdict
from sale_sofia.fetching.block_marks import WIDGET, Mark
from sale_sofia.fetching.blocks import TINY, decisive_mark, supporting_mark
from sale_sofia.fetching.retry_after import retry_after_seconds

NEAR_END: Final = 1024
"""Bytes at the end of a whole HTML page in which it closes."""
BOM: Final = b"\xef\xbb\xbf"
HTML_START: Final = re.compile(rb"\s*<(!doctype html|html|head|body)\b", re.IGNORECASE)
SPACE: Final = re.compile(rb"\s+")
WHITE_PAGE: Final = re.compile(
    rb"(<!doctype[^>]*>)?(<html[^>]*>)?(<head[^>]*>(</head>)?)?(<body[^>]*>)?(</body>)?(</html>)?",
    re.IGNORECASE,
)
REFUSED: Final = {401: "login", 403: "forbidden", 451: "legal"}
REMOVED: Final = frozenset({404, 410})


def classify(response: Response, asked_url: str, now: datetime | None = None) -> Verdict:
    """The verdict on an answer to `asked_url`; `now` is needed to read a `Retry-After` that is a date.

    A challenge page is `blocked` whatever its status: a 404 that is one says nothing about the advert.
    """
    if response.status == HTTPStatus.NOT_MODIFIED:
        return Verdict("not_modified")
    if response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return Verdict("proxy_fault", "HTTP 407")
    moved = _path(response.url) != _path(asked_url)
    wait = retry_after_seconds(response.headers.get("retry-after"), now)
    if mark := decisive_mark(response, moved=moved):
        return _blocked(response, mark, wait)
    return _by_status(response, wait) or _by_place(response, moved=moved) or _by_body(response)


def _by_status(response: Response, wait: float | None) -> Verdict | None:
    status = response.status
    if status in REMOVED:
        return Verdict("removed", f"HTTP {status}")
    if status in REFUSED:
        return _blocked(response, supporting_mark(response) or Mark("the portal", REFUSED[status]), wait)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _too_many(response, wait)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return _unavailable(response, wait)
    return Verdict("server_error", f"HTTP {status}", wait) if status >= HTTPStatus.BAD_REQUEST else None


def _too_many(response: Response, wait: float | None) -> Verdict:
    mark = supporting_mark(response)
    if mark is WIDGET:
        return _blocked(response, mark, wait)
    return Verdict("rate_limited", f"HTTP 429 by {mark.vendor}" if mark else "HTTP 429", wait)


def _unavailable(response: Response, wait: float | None) -> Verdict:
    if "retry-after" in response.headers:
        return Verdict("rate_limited", "HTTP 503 with Retry-After", wait)
    mark = supporting_mark(response)
    return _blocked(response, mark, wait) if mark else Verdict("server_error", "HTTP 503")


def _blocked(response: Response, mark: Mark, wait: float | None) -> Verdict:
    return Verdict("blocked", f"HTTP {response.status} by {mark.vendor}", wait, mark.kind)


def _by_place(response: Response, *, moved: bool) -> Verdict | None:
    if moved:
        return Verdict("redirected", f"to {response.url}")
    if response.status >= HTTPStatus.MULTIPLE_CHOICES:
        return Verdict("redirected", f"HTTP {response.status}, to {response.headers.get('location')}")
    return None


def _by_body(response: Response) -> Verdict:
    body = response.body.removeprefix(BOM)
    if not body or body.isspace():
        return Verdict("empty", "no body")
    if len(body) < TINY and WHITE_PAGE.fullmatch(SPACE.sub(b"", body)):
        return Verdict("empty", "a page without content")
    if response.status == HTTPStatus.PARTIAL_CONTENT or (
        _is_html(response) and b"</html" not in body[-NEAR_END:].lower()
    ):
        return Verdict("truncated", f"{len(body)} bytes without an end")
    return Verdict("ok")


def _is_html(response: Response) -> bool:
    declared = response.headers.get("content-type")
    return "html" in declared.lower() if declared else bool(HTML_START.match(response.body.removeprefix(BOM)))


def _path(url: str) -> str:
    return unquote(urlsplit(url).path, errors="replace").rstrip("/")
