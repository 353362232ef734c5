"""The neighbourhoods of Sofia, and the one canonicaliser of their names. Nothing is read on import."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from sale_sofia.listings.place_names import LONGEST, Name, place_data, place_key, spellings, split_name


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A place as the imot.bg family numbers it. `lat`, `lon` are its centre, never an address."""

    id: int
    name: str
    slug: str
    district: str | None
    """The administrative district; `None` where the place lies in several, or it is not known."""
    lat: float | None
    lon: float | None
    basis: str | None
    """How well the centre is known; `None` where there is no centre."""


@cache
def neighbourhoods() -> tuple[Neighbourhood, ...]:
    """Every neighbourhood, village and villa zone of Sofia that portals offer, in the order of the data."""
    return tuple(
        Neighbourhood(
            entry["id"], entry["name"], entry["slug"], entry["district"],
            entry.get("lat"), entry.get("lon"), entry.get("basis"),
        )
        for entry in place_data()["neighbourhoods"]
    )  # fmt: skip


@cache
def districts() -> tuple[str, ...]:
    """The names of the 24 administrative districts."""
    return tuple(place_data()["districts"])


@lru_cache(maxsize=4096)
def find_neighbourhood(text: str) -> Neighbourhood | None:
    """The one neighbourhood of Sofia this text names, or `None`.

    The whole text must be the name in some known writing: nothing is guessed from a part of it, from a
    similar name, or from a name that several places share. That the text is about Sofia, the caller says.
    """
    if len(text) > LONGEST:
        return None
    name = split_name(text)
    return _index().get(name) or _find_after_city(name.core)


def _find_after_city(core: str) -> Neighbourhood | None:
    head, _, rest = core.partition(" ")
    return _index().get(split_name(rest)) if head in _latin_city() else None


@cache
def _latin_city() -> frozenset[str]:
    return frozenset(place_key(name) for name in place_data()["city_aliases"] if name.isascii())


@cache
def _index() -> Mapping[Name, Neighbourhood]:
    """Each name that means one place. A bare name is a quarter's before it is a village's or a zone's."""
    own, bare = defaultdict(set), defaultdict(set)
    for place, name in _claims():
        own[name].add(place)
        bare[Name("", name.core)].add(place)
    claims = bare | own
    for name in _shared_names():
        claims.pop(name, None)
    return {name: places.pop() for name, places in claims.items() if len(places) == 1}


def _claims() -> Iterator[tuple[Neighbourhood, Name]]:
    for place, entry in zip(neighbourhoods(), place_data()["neighbourhoods"], strict=True):
        for written in (place.name, *entry.get("aliases", ())):
            for text in spellings(written):
                yield place, split_name(text)


def _shared_names() -> Iterator[Name]:
    for name in place_data()["ambiguous"]:
        yield from map(split_name, spellings(name))
