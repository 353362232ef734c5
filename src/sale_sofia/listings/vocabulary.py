"""The portals' words and their meanings, from `vocabulary.yaml`."""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from sale_sofia.listings.settings import LABEL_MOST_CHARACTERS, REMEMBERED_LABELS
from sale_sofia.listings.text import match_key
from sale_sofia.settings.files import read_shipped


@cache
def vocabulary() -> Mapping[str, Any]:
    """Load the whole vocabulary, once."""
    loaded: Mapping[str, Any] = read_shipped("sale_sofia.listings", "vocabulary.yaml")
    return loaded


@cache
def meanings(section: str) -> Mapping[str, Any]:
    """Return word → meaning of one section, each word as `match_key` makes it."""
    return {match_key(word): value for word, value in vocabulary()[section].items()}


def meaning(section: str, text: str) -> Any:  # noqa: ANN401 - each section has values of its own kind
    """Return the meaning of the whole text in this section, or None: a part of it never counts."""
    key = _cached_key(text) if len(text) <= LABEL_MOST_CHARACTERS else match_key(text)
    return meanings(section).get(key)


_cached_key = lru_cache(REMEMBERED_LABELS)(match_key)
"""Cached, as the same words are on every page of a portal."""
