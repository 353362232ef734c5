"""Text as portals print it, made comparable: white space, look-alike letters, case, quotes and dashes."""

import re
import unicodedata
from html import escape
from typing import Final
from urllib.parse import urlsplit

from sale_sofia.app.settings import LONGEST_ADDRESS, LONGEST_TITLE
from sale_sofia.settings.terminal import OBEYED

LOOKALIKES = str.maketrans("ABCEHKMOPTXYacekopxy", "АВСЕНКМОРТХУасекорху")
"""Latin letters that the eye cannot tell from Cyrillic ones: no i, no lower-case b, h, m, t."""

_SIGNS = str.maketrans(
    dict.fromkeys("„“”‟«»‹›'‘’‚‛`´′″", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff")
)
_SIGN = re.compile(f"[{''.join(map(re.escape, map(chr, _SIGNS)))}]")
_SEAM = re.compile(r"[A-Za-z][Ѐ-ӿ]|[Ѐ-ӿ][A-Za-z]")
_WORD = re.compile(r"[A-Za-zЀ-ӿ]+")
_LATIN = re.compile(r"[A-Za-z]")
_OBEYED = re.compile(f"[{''.join(map(re.escape, map(chr, OBEYED)))}]")


def without_controls(text: str) -> str:
    """The text without signs that a terminal would obey; the very same text where there is none.

    What parted words still does, and all ends of lines are alike.
    """
    if text.isprintable() or _OBEYED.search(text) is None:  # the first is many times cheaper
        return text
    return _OBEYED.sub(_harmless, one_line_end(text))


def one_line_end(text: str) -> str:
    """The text with one sign at each end of a line, whichever machine it was written on."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _harmless(sign: re.Match[str]) -> str:
    return " " if sign[0].isspace() else ""


def squeeze(text: str) -> str:
    """The text trimmed, each run of white space (no-break spaces and line ends too) as one space."""
    return " ".join(text.split())


def fold_lookalikes(text: str) -> str:
    """Words that mix Cyrillic with Latin twins, all in Cyrillic; every other word exactly as it was.

    "ТEЦ" with a Latin E becomes "ТЕЦ". A word without Cyrillic letters ("EUR", "BMW"), and one whose
    Latin letters are not all twins ("USBта"), is never touched.
    """
    if text.isascii() or not _SEAM.search(text):
        return text
    return _WORD.sub(_fold_word, text)


def match_key(text: str) -> str:
    """The key under which a vocabulary finds a text: equal for texts a reader would call the same.

    Look-alikes, case, white space, the shape of quotes (all become `"`) and of dashes (all become `-`) make
    no difference; characters without width are dropped.
    """
    plain = unicodedata.normalize("NFC", text)
    if _SIGN.search(plain):  # to look costs a tenth of what to translate does
        plain = plain.translate(_SIGNS)
    return squeeze(fold_lookalikes(plain).casefold())


def _fold_word(match: re.Match[str]) -> str:
    word = match[0]
    if not _SEAM.search(word):
        return word
    folded = word.translate(LOOKALIKES)
    return word if _LATIN.search(folded) else folded


# Nothing from a portal is trusted: what of its texts and addresses a page may show, and in what form.

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
