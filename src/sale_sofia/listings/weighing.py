"""What a page would cost the parser, told from its bytes before it is parsed.

The parser is worse than linear in what is counted here. Counting is not parsing: who hides the one inside the
other is not seen, and is ended by the limits of the process that reads pages.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from math import isqrt
from typing import Final

from sale_sofia.config.reading import (
    DEEPEST_ELEMENT,
    DEPTH_SAMPLE_BYTES,
    FEW_TAGS,
    MOST_ATTRIBUTES,
    MOST_REOPENED,
    MOST_STRETCHES,
    SHALLOW_TAGS,
)
from sale_sofia.listings.page_errors import HostilePage

_STRETCH: Final = 3 * MOST_ATTRIBUTES
"""Bytes without a sign of a tag that are looked at closely: so many names that differ are not shorter."""
_ATTRIBUTE: Final = (
    rb"[ \t\n\f\r/]*+[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"
    rb"(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:\"[^\"]*+\"|'[^']*+'|[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)?+)?+"
)
_TAG: Final = re.compile(rb"</?[a-zA-Z]")
_MANY_ATTRIBUTES: Final = re.compile(
    rb"</?[a-zA-Z][^ \t\n\f\r/>]*+(?:%b){%d}" % (_ATTRIBUTE, MOST_ATTRIBUTES + 1)
)
# Only what has attributes: of those that are alike the parser opens three again, of different ones all.
_FORMATTING: Final = re.compile(
    rb"<[bBiIsSuUeEtTcCfFnN](?:|[mM]|[tT]|[iI][gG]|[oO][dD][eE]|[oO][nN][tT]|[oO][bB][rR]"
    rb"|[mM][aA][lL][lL]|[tT][rR][iI][kK][eE]|[tT][rR][oO][nN][gG])[ \t\n\f\r/]"
)
_FORMATTING_ENDS: Final = re.compile(
    rb"<(/?)(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[ \t\n\f\r/>]"
)
# Names of one letter are formatting, or a script that compares: i<n.
_OPENED_OR_CLOSED: Final = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9-]{1,20})[ \t\n\f\r/>]")
_FEW_OPENED: Final = 2 * isqrt(MOST_REOPENED)
"""Tags of which, half as formatting and half as blocks, no more come than may be."""
_NEVER_DEEP: Final = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"p li dt dd option optgroup tr td th tbody thead tfoot colgroup caption rp rt "
    b"path use circle rect line polygon polyline ellipse stop image animate".split()
)
"""Elements that hold none, that the next of their kind ends, or that stand closed in drawings."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What a page may cost us before we refuse to parse it."""

    max_bytes: int
    max_tags: int
    max_options: int


def refuse_hostile(body: bytes, limits: PageLimits) -> None:
    """Raises `HostilePage` for markup on which the parser would spend seconds.

    Counted on the bytes: a tag's letters are the same in every charset a portal uses.
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
    """A tag with many attributes is long, and holds a `<` or a `>` at most inside of values."""
    return any(_MANY_ATTRIBUTES.match(body, start) for start in _long_tags(body))


def _long_tags(body: bytes) -> Iterator[int]:
    """Where a long tag may begin; of many places the longest: each may have to be read to the page's end."""
    for start, _ in nlargest(MOST_STRETCHES, _stretches(body, b"<"), _length):
        yield start
    for start, end in nlargest(MOST_STRETCHES, _stretches(body, b">"), _length):
        if first := _TAG.search(body, start, end):
            yield first.start()


def _length(stretch: tuple[int, int]) -> int:
    return stretch[1] - stretch[0]


def _stretches(body: bytes, sign: bytes) -> Iterator[tuple[int, int]]:
    """Where a long time no such sign stands; found by steps of that length, not by looking at each sign."""
    place = 0
    while (end := place + _STRETCH) < len(body):
        last = body.rfind(sign, place + 1, end + 1)
        if last < 0:
            last = body.find(sign, end)
            last = len(body) if last < 0 else last
            yield place, last
        place = last


def _looks_deep(body: bytes) -> bool:
    """Whether far more is opened than closed in the page's first half, by a sample: counting all costs more.

    Who closes much there and nests elsewhere is not seen until the page has `SHALLOW_TAGS`.
    """
    start = len(body) // 3
    end = min(start + DEPTH_SAMPLE_BYTES, len(body) // 2)
    return 4 * body.count(b"</", start, end) < body.count(b"<", start, end)


def _depth(body: bytes) -> int:
    """How deep elements are in each other at most, by its tags: what is left open holds what follows."""
    depth = deepest = 0
    for end, name in _OPENED_OR_CLOSED.findall(body):
        if name.lower() not in _NEVER_DEEP:
            depth = max(0, depth - 1) if end else depth + 1
            deepest = max(deepest, depth)
    return deepest


def _reopened(body: bytes, opened: int) -> int:
    """At most so many elements come of formatting that is left open: each may be opened again in each block.

    A block is a tag that opens: half of them as formatting and half as blocks make the most.

    Counted again only where that is too much: the first look is cheap and nearly always enough.
    """
    if opened <= _FEW_OPENED:
        return (opened // 2) ** 2
    formatting = len(_FORMATTING.findall(body))
    return formatting * opened if formatting * opened <= MOST_REOPENED else _left_open(body) * opened


def _left_open(body: bytes) -> int:
    """The most tags of formatting that are open at once."""
    still_open: Counter[bytes] = Counter()
    most = 0
    for end, name in _FORMATTING_ENDS.findall(body.lower()):
        still_open[name] = max(0, still_open[name] - 1) if end else still_open[name] + 1
        most = max(most, still_open.total())
    return most
