"""Text as portals print it, made comparable: white space, look-alike letters, case, quotes and dashes."""

import re
import unicodedata

from sale_sofia.config.terminal import OBEYED

LOOKALIKES = str.maketrans("ABCEHKMOPTXYacekopxy", "АВСЕНКМОРТХУасекорху")
"""Latin letters that the eye cannot tell from Cyrillic ones: no i, no lower-case b, h, m, t."""

_SIGNS = str.maketrans(
    dict.fromkeys("„“”‟«»‹›'‘’‚‛`´′″", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff")
)
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
    plain = unicodedata.normalize("NFC", text).translate(_SIGNS)
    return squeeze(fold_lookalikes(plain).casefold())


def _fold_word(match: re.Match[str]) -> str:
    word = match[0]
    if not _SEAM.search(word):
        return word
    folded = word.translate(LOOKALIKES)
    return word if _LATIN.search(folded) else folded
