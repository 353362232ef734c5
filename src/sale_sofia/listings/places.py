"""Where an advert is. The only door to place names: every portal's text is read here and nowhere else."""

import re
from collections.abc import Sequence
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


_CUTS = re.compile(r"\s{0,9}/\s{0,9}|\s[-‐‑‒–—―]\s")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an advert says it is. `conflict`: the text contradicts itself, and nothing else is set."""

    city: str | None = None
    district: str | None = None
    neighbourhood: str | None = None
    conflict: bool = False
    unknown: bool = False
    """Some of the text names no place that we know, nor a street or the like."""


@lru_cache(maxsize=4096)
def parse_place(text: str) -> Place:
    """The place in a text such as "град София, Белите брези", "жк. Изток, София" or "гр. София / кв. Бояна".

    In Sofia the neighbourhood is one that `find_neighbourhood` knows, else `None`; in another town it is what
    is printed, for Лозенец near Burgas is not Sofia's. A province may be printed too, and is not a city; a
    street is passed over. Words that are none of this leave the rest as it is, and are told by `unknown`.
    A text without a town gives no place; one with two towns, a conflict.
    """
    parts = _parts(text)
    provinces = [found for part in parts if (found := province(part))]
    rest = [part for part in parts if not province(part)]
    if len(provinces) > 1 or not rest:
        return Place(unknown=bool(text.strip()) and len(provinces) != 1)
    if len(rest) == 1 and any(map(is_capital_province, provinces)):
        rest = [SOFIA, *rest]
    place = _read(rest)
    misplaced = place.city == SOFIA and not all(map(may_hold_sofia, provinces))
    return Place(conflict=True) if misplaced else place


def _parts(text: str) -> Sequence[str]:
    text = text.strip()
    if len(text) > LONGEST or len(text.splitlines()) != 1:
        return ()
    parts = [squeeze(piece) for part in text.split(",") for piece in _pieces(part)]
    return parts if all(parts) else ()


def _pieces(part: str) -> Sequence[str]:
    """A part cut at a slash or a dash that has a town on one side; those inside a name have none."""
    if town(part) or province(part):
        return (part,)
    for cut in _CUTS.finditer(part):
        sides = part[: cut.start()], part[cut.end() :]
        if any(map(town, sides)):
            return part.split("/") if "/" in cut[0] else sides
    return (part,)


def _read(parts: Sequence[str]) -> Place:
    towns = {part: town(part) for part in parts}
    named = {name for name in towns.values() if name}
    if SOFIA in named:
        return _in_sofia([part for part, name in towns.items() if name != SOFIA])
    if len(named) != 1:
        return Place(conflict=bool(named), unknown=not named)
    printed = [part for part, name in towns.items() if not name and not is_address(part)]
    only = printed[0] if len(printed) == 1 else None
    return Place(named.pop(), neighbourhood=only, unknown=len(printed) > 1)


def _in_sofia(others: Sequence[str]) -> Place:
    known = {part: find_neighbourhood(part) for part in others}
    strange = [part for part, found in known.items() if not found]
    if any(map(town, strange)):
        return Place(conflict=True)
    unknown = not all(map(is_address, strange))
    places = {found for found in known.values() if found}
    if len(places) != 1:
        return Place(SOFIA, unknown=unknown or bool(places))
    place = places.pop()
    return Place(SOFIA, place.district, place.name, unknown=unknown)
