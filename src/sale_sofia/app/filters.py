"""The filters of a search, drawn from one table; their values stand in the page's address."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, Literal, NamedTuple, get_args

import streamlit as st

from sale_sofia.app.words import named, say
from sale_sofia.config.searching import MANY_ROOMS
from sale_sofia.config.site_config import available_sites
from sale_sofia.data.evaluation_fields import Status
from sale_sofia.insights.searching import SearchQuery
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

Kind = Literal["many", "one", "number", "switch", "words", "date"]


class Filter(NamedTuple):
    """One condition: its field of the query, how it is drawn, and what there is to choose from."""

    field: str
    kind: Kind
    choices: Callable[[], Sequence[Any]] = tuple
    words: str = ""
    """The vocabulary that names the choices."""


def _of(literal: object) -> Callable[[], Sequence[Any]]:
    return lambda: get_args(literal)


GROUPS: Final[Mapping[str, tuple[Filter, ...]]] = {
    "place": (
        Filter("neighbourhood", "many", lambda: sorted({one.name for one in neighbourhoods()})),
        Filter("not_neighbourhood", "many", lambda: sorted({one.name for one in neighbourhoods()})),
        Filter("district", "many", districts),
        Filter("metro_minutes", "number"),
        Filter("metro_m", "number"),
        Filter("city", "one", lambda: (SOFIA,)),
    ),
    "price": (
        Filter("price_min", "number"),
        Filter("price_max", "number"),
        Filter("eur_sqm_min", "number"),
        Filter("eur_sqm_max", "number"),
        Filter("cut_days", "number"),
        Filter("cut_percent", "number"),
    ),
    "size": (
        Filter("rooms", "many", lambda: range(1, MANY_ROOMS + 1), "rooms"),
        Filter("area_min", "number"),
        Filter("area_max", "number"),
        Filter("net_area_min", "number"),
        Filter("net_area_max", "number"),
        Filter("bathrooms_min", "number"),
        Filter("balcony", "switch"),
        Filter("orientation", "many", _of(Orientation), "orientation"),
    ),
    "floor": (
        Filter("floor_min", "number"),
        Filter("floor_max", "number"),
        Filter("not_ground", "switch"),
        Filter("not_last", "switch"),
        Filter("elevator", "switch"),
        Filter("parking", "switch"),
    ),
    "building": (
        Filter("no_panel", "switch"),
        Filter("construction", "many", _of(Construction), "construction"),
        Filter("year_min", "number"),
        Filter("year_max", "number"),
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
        Filter("days_min", "number"),
        Filter("days_max", "number"),
        Filter("new_since", "date"),
        Filter("status", "many", _of(Status), "status"),
        Filter("word", "words"),
        Filter("not_word", "words"),
        Filter("gone", "switch"),
        Filter("place_conflict", "switch"),
    ),
}
"""Every condition of a query that is asked here, by subject."""
FILTERS: Final = tuple(one for group in GROUPS.values() for one in group)


def draw() -> None:
    """Draw every filter at its place at the side."""
    for group, filters in GROUPS.items():
        active = sum(_is_active(one) for one in filters)
        mark = f" ({active})" if active else ""
        with st.expander(say(f"filters.{group}") + mark, expanded=group in {"place", "price"}):
            for one in filters:
                _draw(one)


def load(query: SearchQuery) -> None:
    """Set every filter as the query says."""
    for one in FILTERS:
        st.session_state[_key(one.field)] = _to_widget(one, getattr(query, one.field))


def read() -> dict[str, Any]:
    """What the filters say, as conditions of a query."""
    return {one.field: _from_widget(one, st.session_state[_key(one.field)]) for one in FILTERS}


def _draw(one: Filter) -> None:
    label, key = say(f"filter.{one.field}"), _key(one.field)

    def name(value: object) -> str:
        return named(one.words, value) if one.words else str(value)

    match one.kind:
        case "many":
            placeholder = say("filters.any")
            st.multiselect(label, one.choices(), format_func=name, key=key, placeholder=placeholder)
        case "one":
            st.selectbox(
                label, one.choices(), format_func=name, key=key, index=None, placeholder=say("filters.any")
            )
        case "number":
            st.number_input(label, step=1, key=key, value=None, placeholder=say("filters.any"))
        case "switch":
            st.checkbox(label, key=key)
        case "words":
            st.text_input(label, key=key, help=say("filters.words_help"))
        case "date":
            st.date_input(label, key=key, value=None, format="DD.MM.YYYY")


def _key(field: str) -> str:
    return f"q.{field}"


def _is_active(one: Filter) -> bool:
    """Whether the filter asks anything that it does not ask by itself."""
    key = _key(one.field)
    default = _to_widget(one, SearchQuery.model_fields[one.field].default)
    return key in st.session_state and st.session_state[key] != default


def _to_widget(one: Filter, value: Any) -> object:  # noqa: ANN401 - a condition of any kind
    match one.kind:
        case "many":
            return list(value)
        case "number":
            return None if value is None else round(value)
        case "words":
            return ", ".join(value)
        case "date":
            return None if value is None else value.astimezone(SOFIA_TIME).date()
        case _:
            return value


def _from_widget(one: Filter, value: Any) -> object:  # noqa: ANN401 - a value of any widget
    match one.kind:
        case "many":
            return tuple(value)
        case "words":
            return tuple(word for part in str(value).split(",") if (word := part.strip()))
        case "date":
            return _midnight(value) if isinstance(value, date) else None
        case _:
            return value


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=SOFIA_TIME)
