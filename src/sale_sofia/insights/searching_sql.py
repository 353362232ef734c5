"""Which properties can fulfil a search at all, as far as the database sees by itself: never one too few.

A fact of a flat is one that some advert prints; only where none does, a description may tell it. So a
property stays in when any advert prints a fitting value, or no advert prints one. The flats then decide.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from sale_sofia.config.searching import MANY_ROOMS
from sale_sofia.data.evaluation_ids import with_current
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.news import NEW_AT
from sale_sofia.insights.searching import SearchQuery
from sale_sofia.insights.searching_around import SECONDS_PER_DAY

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
