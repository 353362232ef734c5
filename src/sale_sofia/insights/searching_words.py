"""Words of adverts: whole words, in any writing of capitals, dashes and look-alike letters."""

import re
from collections.abc import Collection, Iterator
from functools import partial

from sale_sofia.insights.flats import Flat
from sale_sofia.insights.judging import State
from sale_sofia.insights.searching import SearchQuery
from sale_sofia.insights.searching_around import Around
from sale_sofia.insights.searching_verdicts import Named, said
from sale_sofia.listings.text import match_key

_ENDING = "*"


def words(query: SearchQuery) -> Iterator[Named]:
    """The conditions on words that a query has, by name."""
    if query.word:
        yield "word", partial(_has_all, patterns=[_pattern(word) for word in query.word])
    if query.not_word:
        yield "not_word", partial(_has_none, patterns=[_pattern(word) for word in query.not_word])


def _pattern(word: str) -> re.Pattern[str]:
    """The word as a whole; with a star at its end, whatever ending it has. "юг" is not in "друг"."""
    key = match_key(word.removesuffix(_ENDING))
    end = r"\w*" if word.endswith(_ENDING) else r"(?!\w)"
    return re.compile(rf"(?<!\w){re.escape(key)}{end}")


def _has_all(flat: Flat, around: Around, patterns: Collection[re.Pattern[str]]) -> State:
    text = _text(flat, around)
    return said(None if text is None else all(pattern.search(text) for pattern in patterns))


def _has_none(flat: Flat, around: Around, patterns: Collection[re.Pattern[str]]) -> State:
    text = _text(flat, around)
    return said(None if text is None else not any(pattern.search(text) for pattern in patterns))


def _text(flat: Flat, around: Around) -> str | None:
    """The words of all its adverts, one after the other; None while they are not read."""
    if around.texts is None:
        return None
    texts = around.texts
    return "\n".join(texts.get(advert.listing_id, "") for advert in flat.adverts)
