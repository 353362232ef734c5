"""A page as it came from the wire, and the one place where its bytes become text."""

import re
from contextlib import suppress
from dataclasses import dataclass

from sale_sofia.listings.page_errors import (
    EmptyPage,
    PageTooLarge,
    TruncatedPage,
    UndecodablePage,
)
from sale_sofia.listings.weighing import PageLimits, refuse_hostile

_DECLARED_CHARSET = re.compile(rb"charset\s*=[\s\"']*([\w-]+)", re.IGNORECASE)
_CHARSETS = frozenset({"windows-1251", "cp1251", "iso-8859-5", "koi8-r", "koi8-u", "ibm866", "cp866"})
"""Beside UTF-8 those of Cyrillic pages, where a tag's signs are ASCII: Python knows others that hide them."""
_HEAD_BYTES = 2048  # HTML: the declaration stands in the first 1024 bytes; portals put the title first
_BEGINNING = 64  # bytes: a byte order mark and some white space
_TAIL_CHARACTERS = 4096  # analytics snippets may follow the closing tag
# Cyrillic of UTF-8 read as Latin is full of "Ð"; read as windows-1251 its vowels become pairs like "Рѕ".
# Neither stands in a Bulgarian text, and to look for a rare sign first costs next to nothing.
_READ_AS_LATIN = "Ð"
_LONE_LATIN_SIGNS = 2
_READ_AS_CP1251 = "Рѕ"
_UTF8_VOWELS = tuple(vowel.encode() for vowel in "аоеи")
_MIXED = "the page mixes two encodings"
_CYRILLIC = re.compile("[а-я]")


Spans = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The bytes of one answer and where they came from."""

    url: str
    body: bytes
    content_type: str | None = None

    @property
    def is_json(self) -> bool:
        """Whether the body can only be JSON."""
        return self.body[:_BEGINNING].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")

    def json_text(self, limits: PageLimits) -> str:
        """The text of a body that is JSON, or an `UnreadablePage`; whether it is whole, its parser sees."""
        self._refuse_size(limits)
        return decode_json(self.body, self.content_type).strip()

    def text(self, limits: PageLimits, skipped: Spans = ()) -> str:
        """The text without what stands between the marks of `skipped`, or an `UnreadablePage`.

        Never a page that was cut short, never a replaced character. Marks are ASCII, as tags are.
        """
        self._refuse_size(limits)
        body = _without(self.body, skipped)
        text = decode(body, self.content_type)
        refuse_hostile(body, limits)
        if "</html" not in text[-_TAIL_CHARACTERS:].lower():
            raise TruncatedPage("the page does not end: </html> is missing")
        return text

    def _refuse_size(self, limits: PageLimits) -> None:
        if len(self.body) > limits.max_bytes:
            raise PageTooLarge(f"the page has {len(self.body)} bytes; at most {limits.max_bytes} are read")
        if not self.body or self.body.isspace():
            raise EmptyPage("the page is empty")


def _without(body: bytes, spans: Spans) -> bytes:
    """The body without what stands between each pair of marks; a mark that is missing cuts nothing."""
    for first, last in spans:
        start = body.find(first)
        end = body.find(last, start) if start >= 0 else -1
        if end >= 0:
            body = body[:start] + body[end:]
    return body


def decode(body: bytes, content_type: str | None = None) -> str:
    """Bytes that are valid UTF-8 are UTF-8, otherwise a declared charset (header, then meta) must fit."""
    text = decode_json(body, content_type)
    if not _CYRILLIC.search(text):
        raise UndecodablePage("the page holds no Cyrillic letter: it is not a page of a Bulgarian portal")
    return text


def decode_json(body: bytes, content_type: str | None = None) -> str:
    """As `decode`, for text that may spell its Cyrillic letters as escapes."""
    if b"\0" in body:
        raise UndecodablePage("the page holds a NUL byte: it is not text")
    text = _as_utf8(body)
    if text is None:
        text = _as_declared(body, content_type)
    else:
        _refuse_replaced_letters(text)
    if _reads_as_cp1251(text):
        raise UndecodablePage(_MIXED)
    return text


def _as_utf8(body: bytes) -> str | None:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            raise TruncatedPage("the page ends in the middle of a character") from None
        return None


def _as_declared(body: bytes, content_type: str | None) -> str:
    charsets = _declared_charsets(body, content_type)
    if not charsets:
        raise UndecodablePage("the page is not UTF-8 and declares no charset")
    if any(vowel[1:] in body and vowel in body for vowel in _UTF8_VOWELS):
        raise UndecodablePage(_MIXED)
    for charset in filter(_CHARSETS.__contains__, charsets):
        with suppress(UnicodeError, LookupError):  # not every codec raises the narrower UnicodeDecodeError
            return body.decode(charset)
    raise UndecodablePage(f"the page is neither UTF-8 nor the {charsets[0]} it declares")


def _declared_charsets(body: bytes, content_type: str | None) -> list[str]:
    """Header first. A page may declare two: suprimmo.bg says utf-8, then windows-1251, which it is."""
    declared = (content_type or "").encode() + b" " + body[:_HEAD_BYTES]
    return [found.decode("ascii").lower() for found in _DECLARED_CHARSET.findall(declared)]


def _refuse_replaced_letters(text: str) -> None:
    """What only UTF-8 can hold: the sign for a lost letter, and Cyrillic that was once read as Latin."""
    if "\ufffd" in text:
        raise UndecodablePage("the page holds U+FFFD: its text was lost before it was saved")
    if _reads_as_latin(text):
        raise UndecodablePage(_MIXED)


def _reads_as_cp1251(text: str) -> bool:
    return _READ_AS_CP1251[1] in text and _READ_AS_CP1251 in text


def _reads_as_latin(text: str) -> bool:
    return _READ_AS_LATIN in text and text.count(_READ_AS_LATIN) > _LONE_LATIN_SIGNS
