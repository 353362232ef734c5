"""The words that matching needs: `matching_words.yaml`, read once."""

from dataclasses import dataclass
from functools import cache
from importlib import resources

from sale_sofia.config.yaml_text import read_yaml


@dataclass(frozen=True, slots=True)
class MatchingWords:
    """What adverts say that is no evidence, and how agencies and references are written."""

    kinds: tuple[frozenset[str], ...]
    """Property types that portals mix up; types of different groups are never one property."""
    stop_words: frozenset[str]
    shortest_photo_name: int
    firm_words: frozenset[str]
    """Words of an agency's name that other agencies have too."""
    sisters: tuple[frozenset[str], ...]
    """Agencies of one house: a reference of one is a reference of all."""
    reference_patterns: tuple[str, ...]
    own_portals: dict[str, str]
    """Portals of one agency, and where their addresses hold its reference."""


@cache
def matching_words() -> MatchingWords:
    """All of the file."""
    text = resources.files("sale_sofia.properties").joinpath("matching_words.yaml").read_text("utf-8")
    loaded = read_yaml(text)
    return MatchingWords(
        kinds=tuple(map(frozenset, loaded["kinds"])),
        stop_words=frozenset(loaded["stop_words"]),
        shortest_photo_name=loaded["shortest_photo_name"],
        firm_words=frozenset(loaded["firm_words"]),
        sisters=tuple(map(frozenset, loaded["sisters"])),
        reference_patterns=tuple(loaded["reference_patterns"]),
        own_portals=loaded["own_portals"],
    )
