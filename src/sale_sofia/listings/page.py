"""A page as it was received; the only place where its bytes become text."""

import re
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import isqrt
from typing import Final

from sale_sofia.listings.settings import (
    AFTER_HTML_BYTES,
    DEEPEST_ELEMENT,
    DEPTH_SAMPLE_BYTES,
    FEW_TAGS,
    MOST_ATTRIBUTES,
    MOST_REOPENED,
    MOST_STRETCHES,
    SHALLOW_TAGS,
)

# What a page may be instead of the one requested.


class PageError(Exception):
    """A page that gives no data; each reason has a class."""

    @property
    def code(self) -> str:
        """The name in the JSON of `sale-sofia parse`: `UndecodablePage` is `undecodable_page`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()


class UnreadablePage(PageError):
    """The bytes cannot be trusted: retry later, use nothing."""


class EmptyPage(UnreadablePage):
    """Nothing was sent."""


class PageTooLarge(UnreadablePage):
    """More bytes than any page of a portal has."""


class HostilePage(UnreadablePage):
    """Parsing would take seconds, or more memory than a page may: a retry does not help."""


class TruncatedPage(UnreadablePage):
    """The end of the page is missing, so a value may be missing half."""


class UndecodablePage(UnreadablePage):
    """Some of the text was lost before it reached us."""


class NotAListing(PageError):
    """A valid page that is not the requested advert."""


class ProjectPage(NotAListing):
    """A new building with many flats: no price, no floor, another template."""


class RemovedListing(NotAListing):
    """The portal answers with a category instead of the advert."""


class WrongListing(NotAListing):
    """The page's own id is not the requested one."""


class ForeignPage(PageError):
    """A page of another website."""


class LayoutChanged(PageError):
    """The page should hold what was requested, but our selectors do not find it."""


# What a page would cost the parser, estimated from its bytes before it is parsed. The parser is worse than
# linear in what is counted here. Counting is not parsing: a page that evades it is stopped by the limits of
# the process that parses pages.

_STRETCH: Final = 3 * MOST_ATTRIBUTES
"""Bytes without a tag character that are looked at closely: so many different names are not shorter."""
_ATTRIBUTE: Final = (
    rb"[ \t\n\f\r/]*+[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"
    rb"(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:\"[^\"]*+\"|'[^']*+'|[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)?+)?+"
)
_TAG: Final = re.compile(rb"</?[a-zA-Z]")
_MANY_ATTRIBUTES: Final = re.compile(
    rb"</?[a-zA-Z][^ \t\n\f\r/>]*+(?:%b){%d}" % (_ATTRIBUTE, MOST_ATTRIBUTES + 1)
)
# Only tags with attributes: of equal ones the parser reopens three, of different ones all.
_FORMATTING: Final = re.compile(
    rb"<[bBiIsSuUeEtTcCfFnN](?:|[mM]|[tT]|[iI][gG]|[oO][dD][eE]|[oO][nN][tT]|[oO][bB][rR]"
    rb"|[mM][aA][lL][lL]|[tT][rR][iI][kK][eE]|[tT][rR][oO][nN][gG])[ \t\n\f\r/]"
)
_FORMATTING_ENDS: Final = re.compile(
    rb"<(/?)(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[ \t\n\f\r/>]"
)
# Names of one letter are formatting, or a comparison in a script: i<n.
_OPENED_OR_CLOSED: Final = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9-]{1,20})[ \t\n\f\r/>]")
_FEW_OPENED: Final = 2 * isqrt(MOST_REOPENED)
"""With so few tags, half formatting and half blocks, the limit cannot be exceeded."""
_NEVER_DEEP: Final = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"p li dt dd option optgroup tr td th tbody thead tfoot colgroup caption rp rt "
    b"path use circle rect line polygon polyline ellipse stop image animate".split()
)
"""Elements that hold none, that the next of their kind closes, or that are closed in drawings."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Limits beyond which a page is not parsed."""

    max_bytes: int
    max_tags: int
    max_options: int


