"""Which town or province a part of an address names, in all of Bulgaria."""

import re
from collections.abc import Mapping
from functools import cache

from sale_sofia.listings.place_names import SETTLEMENTS, any_of, place_data, place_key, split_name
from sale_sofia.listings.text import fold_lookalikes, squeeze

SOFIA = "София"

_TOWN_NAME = r"(?P<name>[^\W\d_]+(?:[ -][^\W\d_]+){0,2})"


def town(text: str) -> str | None:
    """The town or village this text names, without its "гр." or "с."; Sofia in any writing is `SOFIA`.

    `None` for a name that neither says that it is a settlement nor is one of the large towns.
    """
    return _large_town(text) or _named_town(text)


def province(text: str) -> str | None:
    """The key of the province this text names ("област София" gives "софия"); `None` if it names none."""
    found = _province_pattern().fullmatch(place_key(text))
    return found and (found["after"] or found["before"])


def is_capital_province(key: str) -> bool:
    """Whether this is the province that is nothing but Sofia's own municipality."""
    return key in _keys("capital_provinces")


def may_hold_sofia(key: str) -> bool:
    """Whether portals print Sofia inside this province."""
    return is_capital_province(key) or key in _keys("own_provinces")


def is_address(text: str) -> bool:
    """Whether a part of an address is a street, a block, a municipality: anything but a neighbourhood."""
    return bool(_address_pattern().match(place_key(text)))


def _large_town(text: str) -> str | None:
    name = split_name(text)
    return _large_towns().get(name.core if name.kind == "town" else place_key(text))


def _named_town(text: str) -> str | None:
    found = _town_pattern().fullmatch(fold_lookalikes(squeeze(text)))
    if not found or _begins_with_large_town(place_key(found["name"])):
        return None
    return found["name"]


def _begins_with_large_town(key: str) -> bool:
    return any(f"{key} ".startswith(f"{known} ") for known in _large_towns())


@cache
def _large_towns() -> Mapping[str, str]:
    data = place_data()
    sofia = {place_key(alias): SOFIA for alias in (SOFIA, *data["city_aliases"])}
    return sofia | {place_key(name): name for name in data["towns"]}


@cache
def _keys(section: str) -> frozenset[str]:
    return frozenset(map(place_key, place_data()[section]))


@cache
def _town_pattern() -> re.Pattern[str]:
    """An abbreviation needs its dot: "с. Лозен" is a village, "с гараж" is not."""
    words = [word for kind in sorted(SETTLEMENTS) for word in place_data()["kinds"][kind]["before"]]
    heads = (re.escape(word) + (r"\s*" if word.endswith(".") else r"\s+") for word in words)
    return re.compile(rf"(?:{'|'.join(heads)}){_TOWN_NAME}", re.IGNORECASE)


@cache
def _province_pattern() -> re.Pattern[str]:
    words = any_of(_keys("province_words"))
    return re.compile(rf"(?:{words}) (?P<after>.+)|(?P<before>.+) (?:{words})")


@cache
def _address_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?:{any_of(_keys('address_words'))})(?: |$)")
