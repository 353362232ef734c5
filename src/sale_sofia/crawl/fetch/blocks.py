"""Whether an answer is a block or a challenge page, by the marks that such pages have."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from sale_sofia.crawl.fetch.base import BlockKind, Response
from sale_sofia.crawl.fetch.settings import LOOKED_AT_BYTES, TINY_BYTES, TITLE_MAX_BYTES

# The marks of block and challenge pages. A decisive mark is on no good page, whatever the status. A
# supporting mark is on some, and counts only where the status refuses us, where the page is tiny, or where
# what was asked for is not on it. Never a mark, because good pages have them: Cloudflare's beacon (`/cdn-
# cgi/challenge-platform/scripts/jsd/`, `__CF$cv$params`); the headers `cf-ray`, `x-amzn-requestid`, `x-amz-
# cf-id`; the cookies `__cf_bm`, `cf_clearance`, `_px3`, `_pxhd`, `_pxvid`, `visid_incap_`, `incap_ses_`,
# `reese84`, `_abck`, `bm_sz`, `ak_bmsc`, and `datadome` without a 403; a captcha on a page that can be
# read; words such as "captcha". Judged elsewhere, because one answer alone does not tell: a page without
# what was asked for, also one much smaller than usual, is `LayoutChanged` when it is parsed, and then
# `disguised_block` looks again; a page without a Cyrillic letter, or in the wrong charset, is
# `UndecodablePage`; one that says that it is another's is `ForeignPage`. A 444, 502 or 504 may be the
# portal's fault or a proxy's: a server error.

HeaderMarks: TypeAlias = tuple[tuple[str, re.Pattern[str], "BlockMark"], ...]
"""A header, a pattern for its whole value in lower case, and the mark it stands for."""
BodyMarks: TypeAlias = Mapping[bytes, "BlockMark"]
"""Words in lower case, because pages are searched in lower case."""


@dataclass(frozen=True, slots=True)
class BlockMark:
    """Whose page it is and what kind of block."""

    vendor: str
    kind: BlockKind


CLOUDFLARE: Final = BlockMark("Cloudflare", "cloudflare")
CLOUDFLARE_BAN: Final = BlockMark("Cloudflare", "ip_ban")
CLOUDFLARE_RATE: Final = BlockMark("Cloudflare", "rate_limit")
DATADOME: Final = BlockMark("DataDome", "captcha")
PERIMETERX: Final = BlockMark("PerimeterX", "captcha")
IMPERVA: Final = BlockMark("Imperva", "challenge")
AKAMAI: Final = BlockMark("Akamai", "ip_ban")
AWS: Final = BlockMark("AWS WAF", "challenge")
AWS_CAPTCHA: Final = BlockMark("AWS WAF", "captcha")
KASADA: Final = BlockMark("Kasada", "challenge")
WIDGET: Final = BlockMark("captcha widget", "captcha")

DECISIVE_BODY: Final[BodyMarks] = {
    b"window._cf_chl_opt": CLOUDFLARE,
    b"/cdn-cgi/challenge-platform/h/b/orchestrate/": CLOUDFLARE,
    b"/cdn-cgi/challenge-platform/h/g/orchestrate/": CLOUDFLARE,
    b"captcha-delivery.com": DATADOME,
    b"var dd={": DATADOME,
    b"var dd = {": DATADOME,
    b"px-captcha": PERIMETERX,
    b"_pxblock": PERIMETERX,
    b"/captcha/captcha.js?a=c": PERIMETERX,
    b"press & hold": PERIMETERX,
    b"press &amp; hold": PERIMETERX,
    b"incapsula incident id": IMPERVA,
    b'<script id="anubis_challenge"': BlockMark("Anubis", "challenge"),
    b"sucuri website firewall - access denied": BlockMark("Sucuri", "ip_ban"),
}
WIDGETS: Final[BodyMarks] = {b"g-recaptcha": WIDGET, b"h-captcha": WIDGET, b"cf-turnstile": WIDGET}
TINY_BODY: Final[BodyMarks] = {b"_incapsula_resource": IMPERVA, **WIDGETS}
"""Decisive where the page has no room for anything else; a login form's widget on a full page is none."""
STATUS_BODY: Final[Mapping[int, BodyMarks]] = {
    202: {b"gokuprops": AWS, b"awswaf.com": AWS},
    405: {b"gokuprops": AWS_CAPTCHA, b"awswaf.com": AWS_CAPTCHA},
    429: {b"ips.js": KASADA},
}
"""Decisive with this status only. AWS challenges with 202, and asks for a person with 405."""
DECISIVE_TITLES: Final[Mapping[bytes, tuple[tuple[bytes, ...], BlockMark]]] = {
    b"just a moment...": ((b"",), CLOUDFLARE),
    b"access denied": (
        (b"errors.edgesuite.net", b"errors&#46;edgesuite&#46;net", b"reference #", b"reference&#32;&#35;"),
        AKAMAI,
    ),
}
"""Titles in lower case, each with words of which one must be in the body too."""


def _error(number: bytes) -> tuple[bytes, ...]:
    """How Cloudflare prints the number of an error: in a page, old or new, in plain text and in JSON."""
    forms = (b"error %s", b"error code: %s", b'cf-error-code">%s<', b'"error_code":%s', b'"error_code": %s')
    return tuple(form % number for form in forms)


