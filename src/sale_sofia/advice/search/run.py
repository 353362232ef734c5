"""A search from beginning to end, and whether one flat fulfils it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.search.conditions import (
    SECONDS_PER_DAY,
    Around,
    Named,
    checks_of,
    read_around,
    with_words,
)
from sale_sofia.advice.search.query import MANY_ROOMS, READ_ALL_SHARE, SearchQuery, WrongSearch
from sale_sofia.buyer.evaluations import with_current
from sale_sofia.buyer.searches import read_search
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.history.news import NEW_AT
from sale_sofia.history.tables import listings

# Which properties can fulfil a search at all, as far as the database sees by itself: never one too few. A
# fact of a flat is one that some advert prints; only where none does, a description may tell it. So a
# property stays in when any advert prints a fitting value, or no advert prints one. The flats then decide.

Condition = ColumnElement[bool]
_RANGES: Final = {
    "area": "area_sqm",
    "net_area": "area_net_sqm",
    "floor": "floor",
    "year": "year_built",
}
_CHOICES: Final = (
    "city", "deal", "property_type", "neighbourhood", "district", "construction", "condition", "furnishing",
)  # fmt: skip


def candidates(connection: Connection, query: SearchQuery, *, now: float) -> list[int]:
    """The properties that may fulfil a search; among them are all that do, and all of which it is unknown."""
    table, current = with_current(listings.c.id)
    chosen = select(current).select_from(table).group_by(current)
    return list(connection.scalars(chosen.having(and_(*_conditions(query, now)))))


def count_all(connection: Connection) -> int:
    """How many adverts there are."""
    return connection.scalar(select(func.count()).select_from(listings)) or 0


def _conditions(query: SearchQuery, now: float) -> Iterator[Condition]:
    yield func.count() > 0  # there is always one
    yield from _presence(query)
    yield from _moments(query, now)
    yield from _prices(query)
    for name, column in _RANGES.items():
        low, high = getattr(query, f"{name}_min"), getattr(query, f"{name}_max")
        if low is not None or high is not None:
            yield _fact(listings.c[column], _between(listings.c[column], low, high))
    for name in _CHOICES:
        wanted = getattr(query, name)
        if wanted:
            yield _fact(listings.c[name], _among(listings.c[name], wanted))
    if query.rooms:
        rooms = case((listings.c.rooms > MANY_ROOMS, MANY_ROOMS), else_=listings.c.rooms)
        yield _fact(listings.c.rooms, rooms.in_(query.rooms))


def _presence(query: SearchQuery) -> Iterator[Condition]:
    if not query.gone:
        yield _some(and_(listings.c.gone_at.is_(None), listings.c.closed_at.is_(None)))
    if query.portal:
        yield _some(listings.c.site.in_(query.portal))
    if query.seller:
        yield _some(or_(listings.c.seller_kind.is_(None), listings.c.seller_kind.in_(query.seller)))


def _moments(query: SearchQuery, now: float) -> Iterator[Condition]:
    first = func.min(listings.c.first_seen_at)
    if query.new_since is not None:
        yield func.min(NEW_AT) >= query.new_since.timestamp()
    if query.days_max is not None:
        yield first >= now - query.days_max * SECONDS_PER_DAY - 1
    if query.days_min is not None:
        yield first <= now - query.days_min * SECONDS_PER_DAY + 1


def _prices(query: SearchQuery) -> Iterator[Condition]:
    """The price is that of the cheapest advert still there, which may print none although others do."""
    price, area = listings.c.price_eur, listings.c.area_sqm
    if query.price_max is not None:
        # What VAT adds can only take a price beyond the most; of the least the flat has to say.
        yield _some(or_(price.is_(None), price <= query.price_max))
    if query.eur_sqm_max is not None:
        unknown = or_(func.count(area) == 0, func.count(price) < func.count())
        yield or_(unknown, func.min(price) <= query.eur_sqm_max * func.max(area) + 1)
    if query.eur_sqm_min is not None:
        unknown = or_(func.count(area) == 0, func.count(price) < func.count())
        yield or_(unknown, func.max(price) >= query.eur_sqm_min * func.min(area) - 1)


def _fact(column: ColumnElement[Any], fits: Condition) -> Condition:
    return or_(_some(fits), func.count(column) == 0)


def _some(fits: Condition) -> Condition:
    return func.max(case((fits, 1), else_=0)) == 1


def _between(column: ColumnElement[Any], low: float | None, high: float | None) -> Condition:
    bounds = [column >= low] if low is not None else []
    return and_(*bounds, *([column <= high] if high is not None else []))


def _among(column: ColumnElement[Any], wanted: str | Collection[str]) -> Condition:
    return column == wanted if isinstance(wanted, str) else column.in_(wanted)


_WORDS: Final = frozenset({"word", "not_word"})


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
    fitting, around = find_fitting(connection, _flats(connection, query, now), query, around)
    known = [one for one in fitting if not one.unknown or query.unknown == "ok"]
    apart = [one for one in fitting if one.unknown] if query.unknown == "apart" else []
    return Found(ordered(known, query, around), ordered(apart, query, around), around)


def find_fitting(
    connection: Connection, flats: Iterable[Flat], query: SearchQuery, around: Around
) -> tuple[list[Judged], Around]:
    """Whatever no condition rules out, in the order given; words are read only of what passes the rest."""
    quick = [named for named in checks_for(query) if named[0] not in _WORDS]
    fitting = _fitting(flats, quick, around)
    if query.word or query.not_word:
        around = with_words(connection, around, (one.flat for one in fitting))
        fitting = _fitting((one.flat for one in fitting), checks_for(query), around)
    return fitting, around


def matches(flat: Flat, query: SearchQuery, around: Around) -> State:
    """Whether a flat fulfils a query; what is not known is a pass or a fail where the query says so."""
    judged = judge(flat, query, around)
    if judged is None:
        return State.FAIL
    return State.UNKNOWN if judged.unknown and query.unknown == "apart" else State.PASS


def judge(flat: Flat, query: SearchQuery, around: Around) -> Judged | None:
    """The flat with what is not known of it, or None where it does not fulfil the query."""
    judged = _judged(flat, checks_for(query), around)
    return None if judged is None or (judged.unknown and query.unknown == "no") else judged


@lru_cache(maxsize=64)
def checks_for(query: SearchQuery) -> Sequence[Named]:
    """The conditions of a query, made once."""
    return checks_of(query)


def _flats(connection: Connection, query: SearchQuery, now: float) -> Iterator[Flat]:
    ids = candidates(connection, query, now=now)
    if len(ids) < READ_ALL_SHARE * count_all(connection):
        return read_flats(connection, ids, photos=0)
    wanted = set(ids)
    return (flat for flat in read_flats(connection, photos=0) if flat.property_id in wanted)


def _fitting(flats: Iterable[Flat], checks: Sequence[Named], around: Around) -> list[Judged]:
    return [judged for flat in flats if (judged := _judged(flat, checks, around))]


def _judged(flat: Flat, checks: Iterable[Named], around: Around) -> Judged | None:
    unknown = []
    for name, check in checks:
        verdict = check(flat, around)
        if verdict is State.FAIL:
            return None
        if verdict is State.UNKNOWN:
            unknown.append(name)
    return Judged(flat, tuple(unknown))


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
            return flat.first_seen_at


# Saved searches as queries: what is stored is checked again when it is used.


def saved_query(connection: Connection, name: str) -> SearchQuery:
    """The query of a saved search.

    Raises:
        UnknownSearch: there is none of this name.
        WrongSearch: what is stored is no query; the sentence names the search.
    """
    one = read_search(connection, name)
    try:
        return SearchQuery.of(one.query)
    except WrongSearch as error:
        raise WrongSearch(f"the saved search {one.name!r} cannot be used: {error}") from None
