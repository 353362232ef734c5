"""The conditions of a search, each on one flat: pass, fail, or unknown."""

from collections.abc import Callable, Collection, Iterable, Iterator
from operator import attrgetter
from typing import Final

from sale_sofia.config.searching import MANY_ROOMS
from sale_sofia.insights.costs import price_band
from sale_sofia.insights.flats import Advert, Flat
from sale_sofia.insights.judging import State
from sale_sofia.insights.searching import SearchQuery
from sale_sofia.insights.searching_around import SECONDS_PER_DAY, Around
from sale_sofia.insights.searching_demands import demands
from sale_sofia.insights.searching_verdicts import Check, Named, said, within
from sale_sofia.insights.searching_words import words


def checks_of(query: SearchQuery) -> list[Named]:
    """The conditions that a query has, by name; words, which have to be read for it, last of all."""
    return [*_switches(query), *_ranges(query), *_choices(query), *demands(query), *words(query)]


def _switches(query: SearchQuery) -> Iterator[Named]:
    if not query.gone:
        yield "gone", lambda flat, _: said(flat.offered)
    if not query.place_conflict:
        yield "place_conflict", lambda flat, _: said("place_conflict" not in flat.flags)
    if query.status:
        wanted = frozenset(query.status)
        yield "status", lambda flat, around: said(around.statuses.get(flat.property_id, "new") in wanted)


_MEASURES: Final[dict[str, Callable[[Flat, Around], float | None]]] = {
    "eur_sqm": lambda flat, _: flat.price_per_sqm_eur,
    "area": lambda flat, _: flat.area_sqm,
    "net_area": lambda flat, _: flat.area_net_sqm,
    "bathrooms": lambda flat, _: flat.bathrooms,
    "floor": lambda flat, _: flat.floor,
    "year": lambda flat, _: flat.year_built,
    "days": lambda flat, around: (around.now - flat.first_seen_at) / SECONDS_PER_DAY,
}


def _ranges(query: SearchQuery) -> Iterator[Named]:
    if query.price_min is not None or query.price_max is not None:
        yield "price", _priced(query.price_min, query.price_max)
    for name, measure in _MEASURES.items():
        low, high = getattr(query, f"{name}_min", None), getattr(query, f"{name}_max", None)
        if low is not None or high is not None:
            yield name, _between(measure, low, high)


def _priced(low: float | None, high: float | None) -> Check:
    """With VAT where it comes on top; a price "from" has no most."""
    return lambda flat, _: within(price_band(flat), low, high)


def _between(measure: Callable[[Flat, Around], float | None], low: float | None, high: float | None) -> Check:
    def check(flat: Flat, around: Around) -> State:
        value = measure(flat, around)
        if value is None:
            return State.UNKNOWN
        return said((low is None or value >= low) and (high is None or value <= high))

    return check


_FACTS: Final[dict[str, Callable[[Flat], str | None]]] = {
    name: attrgetter(name)
    for name in (
        "city", "deal", "property_type", "neighbourhood", "district", "construction", "condition",
        "furnishing",
    )
}  # fmt: skip
_LISTS: Final = ("heating", "orientation")


def _choices(query: SearchQuery) -> Iterator[Named]:
    for name, fact in _FACTS.items():
        if wanted := _wanted(getattr(query, name)):
            yield name, _one_of(fact, wanted)
    for name in _LISTS:
        if wanted := _wanted(getattr(query, name)):
            yield name, _any_of(name, wanted)
    if query.not_neighbourhood:
        yield "not_neighbourhood", _none_of(_FACTS["neighbourhood"], frozenset(query.not_neighbourhood))
    if query.no_panel:
        yield "no_panel", _none_of(_FACTS["construction"], frozenset({"panel"}))
    if query.rooms:
        yield "rooms", _rooms(frozenset(query.rooms))
    if query.seller:
        yield "seller", _seller(frozenset(query.seller))
    if query.portal:
        yield "portal", _portal(frozenset(query.portal))


def _wanted(value: str | tuple[str, ...] | None) -> frozenset[str]:
    return frozenset({value} if isinstance(value, str) else value or ())


def _one_of(fact: Callable[[Flat], str | None], wanted: Collection[str]) -> Check:
    return lambda flat, _: said(None if (value := fact(flat)) is None else value in wanted)


def _none_of(fact: Callable[[Flat], str | None], unwanted: Collection[str]) -> Check:
    return lambda flat, _: said(None if (value := fact(flat)) is None else value not in unwanted)


def _any_of(name: str, wanted: frozenset[str]) -> Check:
    return lambda flat, _: said(not wanted.isdisjoint(values) if (values := getattr(flat, name)) else None)


def _rooms(wanted: frozenset[int]) -> Check:
    return lambda flat, _: said(None if flat.rooms is None else min(flat.rooms, MANY_ROOMS) in wanted)


def _shown(flat: Flat) -> Iterable[Advert]:
    """The adverts that count: those still there, or all of a flat that is gone."""
    return (advert for advert in flat.adverts if advert.offered or not flat.offered)


def _seller(wanted: Collection[str]) -> Check:
    def check(flat: Flat, _: Around) -> State:
        kinds = {advert.seller_kind for advert in _shown(flat)}
        return (
            State.FAIL
            if kinds.isdisjoint({*wanted, None})
            else said(None if kinds.isdisjoint(wanted) else True)
        )

    return check


def _portal(wanted: Collection[str]) -> Check:
    return lambda flat, _: said(any(advert.site in wanted for advert in _shown(flat)))
