"""The conditions of a search that the table of flats answers by itself: true, false, or null for unknown.

A condition that is not here (`conditions.py`) is asked of each flat that passes the others.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, and_, case, func, null, or_, select, true

from sale_sofia.advice.scoring.settings import ACTS
from sale_sofia.advice.search.conditions import Around
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.tables import scored_flats, scores
from sale_sofia.flats.projection import NOBODY
from sale_sofia.flats.settings import MANY_ROOMS
from sale_sofia.flats.store import OFFERED, with_current
from sale_sofia.flats.tables import flats
from sale_sofia.geography.surroundings import ROAD_CLASSES
from sale_sofia.history.market_events import SECONDS_PER_DAY
from sale_sofia.history.tables import listings

FACTS: Final = (
    "city", "deal", "property_type", "neighbourhood", "district", "construction", "condition", "furnishing",
)  # fmt: skip
_RANGES: Final = tuple(
    dict.fromkeys(
        name.rpartition("_")[0] for name in SearchQuery.model_fields if name.endswith(("_min", "_max"))
    )
)
"""Asked by a least, a most, or both; one that is named as its column needs no more words here."""
Condition = ColumnElement[bool]
Ask = Callable[[SearchQuery, Around], Condition]
_F: Final = flats.c
_ENDLESS: Final = 1e300
"""EUR, the most of a price "from"."""


def _among(name: str) -> Ask:
    def ask(query: SearchQuery, _: Around) -> Condition:
        wanted = getattr(query, name)
        return _F[name].in_([wanted] if isinstance(wanted, str) else wanted)

    return ask


def _is(name: str) -> Ask:
    return lambda _query, _around: _F[name]


def _between(name: str, value: ColumnElement[Any]) -> Ask:
    def ask(query: SearchQuery, _: Around) -> Condition:
        return _within(value, query, name)

    return ask


def _within(value: ColumnElement[Any], query: SearchQuery, name: str) -> Condition:
    low, high = getattr(query, f"{name}_min", None), getattr(query, f"{name}_max", None)
    bounds = [value >= low] if low is not None else []
    return and_(*bounds, *([value <= high] if high is not None else []))


def _days(query: SearchQuery, around: Around) -> Condition:
    days = (func.coalesce(_F.gone_at, around.now) - _F.since_at) / SECONDS_PER_DAY
    return _within(case((days < 0, 0.0), else_=days), query, "days")


def _price(query: SearchQuery, _: Around) -> Condition:
    """With VAT where it comes on top; a price "from" has no most."""
    least, most = _F.price_least, func.coalesce(_F.price_most, _ENDLESS)
    outside, inside = [], []
    if query.price_min is not None:
        outside.append(most < query.price_min)
        inside.append(least >= query.price_min)
    if query.price_max is not None:
        outside.append(least > query.price_max)
        inside.append(most <= query.price_max)
    return case((least.is_(None), null()), (or_(*outside), False), (and_(*inside), True), else_=null())


def _walk(least: Column[Any], most: Column[Any], asked: str) -> Ask:
    """Of a range only where all of it is within, or beyond, what is wanted."""

    def ask(query: SearchQuery, _: Around) -> Condition:
        wanted = getattr(query, asked)
        return case((most <= wanted, True), (least > wanted, False), else_=null())

    return ask


def _road(query: SearchQuery, _: Around) -> Condition:
    """All classes that it can be of are wanted, or none is."""
    wanted = {ROAD_CLASSES.index(one) for one in query.road}

    def is_none_of(classes: Iterable[int]) -> Condition:
        return and_(true(), *(or_(_F.road_least > one, _F.road_most < one) for one in classes))

    others = set(range(len(ROAD_CLASSES))) - wanted
    return case(
        (_F.road_least.is_(None), null()),
        (is_none_of(others), True),
        (is_none_of(wanted), False),
        else_=null(),
    )


def _line(query: SearchQuery, _: Around) -> Condition:
    """All of them; one that is near only a part of the neighbourhood may be."""
    sure, possible = (
        and_(*(_has_any(column, [line]) for line in query.line)) for column in (_F.lines, _F.some_lines)
    )
    return case((sure, True), (possible, null()), (_F.lines.is_(None), null()), else_=False)


def _has_any(column: Column[Any], values: Iterable[str]) -> Condition:
    return or_(*(column.contains(f"|{value}|", autoescape=True) for value in values))


def _has(name: str) -> Ask:
    column = _F[name]
    return lambda query, _: case((column == "|", null()), else_=_has_any(column, getattr(query, name)))


def _seller(query: SearchQuery, _: Around) -> Condition:
    return case(
        (_has_any(_F.sellers, query.seller), True), (_has_any(_F.sellers, [NOBODY]), null()), else_=False
    )


def _status(query: SearchQuery, around: Around) -> Condition:
    """Who is not spoken of is new."""
    if "new" in query.status:
        unwanted = [number for number, status in around.statuses.items() if status not in query.status]
        return _F.property_id.not_in(unwanted)
    return _F.property_id.in_(
        [number for number, status in around.statuses.items() if status in query.status]
    )


def _passing(query: SearchQuery, _: Around) -> Condition:
    """The deal breakers of the profile; a flat that was not scored yet is unknown."""
    return case(
        (scores.c.verdict == "pass", True),
        (scores.c.verdict == "fail", False),
        (scores.c.verdict.is_(None) & is_unwanted(query), False),
        else_=null(),
    )


def is_unwanted(query: SearchQuery) -> Condition:
    """Whether a flat without a score was looked at, and is not what the profile wants."""
    any_score = select(scores.c.property_id).where(scores.c.profile == query.profile).exists()
    return and_(scored_flats.c.offered, any_score)


def _new_since(query: SearchQuery, _: Around) -> Condition:
    since = query.new_since.timestamp() if query.new_since else 0.0
    return and_(_F.new_at.is_not(None), _F.new_at >= since)


def _cut(query: SearchQuery, around: Around) -> Condition:
    """An advert still there got cheaper by so much."""
    least = query.cut_percent or 0.0
    cut = [number for number, percent in (around.cuts or {}).items() if percent >= least and percent > 0]
    table, current = with_current(listings.c.id)
    return _F.property_id.in_(select(current).select_from(table).where(listings.c.id.in_(cut), OFFERED))


_ASKED: Final[Mapping[str, Ask]] = {
    "gone": lambda _query, _around: _F.offered,
    "place_conflict": lambda _query, _around: _F.flags.not_like("%|place_conflict|%"),
    "flag": lambda query, _: _has_any(_F.flags, query.flag),
    "contradictions": lambda query, _: _F.contradicted.is_(query.contradictions == "only"),
    "status": _status,
    "all_like": lambda _, around: _F.property_id.in_(sorted(around.liked)),
    "waits_for_you": lambda _, around: _F.property_id.in_(sorted(around.waiting)),
    "price": _price,
    **{name: _between(name, _F[name]) for name in _RANGES if name in _F},
    "area": _between("area", _F.area_sqm),
    "net_area": _between("net_area", _F.area_net_sqm),
    "year": _between("year", _F.year_built),
    "days": _days,
    **{name: _among(name) for name in FACTS},
    "heating": _has("heating"),
    "orientation": _has("orientation"),
    "not_neighbourhood": lambda query, _: _F.neighbourhood.not_in(query.not_neighbourhood),
    "no_panel": lambda _query, _around: _F.construction != "panel",
    "rooms": lambda query, _: case((_F.rooms > MANY_ROOMS, MANY_ROOMS), else_=_F.rooms).in_(query.rooms),
    "seller": _seller,
    "portal": lambda query, _: _has_any(_F.sites, query.portal),
    "not_ground": lambda _query, _around: _F.floor > 0,
    "not_last": lambda _query, _around: _F.floor < _F.floors_total,
    **{
        name: _is(name)
        for name, field in SearchQuery.model_fields.items()
        if field.annotation is bool and name in _F
    },
    "act": lambda query, _: _F.act.in_(ACTS[ACTS.index(query.act) :] if query.act else ACTS),
    "metro_m": _walk(_F.metro_metres_least, _F.metro_metres_most, "metro_m"),
    "metro_minutes": _walk(_F.metro_least, _F.metro_most, "metro_minutes"),
    "school_minutes": _walk(_F.school_least, _F.school_most, "school_minutes"),
    "school_rank": _walk(_F.rank_least, _F.rank_most, "school_rank"),
    "shop_minutes": _walk(_F.shop_least, _F.shop_most, "shop_minutes"),
    "stop_minutes": _walk(_F.stop_least, _F.stop_most, "stop_minutes"),
    "line": _line,
    "road": _road,
    "passing": _passing,
    "new_since": _new_since,
    "cut_days": _cut,
}
"""By their names; of a range that without its end, else that of the field."""


ALWAYS_KNOWN: Final = frozenset(
    {
        "gone", "place_conflict", "flag", "contradictions", "status", "all_like", "waits_for_you", "days",
        "portal", "new_since", "cut_days",
    }
)  # fmt: skip
"""Conditions that are never null."""


def is_unknown(name: str, condition: Condition) -> Condition:
    """Whether it is null; of a plain fact, whether that is, which is quicker to ask."""
    return _F[name].is_(None) if name in FACTS else condition.is_(None)


def indexed(query: SearchQuery, around: Around) -> dict[str, Condition]:
    """The conditions of a query that the table answers, in their order."""
    return {name: ask(query, around) for name, ask in _ASKED.items() if _is_asked(query, name)}


def _is_asked(query: SearchQuery, name: str) -> bool:
    if name in ("gone", "place_conflict"):
        return not getattr(query, name)
    if name in _RANGES:
        return any(getattr(query, f"{name}_{end}", None) is not None for end in ("min", "max"))
    value = getattr(query, name)
    return value is not None and value is not False and value != ()
