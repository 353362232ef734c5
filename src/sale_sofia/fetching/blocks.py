"""Whether an answer is a block or a challenge page, by the marks of `block_marks`."""

import re
from collections.abc import Collection
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from sale_sofia.config.fetching import LOOKED_AT_BYTES, TINY_BYTES, TITLE_MAX_BYTES
from sale_sofia.fetching.base import Response
from sale_sofia.fetching.block_marks import (
    DECISIVE_BODY,
    DECISIVE_HEADERS,
    DECISIVE_TITLES,
    FORBIDDEN_HEADERS,
    STATUS_BODY,
    SUPPORTING_BODY,
    SUPPORTING_HEADERS,
    TINY_BODY,
    BodyMarks,
    HeaderMarks,
    Mark,
)

TITLE: Final = re.compile(rb"<title[^<>]{0,%d}>([^<]{0,%d})<" % (TITLE_MAX_BYTES, TITLE_MAX_BYTES))
CHALLENGE_PATH: Final = re.compile(r"/(captcha|sorry|challenge|blocked)(?![a-z])", re.IGNORECASE)
LOGIN_PATH: Final = re.compile(r"/(login|log-in|signin|sign-in|vhod)(?![a-z])", re.IGNORECASE)
NO_STATUS: Final[BodyMarks] = {}


def decisive_mark(response: Response, *, moved: bool, proof: Collection[bytes]) -> Mark | None:
    """What no good page has, whatever the status. `moved`: the answer comes from another path than asked.

    Marks in the body do not count on a page that is proven good: an advert may quote any of them.
    """
    return (
        _header(response, DECISIVE_HEADERS)
        or (_place(response) if moved else None)
        or (None if is_proven(response, proof) else _decisive_body(response))
    )


def asks_for_browser(response: Response, proof: Collection[bytes]) -> bool:
    """Whether the answer is a challenge that a browser's JavaScript may pass; one for a person is none."""
    mark = decisive_mark(response, moved=False, proof=proof)
    return mark is not None and mark.kind in {"cloudflare", "challenge"}


def is_proven(response: Response, proof: Collection[bytes]) -> bool:
    """Whether the answer holds one of the portal's own marks, which no page but its good ones has.

    Asked before any mark of a block is looked for: the verdict is the same and a good page costs one search.
    """
    return response.status == HTTPStatus.OK and any(mark in response.body for mark in proof)


def supporting_mark(response: Response) -> Mark | None:
    """Who may have refused us; means nothing unless something else says that we are not wanted."""
    return (
        _in_body(_start(response), SUPPORTING_BODY)
        or _header(response, SUPPORTING_HEADERS)
        or (_header(response, FORBIDDEN_HEADERS) if response.status == HTTPStatus.FORBIDDEN else None)
    )


def _header(response: Response, marks: HeaderMarks) -> Mark | None:
    headers = response.headers
    return next((mark for name, test, mark in marks if name in headers and test(headers[name])), None)


def _place(response: Response) -> Mark | None:
    """Where we are sent when we are not wanted; an advert that is gone leads to its category instead."""
    path = urlsplit(response.url).path
    if found := CHALLENGE_PATH.search(path):
        return Mark(f"address {found[0]}", "captcha")
    if found := LOGIN_PATH.search(path):
        return Mark(f"address {found[0]}", "login")
    return None if path.strip("/") else Mark("address /", "redirect")


def _decisive_body(response: Response) -> Mark | None:
    start = _start(response)
    return (
        _in_body(start, DECISIVE_BODY)
        or _in_body(start, STATUS_BODY.get(response.status, NO_STATUS))
        or (_in_body(start, TINY_BODY) if len(response.body) < TINY_BYTES else None)
        or _title(start)
    )


def _start(response: Response) -> bytes:
    return response.body[:LOOKED_AT_BYTES].lower()


def _in_body(start: bytes, marks: BodyMarks) -> Mark | None:
    return next((mark for words, mark in marks.items() if words in start), None)


def _title(start: bytes) -> Mark | None:
    found = TITLE.search(start)
    words, mark = DECISIVE_TITLES.get(found[1].strip(), ((), None)) if found else ((), None)
    return mark if any(word in start for word in words) else None
