"""A search from beginning to end, and whether one flat fulfils it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, and_, case, false, func, or_, select, union_all

from sale_sofia.advice.search.conditions import (
    FACTS,
    Around,
    Named,
    checks_of,
    read_around,
    with_words,
)
from sale_sofia.advice.search.query import READ_ALL_SHARE, SearchQuery, WrongSearch
from sale_sofia.buyer.searches import read_search
from sale_sofia.descriptions.tables import description_disagreements, description_reads
from sale_sofia.flats.contradictions import TEXT_FACTS
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.settings import BUILT_BETWEEN, MANY_ROOMS
from sale_sofia.flats.store import with_current
from sale_sofia.flats.tables import corrections, outliers
from sale_sofia.history.market_events import SECONDS_PER_DAY
from sale_sofia.history.news import NEW_AT
from sale_sofia.history.tables import listings
from sale_sofia.settings.words import Said

# Which properties can fulfil a search at all, as far as the database sees by itself: never one too few. A
# fact of a flat is one that some advert prints; only where none does, a description may tell it. So a
# property stays in when any advert prints a fitting value, or no advert prints one, or what is printed may
# not be believed. The flats then decide.

Condition = ColumnElement[bool]
_RANGES: Final = {"area": "area_sqm", "net_area": "area_net_sqm", "floor": "floor", "year": "year_built"}

_TEXT_DISPUTES: Final = (
    "rooms", "area_min", "area_max", "net_area_min", "net_area_max", "eur_sqm_min", "eur_sqm_max",
)  # fmt: skip
"""Conditions on what a description may contradict by itself."""


def candidates(connection: Connection, query: SearchQuery, *, now: float) -> list[int]:
    """The properties that may fulfil a search; among them are all that do, and all of which it is unknown."""
    table, current = with_current(listings.c.id)
    if any(getattr(query, name) not in (None, ()) for name in _TEXT_DISPUTES):
        table = table.outerjoin(description_reads, description_reads.c.listing_id == listings.c.id)
    chosen = select(current).select_from(table).group_by(current)
    return list(connection.scalars(chosen.having(and_(*_conditions(query, now)))))


def _conditions(query: SearchQuery, now: float) -> Iterator[Condition]:
    yield func.count() > 0  # there is always one
    if not query.gone:
        yield _some(and_(listings.c.gone_at.is_(None), listings.c.closed_at.is_(None)))
    if query.portal:
        yield _some(listings.c.site.in_(query.portal))
    if query.seller:
        kind = listings.c.seller_kind
        yield _some(or_(kind.is_(None), kind.in_(query.seller), _is_noted()))
    yield from _moments(query, now)
    yield from _prices(query)
    for name, measured in _RANGES.items():
        column, low, high = listings.c[measured], getattr(query, f"{name}_min"), getattr(query, f"{name}_max")
        bounds = [column >= low] if low is not None else []
        bounds += [column <= high] if high is not None else []
        if bounds:
            yield _fact(column, and_(*bounds))
    for name in FACTS:
        column, wanted = listings.c[name], getattr(query, name)
        if wanted:
            yield _fact(column, column == wanted if isinstance(wanted, str) else column.in_(wanted))
    if query.rooms:
        rooms = case((listings.c.rooms > MANY_ROOMS, MANY_ROOMS), else_=listings.c.rooms)
        yield _fact(listings.c.rooms, rooms.in_(query.rooms))


def _moments(query: SearchQuery, now: float) -> Iterator[Condition]:
    if query.new_since is not None:
        yield func.min(NEW_AT) >= query.new_since.timestamp()
    if query.days_max is not None:
        # No advert began later than it was seen first; of what is gone the days end when it was last seen.
        until = func.max(listings.c.last_seen_at) if query.gone else now
        yield func.max(listings.c.first_seen_at) >= until - query.days_max * SECONDS_PER_DAY - 1


def _prices(query: SearchQuery) -> Iterator[Condition]:
    """The price is that of the cheapest advert still there, which may print none although others do."""
    price, area = listings.c.price_eur, listings.c.area_sqm
    doubted = or_(_some(_is_noted()), _is_disputed("area_sqm"))
    unknown = or_(func.count(area) == 0, func.count(price) < func.count(), doubted)
    if query.price_max is not None:
        # What VAT adds can only take a price beyond the most; of the least the flat has to say.
        yield _some(or_(price.is_(None), price <= query.price_max, _is_noted()))
    if query.eur_sqm_max is not None:
        yield or_(unknown, func.min(price) <= query.eur_sqm_max * func.max(area) + 1)
    if query.eur_sqm_min is not None:
        yield or_(unknown, func.max(price) >= query.eur_sqm_min * func.min(area) - 1)


def _fact(column: Column[Any], fits: Condition) -> Condition:
    return or_(_some(or_(fits, _is_noted())), func.count(column) == 0, _is_disputed(column.name))


def _is_noted() -> Condition:
    """Whether something is noted of an advert that may take away, or change, what it prints."""
    differs = description_disagreements
    noted = union_all(
        select(outliers.c.listing_id),
        select(corrections.c.property_id),
        select(differs.c.listing_id).where(differs.c.field.in_(TEXT_FACTS)),
    )
    return listings.c.id.in_(noted)


_ALL_BUILT: Final = (
    max(first for first, _ in BUILT_BETWEEN.values()),
    min(last for _, last in BUILT_BETWEEN.values()),
)
"""Years in which all kinds were built."""
_YEAR_SECONDS: Final = 31_556_952
"""Of a year, on average."""
_EPOCH: Final = 1970


def _is_disputed(fact: str) -> Condition:
    """Whether the adverts of a property may contradict each other, or themselves, on this fact."""
    least, most, year = func.min, func.max, listings.c.year_built
    outside = or_(least(year) < _ALL_BUILT[0], most(year) > _ALL_BUILT[1])
    out_of_time = and_(_some(listings.c.construction.in_(BUILT_BETWEEN)), outside)
    match fact:
        case "floor":
            return most(listings.c.floor) > least(listings.c.floors_total)
        case "area_sqm" | "area_net_sqm":
            area = least(listings.c.area_sqm)
            return or_(most(listings.c.area_net_sqm) > area, most(_told("area_built")) > area)
        case "rooms":
            return most(_told("bedrooms")) >= least(listings.c.rooms)
        case "construction":
            return out_of_time
        case "year_built":
            begins = (most(year) - _EPOCH) * _YEAR_SECONDS
            return or_(out_of_time, begins + SECONDS_PER_DAY > least(listings.c.last_seen_at))
        case _:
            return false()


def _told(field: str) -> ColumnElement[float]:
    """A number that the description says."""
    said: ColumnElement[float] = description_reads.c.attributes[(field, "value")].as_float()
    return said


def _some(fits: Condition) -> Condition:
    return func.max(case((fits, 1), else_=0)) == 1


@dataclass(frozen=True, slots=True)
class Judged:
    """A flat, and of which conditions it is not known whether it fulfils them."""

    flat: Flat
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """All that a search found, in its order."""

    passed: tuple[Judged, ...]
    """With `unknown="ok"` those of which something is not known are among them."""
    unknown: tuple[Judged, ...]
    """With `unknown="apart"`: no condition fails, but not all are known to hold."""
    around: Around


def search(connection: Connection, query: SearchQuery, *, now: float) -> Found:
    """Every flat that fulfils a query at this moment."""
    around = read_around(connection, query, now=now)
    ids = candidates(connection, query, now=now)
    if len(ids) < READ_ALL_SHARE * (connection.scalar(select(func.count()).select_from(listings)) or 0):
        flats = read_flats(connection, ids, photos=0)
    else:
        wanted = set(ids)
        flats = (flat for flat in read_flats(connection, photos=0) if flat.property_id in wanted)
    fitting, around = find_fitting(connection, flats, query, around)
    known = [one for one in fitting if not one.unknown or query.unknown == "ok"]
    apart = [one for one in fitting if one.unknown] if query.unknown == "apart" else []
    return Found(ordered(known, query, around), ordered(apart, query, around), around)


def find_fitting(
    connection: Connection, flats: Iterable[Flat], query: SearchQuery, around: Around
) -> tuple[list[Judged], Around]:
    """Whatever no condition rules out, in the order given; words are read only of what passes the rest."""
    checks = checks_of(query)
    quick = [named for named in checks if named[0] not in {"word", "not_word"}]
    fitting = _fitting(flats, quick, around)
    if query.word or query.not_word:
        around = with_words(connection, around, (one.flat for one in fitting))
        fitting = _fitting((one.flat for one in fitting), checks, around)
    return fitting, around


def judge(flat: Flat, query: SearchQuery, around: Around) -> Judged | None:
    """The flat with what is not known of it, or None where it does not fulfil the query."""
    fitting = _fitting([flat], checks_of(query), around)
    return None if not fitting or (fitting[0].unknown and query.unknown == "no") else fitting[0]


def _fitting(flats: Iterable[Flat], checks: Sequence[Named], around: Around) -> list[Judged]:
    found = []
    for flat in flats:
        unknown = []
        for name, check in checks:
            holds = check(flat, around)
            if holds is None:
                unknown.append(name)
            elif not holds:
                break
        else:
            found.append(Judged(flat, tuple(unknown)))
    return found


def ordered(found: Iterable[Judged], query: SearchQuery, around: Around) -> tuple[Judged, ...]:
    """In the order asked for; what is not known comes last, ties by id."""

    def key(one: Judged) -> tuple[bool, float, int]:
        value = _rank(one.flat, query.sort, around)
        return value is None, value or 0.0, one.flat.property_id

    return tuple(sorted(found, key=key))


def _rank(flat: Flat, sort: str, around: Around) -> float | None:
    """The lower, the earlier."""
    match sort:
        case "newest":
            return -flat.first_seen_at
        case "price":
            return flat.price_eur
        case "eur_sqm":
            return flat.price_per_sqm_eur
        case "score":
            scored = (around.scores or {}).get(flat.property_id)
            return None if scored is None else -scored.points
        case _:
            return flat.since.at


# Saved searches as queries: what is stored is checked again when it is used.


def saved_query(connection: Connection, name: str) -> SearchQuery:
    """The query of a saved search.

    Raises:
        UnknownSearch: there is none of this name.
        WrongSearch: what is stored is no query; the sentence names the search.
    """
    saved = read_search(connection, name)
    try:
        return SearchQuery.of(saved.query)
    except WrongSearch as error:
        raise WrongSearch(Said("wrong_search.saved", name=saved.name, why=Said.of(error))) from None