def refuse_hostile(body: bytes, limits: PageLimits) -> None:
    """Raise `HostilePage` for markup on which the parser would spend seconds.

    Counted on the bytes: a tag is the same in every charset a portal uses.
    """
    tags = body.count(b"<")
    if tags > limits.max_tags:
        raise HostilePage(f"the page has {tags} tags; at most {limits.max_tags} are parsed")
    if tags > limits.max_options and (options := body.lower().count(b"<option")) > limits.max_options:
        raise HostilePage(f"the page has {options} <option>s; at most {limits.max_options} are parsed")
    if _has_many_attributes(body):
        raise HostilePage(f"a tag of the page has more than {MOST_ATTRIBUTES} attributes")
    if tags > _FEW_OPENED and _reopened(body, tags - body.count(b"</")) > MOST_REOPENED:
        raise HostilePage(f"the page leaves tags open that would be opened again {MOST_REOPENED} times")
    deep = tags > SHALLOW_TAGS or (tags > FEW_TAGS and _looks_deep(body))
    if deep and _depth(body) > DEEPEST_ELEMENT:
        raise HostilePage(f"the page has elements more than {DEEPEST_ELEMENT} deep in each other")


def _has_many_attributes(body: bytes) -> bool:
    """Whether a tag has too many: such a tag is long, and has `<` or `>` at most inside values.

    Only the longest stretches are tried, as each may have to be read to the page's end.
    """

    def longest(sign: bytes) -> list[tuple[int, int]]:
        return sorted(_stretches(body, sign), key=lambda stretch: stretch[0] - stretch[1])[:MOST_STRETCHES]

    if any(_MANY_ATTRIBUTES.match(body, start) for start, _ in longest(b"<")):
        return True
    tags = filter(None, (_TAG.search(body, start, end) for start, end in longest(b">")))
    return any(_MANY_ATTRIBUTES.match(body, tag.start()) for tag in tags)


def _stretches(body: bytes, sign: bytes) -> Iterator[tuple[int, int]]:
    """Yield long stretches without this character, found by steps of that length instead of one by one."""
    place = 0
    while (end := place + _STRETCH) < len(body):
        last = body.rfind(sign, place + 1, end + 1)
        if last < 0:
            last = body.find(sign, end)
            last = len(body) if last < 0 else last
            yield place, last
        place = last


