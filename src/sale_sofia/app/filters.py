"""The conditions of a search as a page asks for them, in one table, and the chips of those that are set."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from sale_sofia.advice.search.query import Contradictions, SearchQuery
from sale_sofia.app.words import named, say
from sale_sofia.buyer.evaluations import Status
from sale_sofia.flats.flat import Code
from sale_sofia.flats.settings import MANY_ROOMS
from sale_sofia.geography.surroundings import ROAD_CLASSES
from sale_sofia.listings.dates import SOFIA as SOFIA_TIME
from sale_sofia.listings.model import (
    ActStatus,
    Condition,
    Construction,
    Furnishing,
    Heating,
    Orientation,
    PropertyType,
    SellerKind,
)
from sale_sofia.listings.places import SOFIA, districts, neighbourhoods
from sale_sofia.websites.site_file import available_sites

Kind = Literal["many", "one", "number", "switch", "words", "date", "text", "area"]


class Filter(NamedTuple):
    """One condition: its field of the query, how it is drawn, and what there is to choose from."""

    field: str
    kind: Kind
    choices: Callable[[], Sequence[Any]] = tuple
    words: str = ""
    """The vocabulary that names the choices."""


def _of(literal: object) -> Callable[[], Sequence[Any]]:
    return lambda: get_args(literal)


def _all(kind: Kind, *fields: str) -> list[Filter]:
    """Conditions that are drawn alike, and have nothing to choose from."""
    return [Filter(field, kind) for field in fields]


_SORTED: Final[Mapping[str, tuple[Filter, ...]]] = {
    "place": (
        Filter("neighbourhood", "many", lambda: sorted({one.name for one in neighbourhoods()})),
        Filter("not_neighbourhood", "many", lambda: sorted({one.name for one in neighbourhoods()})),
        Filter("district", "many", districts),
        Filter("polygon", "area"),
        *_all("number", "metro_minutes", "stop_minutes", "shop_minutes", "school_minutes", "school_rank"),
        Filter("road", "many", lambda: ROAD_CLASSES, "road"),
        Filter("metro_m", "number"),
        *_all("words", "line", "travel", "within"),
        Filter("near", "text"),
        Filter("near_m", "number"),
        Filter("city", "one", lambda: (SOFIA,)),
    ),
    "price": (
        *_all("number", "price_min", "price_max", "eur_sqm_min", "eur_sqm_max", "cut_days", "cut_percent"),
    ),
    "size": (
        Filter("rooms", "many", lambda: range(1, MANY_ROOMS + 1), "rooms"),
        *_all("number", "area_min", "area_max", "net_area_min", "net_area_max", "bathrooms_min"),
        Filter("balcony", "switch"),
        Filter("orientation", "many", _of(Orientation), "orientation"),
    ),
    "floor": (
        *_all("number", "floor_min", "floor_max"),
        *_all("switch", "not_ground", "not_last", "elevator", "parking"),
    ),
    "building": (
        Filter("no_panel", "switch"),
        Filter("construction", "many", _of(Construction), "construction"),
        *_all("number", "year_min", "year_max"),
        Filter("act", "one", _of(ActStatus), "act_status"),
        Filter("condition", "many", _of(Condition), "condition"),
        Filter("furnishing", "many", _of(Furnishing), "furnishing"),
        Filter("heating", "many", _of(Heating), "heating"),
    ),
    "offer": (
        Filter("deal", "one", lambda: ("sale", "rent"), "deal"),
        Filter("property_type", "many", _of(PropertyType), "property_type"),
        Filter("seller", "many", _of(SellerKind), "seller_kind"),
        Filter("portal", "many", available_sites),
        *_all("number", "days_min", "days_max"),
        Filter("new_since", "date"),
        Filter("status", "many", _of(Status), "status"),
        *_all("switch", "all_like", "waits_for_you"),
        *_all("words", "word", "not_word"),
        *_all("switch", "gone", "place_conflict"),
        Filter("contradictions", "one", _of(Contradictions), "contradictions"),
        Filter("flag", "many", lambda: tuple(Code), "flag"),
    ),
}
_ELSEWHERE: Final = frozenset({"passing", *(one.field for group in _SORTED.values() for one in group)})


def _unsorted() -> Iterator[Filter]:
    """Switches and ranges of a query that no subject names: a new one is asked for without a line here."""
    for name, field in SearchQuery.model_fields.items():
        if name not in _ELSEWHERE and field.annotation is bool:
            yield Filter(name, "switch")
        elif name not in _ELSEWHERE and name.endswith(("_min", "_max")):
            yield Filter(name, "number")


GROUPS: Final[Mapping[str, tuple[Filter, ...]]] = {
    **_SORTED,
    "building": (*_SORTED["building"], *_unsorted()),
}
"""Every condition of a query that is asked here, by subject."""
FILTERS: Final = tuple(one for group in GROUPS.values() for one in group)


ANY: Final = "any"
"""How an address says that nothing is asked where something is by default."""


class Choice(NamedTuple):
    """One of the values a filter offers."""

    value: str
    name: str
    chosen: bool


def choices(one: Filter, query: SearchQuery) -> list[Choice]:
    """What the filter offers, and what of it is asked."""
    asked = getattr(query, one.field)
    wanted = {str(value) for value in (asked if one.kind == "many" else (asked,))}
    return [Choice(str(value), name_of(one, value), str(value) in wanted) for value in one.choices()]


def name_of(one: Filter, value: object) -> str:
    """A value by its name."""
    return named(one.words, value) if one.words else str(value)


def written(one: Filter, query: SearchQuery) -> str:
    """What stands in the field of a number, some words or a day."""
    value = getattr(query, one.field)
    if value is None:
        return ""
    if one.kind == "words":
        return ", ".join(value)
    if one.kind == "date":
        return f"{value.astimezone(SOFIA_TIME):%d.%m.%Y}"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def active(filters: Sequence[Filter], query: SearchQuery) -> int:
    """How many of the filters ask what they do not ask by themselves."""
    return sum(getattr(query, one.field) != SearchQuery.model_fields[one.field].default for one in filters)


class Chip(NamedTuple):
    """One condition that is set, and its field."""

    field: str
    text: str


def chips(query: SearchQuery) -> list[Chip]:
    """Every condition that differs from what is asked by itself, in words."""
    changed = (one for one in FILTERS if active([one], query))
    return [Chip(one.field, _chip(one, query)) for one in changed]


def _chip(one: Filter, query: SearchQuery) -> str:
    label = say(f"filter.{one.field}")
    if one.kind == "switch":
        return label
    value = getattr(query, one.field)
    if value in (None, ()):
        return f"{label}: {say('filters.any')}"
    told = ", ".join(name_of(one, part) for part in value) if one.kind == "many" else _one(one, query, value)
    return f"{label}: {told}"


def _one(one: Filter, query: SearchQuery, value: object) -> str:
    if one.kind == "area":
        return say("filters.corners", n=sum(outline.count(";") + 1 for outline in query.polygon))
    return name_of(one, value) if one.kind == "one" else written(one, query)
