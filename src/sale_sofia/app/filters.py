"""The conditions of a search as fields of a form, in one table, and the chips of those that are set."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from sale_sofia.advice.search.query import Contradictions, SearchQuery
from sale_sofia.app.words import say, word_for
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


class Facet(NamedTuple):
    """A condition: its field of the query, the kind of its form field, and its choices."""

    field: str
    kind: Kind
    choices: Callable[[], Sequence[Any]] = tuple
    words: str = ""
    """The vocabulary that names the choices."""


def _values_of(literal: object) -> Callable[[], Sequence[Any]]:
    return lambda: get_args(literal)


def _alike(kind: Kind, *fields: str) -> list[Facet]:
    """Conditions of the same kind, without choices."""
    return [Facet(field, kind) for field in fields]


_BY_SUBJECT: Final[Mapping[str, tuple[Facet, ...]]] = {
    "place": (
        Facet("neighbourhood", "many", lambda: sorted({place.name for place in neighbourhoods()})),
        Facet("not_neighbourhood", "many", lambda: sorted({place.name for place in neighbourhoods()})),
        Facet("district", "many", districts),
        Facet("polygon", "area"),
        *_alike("number", "metro_minutes", "stop_minutes", "shop_minutes", "school_minutes", "school_rank"),
        Facet("road", "many", lambda: ROAD_CLASSES, "road"),
        Facet("metro_m", "number"),
        *_alike("words", "line", "travel", "within"),
        Facet("near", "text"),
        Facet("near_m", "number"),
        Facet("city", "one", lambda: (SOFIA,)),
    ),
    "price": (
        *_alike("number", "price_min", "price_max", "eur_sqm_min", "eur_sqm_max", "cut_days", "cut_percent"),
    ),
    "size": (
        Facet("rooms", "many", lambda: range(1, MANY_ROOMS + 1), "rooms"),
        *_alike("number", "area_min", "area_max", "net_area_min", "net_area_max", "bathrooms_min"),
        Facet("balcony", "switch"),
        Facet("orientation", "many", _values_of(Orientation), "orientation"),
    ),
    "floor": (
        *_alike("number", "floor_min", "floor_max"),
        *_alike("switch", "not_ground", "not_last", "elevator", "parking"),
    ),
    "building": (
        Facet("no_panel", "switch"),
        Facet("construction", "many", _values_of(Construction), "construction"),
        *_alike("number", "year_min", "year_max"),
        Facet("act", "one", _values_of(ActStatus), "act_status"),
        Facet("condition", "many", _values_of(Condition), "condition"),
        Facet("furnishing", "many", _values_of(Furnishing), "furnishing"),
        Facet("heating", "many", _values_of(Heating), "heating"),
    ),
    "offer": (
        Facet("deal", "one", lambda: ("sale", "rent"), "deal"),
        Facet("property_type", "many", _values_of(PropertyType), "property_type"),
        Facet("seller", "many", _values_of(SellerKind), "seller_kind"),
        Facet("portal", "many", available_sites),
        *_alike("number", "days_min", "days_max"),
        Facet("new_since", "date"),
        Facet("status", "many", _values_of(Status), "status"),
        *_alike("switch", "all_like", "waits_for_you"),
        *_alike("words", "word", "not_word"),
        *_alike("switch", "gone", "place_conflict"),
        Facet("contradictions", "one", _values_of(Contradictions), "contradictions"),
        Facet("flag", "many", lambda: tuple(Code), "flag"),
    ),
}
_NAMED_FIELDS: Final = frozenset(
    {"passing", *(facet.field for group in _BY_SUBJECT.values() for facet in group)}
)


def _other_filters() -> Iterator[Facet]:
    """Switches and ranges of a query that no subject lists: a new one appears without a line here."""
    for name, field in SearchQuery.model_fields.items():
        if name not in _NAMED_FIELDS and field.annotation is bool:
            yield Facet(name, "switch")
        elif name not in _NAMED_FIELDS and name.endswith(("_min", "_max")):
            yield Facet(name, "number")


GROUPS: Final[Mapping[str, tuple[Facet, ...]]] = {
    **_BY_SUBJECT,
    "building": (*_BY_SUBJECT["building"], *_other_filters()),
}
"""Every condition of a query, by subject."""
FILTERS: Final = tuple(facet for group in GROUPS.values() for facet in group)


ANY: Final = "any"
"""In an address: no condition, where there is one by default."""


class Choice(NamedTuple):
    """One of the values a filter offers."""

    value: str
    name: str
    chosen: bool


def choices(facet: Facet, query: SearchQuery) -> list[Choice]:
    """The choices of a condition, with those that are set."""
    current = getattr(query, facet.field)
    chosen = {str(value) for value in (current if facet.kind == "many" else (current,))}
    return [Choice(str(value), name_of(facet, value), str(value) in chosen) for value in facet.choices()]


def name_of(facet: Facet, value: object) -> str:
    """The name of a value."""
    return word_for(facet.words, value) if facet.words else str(value)


def field_text(facet: Facet, query: SearchQuery) -> str:
    """The text in the form field of a number, words or a day."""
    value = getattr(query, facet.field)
    if value is None:
        return ""
    if facet.kind == "words":
        return ", ".join(value)
    if facet.kind == "date":
        return f"{value.astimezone(SOFIA_TIME):%d.%m.%Y}"
    return f"{value:.15g}" if isinstance(value, int | float) else str(value)


def count_active(filters: Sequence[Facet], query: SearchQuery) -> int:
    """How many conditions differ from their defaults."""
    return sum(
        getattr(query, facet.field) != SearchQuery.model_fields[facet.field].default for facet in filters
    )


class Chip(NamedTuple):
    """A condition that is set, as text, and its field."""

    field: str
    text: str


def chips(query: SearchQuery) -> list[Chip]:
    """Every condition that differs from its default, as text."""
    changed = (facet for facet in FILTERS if count_active([facet], query))
    return [Chip(facet.field, _chip(facet, query)) for facet in changed]


def _chip(facet: Facet, query: SearchQuery) -> str:
    label = say(f"filter.{facet.field}")
    if facet.kind == "switch":
        return label
    value = getattr(query, facet.field)
    if value in (None, ()):
        return f"{label}: {say('filters.any')}"
    text = (
        ", ".join(name_of(facet, part) for part in value)
        if facet.kind == "many"
        else _value_text(facet, query, value)
    )
    return f"{label}: {text}"


def _value_text(facet: Facet, query: SearchQuery, value: object) -> str:
    if facet.kind == "area":
        return say("filters.corners", n=sum(outline.count(";") + 1 for outline in query.polygon))
    return name_of(facet, value) if facet.kind == "one" else field_text(facet, query)
