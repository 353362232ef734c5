"""The portals' words and what they mean, read from `vocabulary.yaml`."""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from sale_sofia.listings.settings import LABEL_MOST_CHARACTERS, REMEMBERED_LABELS
from sale_sofia.listings.text import match_key
from sale_sofia.settings.files import read_shipped


@cache
def vocabulary() -> Mapping[str, Any]:
    """The whole vocabulary, loaded once."""
    loaded: Mapping[str, Any] = read_shipped("sale_sofia.listings", "vocabulary.yaml")
    return loaded


@cache
def meanings(section: str) -> Mapping[str, Any]:
    """Word → meaning of one section, each word in the form `match_key` gives."""
    return {match_key(word): what for word, what in vocabulary()[section].items()}


def meaning(section: str, text: str) -> Any:  # noqa: ANN401 - each section has values of its own kind
    """What the whole text means in this section, or None: a part of a text never counts."""
    key = _known_key(text) if len(text) <= LABEL_MOST_CHARACTERS else match_key(text)
    return meanings(section).get(key)


_known_key = lru_cache(REMEMBERED_LABELS)(match_key)
"""The same words stand on every page of a portal."""
