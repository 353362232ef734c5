"""The portals' words and what they mean, read from `vocabulary.yaml`."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from sale_sofia.listings.text import match_key

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def vocabulary() -> Mapping[str, Any]:
    """The whole vocabulary, loaded once."""
    text = files("sale_sofia.listings").joinpath("vocabulary.yaml").read_text("utf-8")
    loaded: Mapping[str, Any] = yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader
    return loaded


@cache
def meanings(section: str) -> Mapping[str, Any]:
    """Word → meaning of one section, each word in the form `match_key` gives."""
    return {match_key(word): what for word, what in vocabulary()[section].items()}


def meaning(section: str, text: str) -> Any:  # noqa: ANN401 - each section has values of its own kind
    """What the whole text means in this section, or None: a part of a text never counts."""
    return meanings(section).get(match_key(text))
