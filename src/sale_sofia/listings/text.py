"""Text as portals print it, made comparable: white space, look-alike letters, case, quotes and dashes."""

import re
import unicodedata
from html import escape
from typing import Final
from urllib.parse import urlsplit

from sale_sofia.listings.settings import LONGEST_ADDRESS, LONGEST_TITLE
from sale_sofia.settings.terminal import OBEYED

LOOKALIKES = str.maketrans("ABCEHKMOPTXYacekopxy", "АВСЕНКМОРТХУасекорху")
"""Latin letters that look like Cyrillic ones: no i, no lower-case b, h, m, t."""

_SIGNS = str.maketrans(
    dict.fromkeys("„“”‟«»‹›'‘’‚‛`´′″", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff")
)
_SIGN = re.compile(f"[{''.join(map(re.escape, map(chr, _SIGNS)))}]")
# A Latin letter beside a Cyrillic one. It begins with the Latin one, which most texts have few of: ten times
# faster than an alternative of both.
_SEAM = re.compile(r"[A-Za-z](?:(?=[Ѐ-ӿ])|(?<=[Ѐ-ӿ].))")
_WORD = re.compile(r"[A-Za-zЀ-ӿ]+")
_LATIN = re.compile(r"[A-Za-z]")
_OBEYED = re.compile(f"[{''.join(map(re.escape, map(chr, OBEYED)))}]")


def without_controls(text: str) -> str:
    """Remove control characters; a text without any is returned as it is.

    Those that separate words become a space, and all line ends a newline.
    """
    if text.isprintable() or _OBEYED.search(text) is None:  # the first is many times cheaper
        return text
    return _OBEYED.sub(_harmless, one_line_end(text))


def one_line_end(text: str) -> str:
    """Replace all line ends by a newline."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _harmless(sign: re.Match[str]) -> str:
    return " " if sign[0].isspace() else ""


def squeeze(text: str) -> str:
    """Trim the text, with each run of white space (no-break spaces and line ends too) as one space."""
    return " ".join(text.split())


def fold_lookalikes(text: str) -> str:
    """Put words that mix Cyrillic with Latin look-alikes into Cyrillic; others stay exactly as they are.

    "ТEЦ" with a Latin E becomes "ТЕЦ". A word without Cyrillic letters ("EUR", "BMW"), and one whose
    Latin letters are not all look-alikes ("USBта"), is never touched.
    """
    if text.isascii() or not _SEAM.search(text):
        return text
    return _WORD.sub(_fold_word, text)


def match_key(text: str) -> str:
    """Return the key of a text in a vocabulary: equal for texts a reader would call the same.

    Look-alikes, case, white space, the shape of quotes (all become `"`) and of dashes (all become `-`) make
    no difference; characters without width are dropped.
    """
    return squeeze(spaced_key(text))


def spaced_key(text: str) -> str:
    """As `match_key`, with the white space as it is, which is quicker: for finding words in long texts."""
    plain = unicodedata.normalize("NFC", text)
    if _SIGN.search(plain):  # a search costs a tenth of a translation
        plain = plain.translate(_SIGNS)
    return fold_lookalikes(plain).casefold()


def _fold_word(match: re.Match[str]) -> str:
    word = match[0]
    if not _SEAM.search(word):
        return word
    folded = word.translate(LOOKALIKES)
    return word if _LATIN.search(folded) else folded


# Nothing from a portal is trusted: how its texts and addresses may be shown on our pages.

CUT: Final = "…"
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Control and format characters, with those that change the direction of writing."""
_MANY_MARKS: Final = re.compile("([\\u0300-\\u036f]{2})[\\u0300-\\u036f]+")
"""Accents stacked on a letter until they cover other lines; two are kept."""


def plain(text: object, most: int = LONGEST_TITLE) -> str:
    """Return one line of visible characters, cut where it is too long."""
    words = " ".join(visible(str(text)[: 4 * most]).split())
    return words if len(words) <= most else words[: most - 1].rstrip() + CUT


def html(text: object, most: int = LONGEST_TITLE) -> str:
    """Escape the text for HTML, between tags or in a quoted attribute."""
    return escape(plain(text, most), quote=True)


def address(url: object) -> str | None:
    """Return an address that is safe to link to: http or https, a host, no login, nothing invisible."""
    text = str(url or "").strip()
    if not text or len(text) > LONGEST_ADDRESS or text != visible(text) or any(map(str.isspace, text)):
        return None
    try:
        parts = urlsplit(text)
        is_safe = parts.scheme in {"http", "https"} and parts.hostname and "@" not in parts.netloc
    except ValueError:
        return None
    return text if is_safe and "\\" not in text else None


def html_address(url: object) -> str | None:
    """As `address`, escaped for a quoted attribute."""
    safe = address(url)
    return None if safe is None else escape(safe, quote=True)


def visible(text: str) -> str:
    """Remove invisible characters and stacked accents."""
    signs = (
        sign if unicodedata.category(sign) not in _INVISIBLE else " " if sign.isspace() else ""
        for sign in text
    )
    return _MANY_MARKS.sub(r"\1", "".join(signs))
