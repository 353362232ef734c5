"""Adverts that were filed under one town and tell of another: their own words give them away."""

import re
from functools import cache, lru_cache

from sale_sofia.config.reading import REMEMBERED_TOWNS
from sale_sofia.listings.place_names import any_of, place_data
from sale_sofia.listings.text import match_key
from sale_sofia.listings.towns import SOFIA

_BEGINNING = 300
"""Characters of a description in which a seller says where the thing is."""
_IN = r"(?:^|, |(?<!\w)(?:в|във|гр\.?|град|к\.?к\.?|курорт|с\.|село|обл\.|област|край|in) ?)"
_STREET_OF = r"(?<!ул\. )(?<!бул\. )(?<!улица )(?<!булевард )(?<!на )(?<!пл\. )(?<!площад )"
_WORD = re.compile(r"\w+")


def told_elsewhere(city: str, title: str | None, description: str | None) -> bool:
    """Whether the seller's words place the advert in another town or country than the portal does.

    A title is believed when it names one; a description when it begins so and never names the portal's town.
    """
    if _names_another(title or "", city):
        return match_key(city) not in match_key(title or "")
    if not _names_another((description or "")[:_BEGINNING], city):
        return False
    return match_key(city) not in match_key(f"{title} {description}")


def _names_another(text: str, city: str) -> bool:
    if _first_words(city).isdisjoint(_WORD.findall(text.casefold())):  # nearly every advert, and cheap to see
        return False
    return bool(_pattern(city).search(match_key(text)))


def _towns(city: str) -> tuple[str, ...]:
    """Every town and resort but this one."""
    data = place_data()
    names = map(match_key, (SOFIA, *data["towns"], *data["resorts"]))
    return tuple(name for name in names if name != match_key(city))


@cache
def _countries() -> tuple[str, ...]:
    return tuple(map(match_key, place_data()["countries"]))


@lru_cache(REMEMBERED_TOWNS)
def _first_words(city: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name)[0] for name in (*_towns(city), *_countries()))


@lru_cache(REMEMBERED_TOWNS)
def _pattern(city: str) -> re.Pattern[str]:
    inside, abroad = any_of(_towns(city)), any_of(_countries())
    return re.compile(rf"{_IN}(?:{inside})(?!\w)|{_STREET_OF}(?<!\w)(?:{abroad})(?!\w)")
