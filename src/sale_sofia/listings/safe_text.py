"""Nothing from a portal is trusted: what of its texts and addresses a page may show, and in what form."""

import re
import unicodedata
from html import escape
from typing import Final
from urllib.parse import urlsplit

from sale_sofia.config.screens import LONGEST_ADDRESS, LONGEST_TITLE

CUT: Final = "…"
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Control and format characters, the marks that turn the direction of writing among them."""
_MANY_MARKS: Final = re.compile("([\\u0300-\\u036f]{2})[\\u0300-\\u036f]+")
"""Accents heaped upon a letter until they cover the lines above and below; two are kept."""


def plain(text: object, most: int = LONGEST_TITLE) -> str:
    """One line of visible characters, cut where it gets too long."""
    words = " ".join(visible(str(text)[: 4 * most]).split())
    return words if len(words) <= most else words[: most - 1].rstrip() + CUT


def html(text: object, most: int = LONGEST_TITLE) -> str:
    """The text inside HTML, between tags or in a quoted attribute: no mark in it means anything."""
    return escape(plain(text, most), quote=True)


def address(url: object) -> str | None:
    """The address if a browser may be sent there: http or https, a host, no password, nothing invisible."""
    text = str(url or "").strip()
    if not text or len(text) > LONGEST_ADDRESS or text != visible(text) or any(map(str.isspace, text)):
        return None
    try:
        parts = urlsplit(text)
        wanted = parts.scheme in {"http", "https"} and parts.hostname and "@" not in parts.netloc
    except ValueError:
        return None
    return text if wanted and "\\" not in text else None


def html_address(url: object) -> str | None:
    """The same, ready for a quoted attribute."""
    good = address(url)
    return None if good is None else escape(good, quote=True)


def visible(text: str) -> str:
    """The text without invisible characters and heaps of accents."""
    kept = (
        sign if unicodedata.category(sign) not in _INVISIBLE else " " if sign.isspace() else ""
        for sign in text
    )
    return _MANY_MARKS.sub(r"\1", "".join(kept))