def _looks_deep(body: bytes) -> bool:
    """Whether a sample of the page's first half opens far more than it closes; counting all costs more.

    A page that nests elsewhere is not noticed until it has `SHALLOW_TAGS`.
    """
    start = len(body) // 3
    end = min(start + DEPTH_SAMPLE_BYTES, len(body) // 2)
    return 4 * body.count(b"</", start, end) < body.count(b"<", start, end)


def _depth(body: bytes) -> int:
    """Return the deepest nesting by tags: an element left open contains what follows."""
    depth = deepest = 0
    for end, name in _OPENED_OR_CLOSED.findall(body):
        if name.lower() not in _NEVER_DEEP:
            depth = max(0, depth - 1) if end else depth + 1
            deepest = max(deepest, depth)
    return deepest


def _reopened(body: bytes, opened: int) -> int:
    """Return an upper bound of the elements made by unclosed formatting, reopened in each block.

    A block is any opening tag: half formatting and half blocks give the most. Counted exactly only where
    that bound is too high: it is cheap and nearly always enough.
    """
    if opened <= _FEW_OPENED:
        return (opened // 2) ** 2
    formatting = len(_FORMATTING.findall(body))
    if formatting * opened <= MOST_REOPENED:
        return formatting * opened
    still_open: Counter[bytes] = Counter()
    most_at_once = 0
    for end, name in _FORMATTING_ENDS.findall(body.lower()):
        still_open[name] = max(0, still_open[name] - 1) if end else still_open[name] + 1
        most_at_once = max(most_at_once, still_open.total())
    return most_at_once * opened


_DECLARED_CHARSET = re.compile(rb"charset\s*=[\s\"']*([\w-]+)")  # in small letters: found ten times faster
_CHARSETS = frozenset({"windows-1251", "cp1251", "iso-8859-5", "koi8-r", "koi8-u", "ibm866", "cp866"})
"""Cyrillic ones beside UTF-8, in which tags are ASCII; in others that Python knows they are not."""
_HEAD_BYTES = 2048  # HTML: the declaration stands in the first 1024 bytes; portals put the title first
_BEGINNING = 64  # bytes: a byte order mark and some white space
# Cyrillic of UTF-8 read as Latin is full of "Ð"; read as windows-1251 its vowels become pairs like "Рѕ".
# Neither occurs in a Bulgarian text, and looking for a rare character first costs next to nothing.
_READ_AS_LATIN = "Ð"
_LONE_LATIN_SIGNS = 2
_READ_AS_CP1251 = "Рѕ"
_UTF8 = getincrementaldecoder("utf-8")
_UTF8_VOWELS = tuple(vowel.encode() for vowel in "аоеи")
_MIXED = "the page mixes two encodings"
_CYRILLIC = re.compile("[а-я]")


Spans = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The bytes of one response and its address."""

    url: str
    body: bytes
    content_type: str | None = None

    @property
    def is_json(self) -> bool:
        """Whether the body can only be JSON."""
        return self.body[:_BEGINNING].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")

    def json_text(self, limits: PageLimits) -> str:
        """Return the text of a JSON body, or raise `UnreadablePage`; its parser notices truncation."""
        self._refuse_size(limits)
        return decode_json(self.body, self.content_type).strip()

    def text(self, limits: PageLimits, skipped: Spans = ()) -> str:
        """Return the text without what is between the marks of `skipped`, or raise `UnreadablePage`.

        Never returns a truncated page or a replaced character. Marks are ASCII, as tags are.
        """
        self._refuse_size(limits)
        body = self._without(skipped) if skipped else self.body
        text = decode(body, self.content_type)
        refuse_hostile(body, limits)
        if not is_whole(body):
            raise TruncatedPage("the page does not end: </html> is missing")
        return text

    def _without(self, skipped: Spans) -> bytes:
        """Cut each pair of marks, searched for after the one before; a missing mark cuts nothing."""
        pieces, place = [], 0
        for first, last in skipped:
            start = self.body.find(first, place)
            end = self.body.find(last, start) if start >= 0 else -1
            if end >= 0:
                pieces.append(self.body[place:start])
                place = end
        return b"".join((*pieces, self.body[place:]))

    def _refuse_size(self, limits: PageLimits) -> None:
        if len(self.body) > limits.max_bytes:
            raise PageTooLarge(f"the page has {len(self.body)} bytes; at most {limits.max_bytes} are read")
        if not self.body or self.body.isspace():
            raise EmptyPage("the page is empty")


def is_whole(body: bytes) -> bool:
    """Whether an HTML page closes near its end. One that breaks off on its way does not."""
    tail = body[-AFTER_HTML_BYTES:]
    return b"</html" in tail or b"</html" in tail.lower()


def decode(body: bytes, content_type: str | None = None) -> str:
    """Decode valid UTF-8 as such, else by a declared charset (header, then meta) that fits."""
    text = decode_json(body, content_type)
    if not _CYRILLIC.search(text):
        raise UndecodablePage("the page holds no Cyrillic letter: it is not a page of a Bulgarian portal")
    return text


def decode_json(body: bytes, content_type: str | None = None) -> str:
    """As `decode`, for text that may have its Cyrillic letters as escapes."""
    if b"\0" in body:
        raise UndecodablePage("the page holds a NUL byte: it is not text")
    text: str | None = None
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        with suppress(UnicodeDecodeError):
            _UTF8().decode(body)  # an incremental decoder accepts an unfinished end
            raise TruncatedPage("the page ends in the middle of a character") from None
    # Only UTF-8 can hold the replacement character, and Cyrillic that was once decoded as Latin.
    if text is None:
        text = _as_declared(body, content_type)
    elif "\ufffd" in text:
        raise UndecodablePage("the page holds U+FFFD: its text was lost before it was saved")
    elif _READ_AS_LATIN in text and text.count(_READ_AS_LATIN) > _LONE_LATIN_SIGNS:
        raise UndecodablePage(_MIXED)
    if _READ_AS_CP1251[1] in text and _READ_AS_CP1251 in text:
        raise UndecodablePage(_MIXED)
    return text


def _as_declared(body: bytes, content_type: str | None) -> str:
    """Header first. A page may declare two: suprimmo.bg says utf-8, then windows-1251, which it is."""
    declared = (content_type or "").encode() + b" " + body[:_HEAD_BYTES]
    charsets = [name.decode("ascii") for name in _DECLARED_CHARSET.findall(declared.lower())]
    if not charsets:
        raise UndecodablePage("the page is not UTF-8 and declares no charset")
    if any(vowel[1:] in body and vowel in body for vowel in _UTF8_VOWELS):
        raise UndecodablePage(_MIXED)
    for charset in filter(_CHARSETS.__contains__, charsets):
        with suppress(UnicodeError, LookupError):  # not every codec raises the narrower UnicodeDecodeError
            return body.decode(charset)
    raise UndecodablePage(f"the page is neither UTF-8 nor the {charsets[0]} it declares")