SUPPORTING_BODY: Final[BodyMarks] = {
    **dict.fromkeys(_error(b"1015"), CLOUDFLARE_RATE),
    **dict.fromkeys(_error(b"1020"), CLOUDFLARE_BAN),
    b"<title>attention required! | cloudflare": CLOUDFLARE,
    b"cf-error-details": CLOUDFLARE,
    b"window._pxappid": PERIMETERX,
    **WIDGETS,
}


def _headers(*rows: tuple[str, str, BlockMark]) -> HeaderMarks:
    return tuple((name, re.compile(pattern, re.DOTALL), mark) for name, pattern, mark in rows)


DECISIVE_HEADERS: Final = _headers(
    ("cf-mitigated", "challenge", CLOUDFLARE),
    ("x-datadome", r"(?!protected\Z).*", DATADOME),
    ("x-dd-b", ".+", DATADOME),
    ("x-amzn-waf-action", "challenge", AWS),
    ("x-amzn-waf-action", "captcha", AWS_CAPTCHA),
    ("x-kasada-challenge", ".+", KASADA),
    ("x-vercel-mitigated", "challenge", BlockMark("Vercel", "challenge")),
)
SUPPORTING_HEADERS: Final = _headers(
    ("set-cookie", ".*aws-waf-token=.*", AWS),
    ("x-px-authorization", ".+", PERIMETERX),
    ("x-iinfo", ".+", IMPERVA),
    ("x-cdn", "incapsula", IMPERVA),
    ("akamai-cache-status", "error.*", AKAMAI),
)
FORBIDDEN_HEADERS: Final = _headers(
    ("set-cookie", ".*datadome=.*", DATADOME),
    ("server", "cloudflare", CLOUDFLARE),
)
"""On every answer of a portal behind these vendors, so they only name the vendor of a 403."""


TITLE: Final = re.compile(rb"<title[^<>]{0,%d}>([^<]{0,%d})<" % (TITLE_MAX_BYTES, TITLE_MAX_BYTES))
CHALLENGE_PATH: Final = re.compile(r"/(captcha|sorry|challenge|blocked)(?![a-z])", re.IGNORECASE)
LOGIN_PATH: Final = re.compile(r"/(login|log-in|signin|sign-in|vhod)(?![a-z])", re.IGNORECASE)


def decisive_mark(response: Response, *, moved: bool, proof: Collection[bytes]) -> BlockMark | None:
    """A mark that no good page has, whatever the status. `moved`: the answer is from another path.

    Marks in the body do not count on a page that is proven good: an advert may quote any of them.
    """
    mark = _header(response, DECISIVE_HEADERS) or (_place(response) if moved else None)
    if mark or is_proven(response, proof):
        return mark
    start = _start(response)
    return (
        _in_body(start, DECISIVE_BODY)
        or _in_body(start, STATUS_BODY.get(response.status, {}))
        or (_in_body(start, TINY_BODY) if len(response.body) < TINY_BYTES else None)
        or _title(start)
    )


def asks_for_browser(response: Response, proof: Collection[bytes]) -> bool:
    """Whether the answer is a challenge that a browser's JavaScript may pass; a captcha is not."""
    mark = decisive_mark(response, moved=False, proof=proof)
    return mark is not None and mark.kind in {"cloudflare", "challenge"}


def is_proven(response: Response, proof: Collection[bytes]) -> bool:
    """Whether the answer holds one of the portal's own marks, which no page but its good ones has.

    Checked before any block mark: the verdict is the same, and a good page costs one search.
    """
    return response.status == HTTPStatus.OK and any(mark in response.body for mark in proof)


def supporting_mark(response: Response) -> BlockMark | None:
    """Who may have refused us; means nothing without another sign of a block."""
    return (
        _in_body(_start(response), SUPPORTING_BODY)
        or _header(response, SUPPORTING_HEADERS)
        or (_header(response, FORBIDDEN_HEADERS) if response.status == HTTPStatus.FORBIDDEN else None)
    )


def _header(response: Response, marks: HeaderMarks) -> BlockMark | None:
    for name, pattern, mark in marks:
        value = response.headers.get(name)
        if value is not None and pattern.fullmatch(value.strip().lower()):
            return mark
    return None


def _place(response: Response) -> BlockMark | None:
    """The block that a redirect target stands for; a removed advert redirects to its category instead."""
    path = urlsplit(response.url).path
    if match := CHALLENGE_PATH.search(path):
        return BlockMark(f"address {match[0]}", "captcha")
    if match := LOGIN_PATH.search(path):
        return BlockMark(f"address {match[0]}", "login")
    return None if path.strip("/") else BlockMark("address /", "redirect")


def _start(response: Response) -> bytes:
    return response.body[:LOOKED_AT_BYTES].lower()


def _in_body(start: bytes, marks: BodyMarks) -> BlockMark | None:
    return next((mark for words, mark in marks.items() if words in start), None)


def _title(start: bytes) -> BlockMark | None:
    match = TITLE.search(start)
    words, mark = DECISIVE_TITLES.get(match[1].strip(), ((), None)) if match else ((), None)
    return mark if any(word in start for word in words) else None
