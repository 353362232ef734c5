"""By what a block or challenge page is known.

A decisive mark is never on a good page. A supporting mark is on many, and says only whose page it is once the
status has said that we are not wanted. Cookies, beacons and captcha widgets of login forms are no marks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

HeaderTest: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Mark:
    """Whose page it is and what kind of block."""

    vendor: str
    kind: str


CLOUDFLARE: Final = Mark("Cloudflare", "cloudflare")
RATE_LIMIT: Final = Mark("Cloudflare", "rate_limit")
DATADOME: Final = Mark("DataDome", "captcha")
PERIMETERX: Final = Mark("PerimeterX", "captcha")
IMPERVA: Final = Mark("Imperva", "challenge")
AKAMAI: Final = Mark("Akamai", "ip_ban")
AWS: Final = Mark("AWS WAF", "challenge")
KASADA: Final = Mark("Kasada", "challenge")
WIDGET: Final = Mark("captcha widget", "captcha")

DECISIVE_BODY: Final[Mapping[bytes, Mark]] = {
    b"window._cf_chl_opt": CLOUDFLARE,
    b"/cdn-cgi/challenge-platform/h/b/orchestrate/": CLOUDFLARE,
    b"/cdn-cgi/challenge-platform/h/g/orchestrate/": CLOUDFLARE,
    b"captcha-delivery.com": DATADOME,
    b"var dd={": DATADOME,
    b"px-captcha": PERIMETERX,
    b"_pxBlock": PERIMETERX,
    b"/captcha/captcha.js?a=c": PERIMETERX,
    b"Press & Hold": PERIMETERX,
    b"Press &amp; Hold": PERIMETERX,
    b"Incapsula incident ID": IMPERVA,
    b'<script id="anubis_challenge"': Mark("Anubis", "challenge"),
    b"Sucuri WebSite Firewall - Access Denied": Mark("Sucuri", "ip_ban"),
}
WIDGETS: Final[Mapping[bytes, Mark]] = {
    b"g-recaptcha": WIDGET,
    b"h-captcha": WIDGET,
    b"cf-turnstile": WIDGET,
}
TINY_BODY: Final[Mapping[bytes, Mark]] = {b"_Incapsula_Resource": IMPERVA, **WIDGETS}
"""Decisive where the page has no room for anything else; a login form's widget on a full page is none."""
STATUS_BODY: Final[Mapping[int, Mapping[bytes, Mark]]] = {
    202: {b"gokuProps": AWS, b"awswaf.com": AWS},
    405: {b"gokuProps": AWS, b"awswaf.com": AWS},
    429: {b"ips.js": KASADA},
}
"""Decisive with this status only."""
SUPPORTING_BODY: Final[Mapping[bytes, Mark]] = {
    b"Error 1015": RATE_LIMIT,
    b"error code: 1015": RATE_LIMIT,
    b"Error 1020": Mark("Cloudflare", "ip_ban"),
    b"error code: 1020": Mark("Cloudflare", "ip_ban"),
    b"Attention Required! | Cloudflare": CLOUDFLARE,
    b"cf-error-details": CLOUDFLARE,
    b"window._pxAppId": PERIMETERX,
    **WIDGETS,
}
DECISIVE_TITLES: Final[Mapping[bytes, tuple[tuple[bytes, ...], Mark]]] = {
    b"just a moment...": ((b"",), CLOUDFLARE),
    b"access denied": ((b"errors.edgesuite.net", b"Reference #", b"Reference&#32;&#35;"), AKAMAI),
}
"""Titles in small letters, each with words of which one must be in the body too."""


def _is(*words: str) -> HeaderTest:
    return lambda value: value.lower() in words


def _holds(word: str) -> HeaderTest:
    return lambda value: word in value.lower()


def _any(value: str) -> bool:
    return bool(value)


DECISIVE_HEADERS: Final[tuple[tuple[str, HeaderTest, Mark], ...]] = (
    ("cf-mitigated", _is("challenge"), CLOUDFLARE),
    ("x-datadome", lambda value: value.lower() != "protected", DATADOME),
    ("x-dd-b", _any, DATADOME),
    ("x-amzn-waf-action", _is("captcha", "challenge"), AWS),
    ("x-kasada-challenge", _any, KASADA),
    ("x-vercel-mitigated", _is("challenge"), Mark("Vercel", "challenge")),
)
SUPPORTING_HEADERS: Final[tuple[tuple[str, HeaderTest, Mark], ...]] = (
    ("set-cookie", _holds("datadome="), DATADOME),
    ("set-cookie", _holds("aws-waf-token="), AWS),
    ("x-px-authorization", _any, PERIMETERX),
    ("x-iinfo", _any, IMPERVA),
    ("x-cdn", _is("incapsula"), IMPERVA),
    ("akamai-cache-status", _holds("error"), AKAMAI),
    ("server", _is("cloudflare"), CLOUDFLARE),
)
