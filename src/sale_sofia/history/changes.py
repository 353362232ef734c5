"""What happened since a moment: new adverts, price changes, edits, adverts gone and back."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, Literal, get_args

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, and_, or_, select

from sale_sofia.history.listing_rows import PRICE_FIELDS
from sale_sofia.history.market_events import WITHDRAWN
from sale_sofia.history.news import IS_RELEASED, NEW_AT, new_since
from sale_sofia.history.settings import STREAMED_CHANGES
from sale_sofia.history.tables import WAS_ASKED, listing_changes, listings, market_events, price_points

ChangeKind = Literal["new", "price", "edit", "gone", "back"]
CHANGE_KINDS: Final[tuple[str, ...]] = get_args(ChangeKind)
_WITH_PRICE: Final = frozenset({*PRICE_FIELDS, "previous_price_eur"} - {"vat"})
"""Fields that change together with the price."""
_ABOUT: Final = (
    "site", "external_id", "generation", "url", "title", "neighbourhood", "rooms", "area_sqm", "price_eur",
    "vat",
)  # fmt: skip
_COLUMNS: Final = tuple(listings.c[name] for name in _ABOUT)
_SAME_POINT: Final = and_(
    price_points.c.listing_id == listing_changes.c.listing_id,
    price_points.c.seen_at == listing_changes.c.seen_at,
    price_points.c.visit_id == listing_changes.c.visit_id,
    WAS_ASKED,
)


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened to one advert. Moments are seconds since 1970."""

    kind: ChangeKind
    at: float
    """When it happened, as far as that was observed."""
    noted_at: float
    """When it became known: a removal is noted a sweep later than it is dated."""
    about: dict[str, Any]
    """The advert as it is now."""
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    """The old and the new value of each changed field."""
    reason: str | None = None


def happenings(connection: Connection, since: float, site: str | None = None) -> Iterator[Happening]:
    """All that became known since a moment, in order of time; streamed."""
    streams = (
        _new(connection, since, site),
        _changed(connection, since, site),
        _market(connection, since, site),
    )
    return heapq.merge(*streams, key=lambda happening: happening.noted_at)


def _new(connection: Connection, since: float, site: str | None) -> Iterator[Happening]:
    query = (
        select(listings.c.first_seen_at, NEW_AT.label("noted_at"), *_COLUMNS)
        .where(new_since(since), listings.c.closed_reason.is_distinct_from(WITHDRAWN), *_of(site))
        .order_by(NEW_AT, listings.c.id)
    )
    for row in _stream(connection, query):
        reason = "another flat under a known id" if row["generation"] > 1 else None
        yield Happening("new", row["first_seen_at"], row["noted_at"], _about(row), reason=reason)


def _changed(connection: Connection, since: float, site: str | None) -> Iterator[Happening]:
    names = ("listing_id", "seen_at", "field", "old", "new")
    columns = (*(listing_changes.c[name] for name in names), price_points.c.kind.label("price_kind"))
    # Changes before an advert was shown as new are not news.
    since_new = IS_RELEASED & or_(listings.c.new_at.is_(None), listing_changes.c.seen_at > listings.c.new_at)
    # An outer join, lest SQLite goes through all adverts first; each change has its advert.
    changed = listing_changes.outerjoin(listings)
    query = (
        select(*columns, *_COLUMNS)
        .select_from(changed.outerjoin(price_points, _SAME_POINT))
        .where(listing_changes.c.seen_at >= since, since_new, *_of(site))
        .order_by(listing_changes.c.seen_at, listing_changes.c.listing_id, listing_changes.c.id)
    )
    together = groupby(_stream(connection, query), key=lambda row: (row["seen_at"], row["listing_id"]))
    for (at, _), rows in together:
        yield from _price_and_edit(at, list(rows))


def _price_and_edit(at: float, rows: list[RowMapping]) -> Iterator[Happening]:
    """Split into price change and edit; a change of VAT or currency is an edit, even if it moves the sum."""
    fields = {row["field"]: (row["old"], row["new"]) for row in rows}
    is_price = rows[0]["price_kind"] == "price" and "price_eur" in fields
    price = {name: moved for name, moved in fields.items() if name in _WITH_PRICE}
    if is_price:
        yield Happening("price", at, at, _about(rows[0]), price)
    edits = {name: moved for name, moved in fields.items() if not is_price or name not in price}
    if edits:
        yield Happening("edit", at, at, _about(rows[0]), edits)


def _market(connection: Connection, since: float, site: str | None) -> Iterator[Happening]:
    columns = (market_events.c.kind, market_events.c.at, market_events.c.noted_at, market_events.c.reason)
    query = (
        select(*columns, *_COLUMNS)
        .join_from(market_events, listings)
        .where(market_events.c.noted_at >= since, IS_RELEASED, *_of(site))
        .order_by(market_events.c.noted_at, market_events.c.id)
    )
    for row in _stream(connection, query):
        yield Happening(row["kind"], row["at"], row["noted_at"], _about(row), reason=row["reason"])


def _of(site: str | None) -> Iterable[ColumnElement[bool]]:
    return () if site is None else (listings.c.site == site,)


def _about(row: RowMapping) -> dict[str, Any]:
    return {name: row[name] for name in _ABOUT}


def _stream(connection: Connection, query: Select[*tuple[Any, ...]]) -> Iterator[RowMapping]:
    options = {"yield_per": STREAMED_CHANGES}
    return iter(connection.execute(query, execution_options=options).mappings())
