"""Where an advert is. The only door to place names: every portal's text is read here and nowhere else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sale_sofia.listings.neighbourhoods import (
    Neighbourhood,
    districts,
    find_neighbourhood,
    neighbourhoods,
)
from sale_sofia.listings.place_names import LONGEST
from sale_sofia.listings.text import squeeze
from sale_sofia.listings.towns import SOFIA, is_address, is_capital_province, may_hold_sofia, province, town

__all__ = [
    "SOFIA",
    "Neighbourhood",
    "Place",
    "districts",
    "find_neighbourhood",
    "neighbourhoods",
    "parse_place",
]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an advert says it is. `conflict`: the text contradicts itself, and nothing else is set."""

    city: str | None = None
    district: str | None = None
    neighbourhood: str | None = None
    conflict: bool = False


@lru_cache(maxsize=4096)
def parse_place(text: str) -> Place:
    """The place in a text such as "град София, Белите брези", "жк. Изток, София" or "гр. Русе, Дружба 1".

    In Sofia the neighbourhood is one that `find_neighbourhood` knows, else `None`; in another town it is what
    is printed, for Лозенец near Burgas is not Sofia's. A province may be printed too, and is not a city.
    A text of any other shape, or without a town, gives an empty place; one with two towns, a conflict.
    """
    parts = _parts(text)
    provinces = [found for part in parts if (found := province(part))]
    rest = [part for part in parts if not province(part)]
    if len(provinces) > 1 or len(rest) not in {1, 2}:
        return Place()
    if len(rest) == 1 and any(map(is_capital_province, provinces)):
        rest = [SOFIA, *rest]
    place = _read(rest)
    misplaced = place.city == SOFIA and not all(map(may_hold_sofia, provinces))
    return Place(conflict=True) if misplaced else place


def _parts(text: str) -> Sequence[str]:
    text = text.strip()
    if len(text) > LONGEST or len(text.splitlines()) != 1:
        return ()
    parts = [squeeze(part) for part in text.split(",")]
    return parts if all(parts) else ()


def _read(parts: Sequence[str]) -> Place:
    towns = {part: town(part) for part in parts}
    named = {name for name in towns.values() if name}
    others = [part for part, name in towns.items() if name != SOFIA]
    if SOFIA in named:
        return _in_sofia(others)
    if len(named) != 1:
        return Place(conflict=bool(named))
    return Place(named.pop(), neighbourhood=_printed(part for part in others if not towns[part]))


def _in_sofia(others: Sequence[str]) -> Place:
    found = find_neighbourhood(others[0]) if others else None
    if found:
        return Place(SOFIA, found.district, found.name)
    return Place(conflict=True) if others and town(others[0]) else Place(SOFIA)


def _printed(parts: Iterable[str]) -> str | None:
    return next((part for part in parts if not is_address(part)), None)
