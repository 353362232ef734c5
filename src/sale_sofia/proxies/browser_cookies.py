"""Cookies between curl and the browser: a session is one visitor in both."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

_ONLY_HTTP: Final = "#HttpOnly_"
_FIELDS: Final = 7  # domain, subdomains, path, secure, expires, name, value


def curl_line(cookie: Mapping[str, Any]) -> bytes:
    """A cookie of the browser as curl writes it down; one without an end ends with the session."""
    domain = str(cookie["domain"])
    fields = (
        (_ONLY_HTTP if cookie.get("httpOnly") else "") + domain,
        _word(domain.startswith(".")),
        cookie["path"],
        _word(cookie.get("secure")),
        max(0, int(cookie.get("expires", 0))),
        cookie["name"],
        cookie["value"],
    )
    return "\t".join(map(str, fields)).encode()


def browser_cookies(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Curl's lines as the browser takes them."""
    rows = [line.decode("utf-8", errors="replace").split("\t") for line in lines]
    return [_cookie(row) for row in rows if len(row) == _FIELDS]


def _cookie(row: list[str]) -> dict[str, Any]:
    domain, wide, path, secure, expires, name, value = row
    host = domain.removeprefix(_ONLY_HTTP).removeprefix(".")
    return {
        "name": name,
        "value": value,
        "domain": f".{host}" if wide == "TRUE" else host,
        "path": path,
        "expires": int(expires) or -1,
        "httpOnly": domain.startswith(_ONLY_HTTP),
        "secure": secure == "TRUE",
    }


def _word(truth: object) -> str:
    return "TRUE" if truth else "FALSE"
