"""Whether an answer is a block or a challenge page, by the marks of `block_marks`."""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from sale_sofia.fetching.base import Response
from sale_sofia.fetching.block_marks import (
    DECISIVE_BODY,
    DECISIVE_HEADERS,
    DECISIVE_TITLES,
    STATUS_BODY,
    SUPPORTING_BODY,
    SUPPORTING_HEADERS,
    TINY_BODY,
    HeaderTest,
    Mark,
)

LOOKED_AT: Final = 65_536
"""Bytes of a body that are searched: challenge pages are small, adverts are not."""
LARGEST_CHALLENGE: Final = 100_000
LOOKED_AT_IN_LARGE: Final = 16_384
"""Of a larger body only so much is searched: thirteen searches of 64 KB cost a fifth of parsing it."""
TINY: Final = 5_000
"""A body below this has no room for an advert or a list of them."""
TITLE: Final = re.compile(rb"<title[^<>]{0,200}>([^<]{0,200})<", re.IGNORECASE)
CHALLENGE_PATH: Final = re.compile(r"/(captcha|sorry|challenge|blocked)(?![a-z])", re.IGNORECASE)
NO_STATUS: Final[Mapping[bytes, Mark]] = {}


def decisive_mark(response: Response, *, moved: bool) -> Mark | None:
    """What no good page has, whatever the status. `moved`: the answer comes from another path than asked."""
    return (
        _header(response, DECISIVE_HEADERS)
        or (_challenge_path(response) if moved else None)
        or _in_body(response, DECISIVE_BODY)
        or _in_body(response, STATUS_BODY.get(response.status, NO_STATUS))
        or (_in_body(response, TINY_BODY) if len(response.body) < TINY else None)
        or _title(response)
    )


def supporting_mark(response: Response) -> Mark | None:
    """Who may have refused us; means nothing unless the status already says that we are not wanted."""
    return _in_body(response, SUPPORTING_BODY) or _header(response, SUPPORTING_HEADERS)


def _header(response: Response, tests: Iterable[tuple[str, HeaderTest, Mark]]) -> Mark | None:
    headers = response.headers
    return next((mark for name, test, mark in tests if name in headers and test(headers[name])), None)


def _challenge_path(response: Response) -> Mark | None:
    found = CHALLENGE_PATH.search(urlsplit(response.url).path)
    return Mark(f"address {found[0]}", "captcha") if found else None


def _start(response: Response) -> bytes:
    """Where a mark would stand; a page larger than any challenge is searched only at its head."""
    body = response.body
    return body[:LOOKED_AT] if len(body) <= LARGEST_CHALLENGE else body[:LOOKED_AT_IN_LARGE]


def _in_body(response: Response, marks: Mapping[bytes, Mark]) -> Mark | None:
    start = _start(response) if marks else b""
    return next((mark for words, mark in marks.items() if words in start), None)


def _title(response: Response) -> Mark | None:
    start = response.body[:LOOKED_AT]
    found = TITLE.search(start)
    words, mark = DECISIVE_TITLES.get(found[1].strip().lower(), ((), None)) if found else ((), None)
    return mark if any(word in start for word in words) else None
