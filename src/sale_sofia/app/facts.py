"""The facts of a flat in words: what is known, who says so and since when, and who says otherwise."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sale_sofia.app import formatting as shown
from sale_sofia.app import safe
from sale_sofia.app.words import named, say
from sale_sofia.insights.flats import Flat

Value = Any
_PLAIN: Final = ("city", "district", "neighbourhood", "street", "metro_station")
_NAMED: Final = (
    "deal", "property_type", "construction", "act_status", "furnishing", "condition", "parking_status",
)  # fmt: skip
_LISTED: Final = {
    "heating": "heating",
    "orientation": "orientation",
    "parking": "parking",
    "storage": "storage",
}
FACTS: Final = (
    "deal", "property_type", "rooms", "bedrooms", "bathrooms", "wc_separate", "area_sqm", "area_net_sqm",
    "yard_sqm", "floor", "floors_total", "elevator", "construction", "year_built", "under_construction",
    "act_status", "condition", "furnishing", "heating", "orientation", "has_balcony", "balconies", "storage",
    "parking", "parking_status", "city", "district", "neighbourhood", "street", "metro_station",
    "metro_distance_m", "metro_minutes",
)  # fmt: skip
"""Every fact that is shown, in the order of the page."""
_NUMBERS: Final[Mapping[str, Callable[[Value], str]]] = {
    "area_sqm": shown.area,
    "area_net_sqm": shown.area,
    "yard_sqm": shown.area,
    "rooms": lambda value: named("rooms", min(value, 5)),
    "floor": lambda value: say("floor.ground") if value == 0 else str(value),
    "metro_distance_m": shown.distance,
    "metro_minutes": lambda value: shown.distance(None, value),
}


def fact(name: str, value: Value) -> str:
    """A fact's value in words, safe to be escaped and shown; unknown is "?"."""
    if value is None or value in ((), []):
        return shown.UNKNOWN
    if name in _NUMBERS:
        return _NUMBERS[name](value)
    if isinstance(value, bool):
        return shown.yes_no(value)
    if name in _LISTED:
        return ", ".join(named(_LISTED[name], one) for one in value)
    return named(name, value) if name in _NAMED else safe.plain(value)


def facts_table(flat: Flat, fields: Mapping[str, Mapping[str, Any]]) -> str:
    """All facts as an HTML table; `fields` are those that portals print."""
    rows = "".join(_row(name, flat, fields.get(name)) for name in FACTS)
    head = "".join(f"<th scope='col'>{say(f'facts.{name}')}</th>" for name in ("fact", "value", "source"))
    return f"<table class='ss-table'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def unknown_facts(flat: Flat) -> int:
    """How many of the facts nobody tells."""
    return sum(fact(name, getattr(flat, name)) == shown.UNKNOWN for name in FACTS)


def _row(name: str, flat: Flat, told: Mapping[str, Any] | None) -> str:
    value = fact(name, getattr(flat, name))
    cells = f"<th scope='row'>{say(f'fact.{name}')}</th><td>{safe.html(value)}{_others(name, told)}</td>"
    return f"<tr>{cells}<td>{_source(value, told)}</td></tr>"


def _source(value: str, told: Mapping[str, Any] | None) -> str:
    if told is not None:
        return f"{safe.html(told['site'])}, {shown.day(told['seen_at'])}"
    return "" if value == shown.UNKNOWN else say("facts.description")


def _others(name: str, told: Mapping[str, Any] | None) -> str:
    """What other adverts say instead."""
    others: Sequence[Mapping[str, Any]] = told["others"] if told else ()
    if not others:
        return ""
    said = "; ".join(
        f"{fact(name, one['value'])} ({one['site']}, {shown.day(one['seen_at'])})" for one in others
    )
    return f"<div class='ss-unsure'>≠ {safe.html(say('facts.differs', others=said))}</div>"
