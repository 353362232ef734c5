"""Merges adverts into one flat by the rules of `PropertyMerger`; descriptions fill what no portal prints."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from sale_sofia.descriptions.enrichment import COLUMNS
from sale_sofia.descriptions.fields import TRAP_FIELDS
from sale_sofia.flats.flat import Advert, EarlierOffer, Flat, Trap
from sale_sofia.flats.prices import vat_may_be_due, vat_on_top, with_vat
from sale_sofia.flats.settings import LISTS_REMEMBERED, OFF_MARKET_DAYS, VAGUE_COORDINATES
from sale_sofia.history.market_events import SECONDS_PER_DAY, WITHDRAWN, Since, listed_since
from sale_sofia.listings.model import Listing, compared

Row = Mapping[Any, Any]
View = dict[str, Any]

_OF_AN_ADVERT: Final = {"title", "price_eur", "vat", "photo_urls", "features", "flags", "lat", "lon"}
MERGED: Final = tuple(
    name for name in Listing.model_fields if name in Flat.__dataclass_fields__ and name not in _OF_AN_ADVERT
)
"""The facts of a flat, without what belongs to an advert: price, words, photos and seller."""


class PropertyMerger:
    """Merges the adverts of one property. Nothing is averaged: every value was printed by some advert."""

    def merge(self, property_id: int, adverts: Sequence[Row]) -> View:
        """The property with its facts, and its offers as printed."""
        return {
            "id": property_id,
            "fields": {name: fact for name in MERGED if (fact := self.field(name, adverts))},
            "offers": self.offers(adverts),
            "portals": sorted({row["site"] for row in adverts}),
            "first_seen_at": min(row["first_seen_at"] for row in adverts),
            "last_seen_at": max(row["last_seen_at"] for row in adverts),
        }

    def field(self, name: str, adverts: Sequence[Row]) -> View | None:
        """The value that most adverts print (for a tie, the newest advert's), and all others."""
        rows_by_value: dict[str, list[Row]] = defaultdict(list)
        for row in adverts:
            if row[name] not in (None, [], ()):
                rows_by_value[repr(compared(name, row[name]))].append(row)
        if not rows_by_value:
            return None
        chosen, *others = sorted(
            rows_by_value.values(), key=lambda rows: (len(rows), max(map(newness, rows))), reverse=True
        )
        return _value_view(name, chosen) | {"others": [_value_view(name, rows) for rows in others]}

    def offers(self, adverts: Sequence[Row]) -> list[View]:
        """Each advert with its price, the cheapest first; last those without one and those that are gone."""
        return [_offer(row) for row in sorted(adverts, key=offer_order)]


def is_offered(row: Row) -> bool:
    """Whether an advert is still online, as far as is known."""
    return row["gone_at"] is None and row["closed_at"] is None


def newness(row: Row) -> tuple[bool, int]:
    """A sort key for which advert is believed: those still offered, then those found later.

    Not those seen last: every crawl sees them in another order, and facts must not flip with it.
    """
    return is_offered(row), row["id"]


def _value_view(name: str, rows: Iterable[Row]) -> View:
    newest = max(rows, key=newness)
    return {
        "value": newest[name],
        "site": newest["site"],
        "listing_id": newest["id"],
        "seen_at": newest["last_seen_at"],
        "adverts": sorted(row["id"] for row in rows),
    }


def offer_order(row: Row) -> tuple[bool, bool, float, int]:
    """A sort key: the cheapest first; last those without a price and those that are gone."""
    return not is_offered(row), row["price_eur"] is None, row["price_eur"] or 0.0, row["id"]


def _offer(row: Row) -> View:
    return {
        "listing_id": row["id"],
        "site": row["site"],
        "external_id": row["external_id"],
        "url": row["url"],
        "title": row["title"],
        "price_eur": row["price_eur"],
        "vat": row["vat"],
        "offered": is_offered(row),
        "opened": row["opened_at"] is not None,
        "copy_of": row["copy_of"] if row["opened_at"] is None else None,
        "seller_kind": row["seller_kind"],
        "seller_name": row["seller_name"],
        "phones": list(row["phones"]),
        "first_seen_at": row["first_seen_at"],
        "last_seen_at": row["last_seen_at"],
    }


AdvertRow = dict[str, Any]
"""An advert's columns, and under `said` the certain attributes of its description.

Lists are tuples, flags and features sets; photos, which are rarely needed, are the stored JSON text.
The description is present where it disagrees with the portal; `stored` is the row as it was read.
"""

_TOLD: Final = (
    "parking_status", "metro_minutes", "bedrooms", "bathrooms", "has_balcony", "balconies", "storage",
)  # fmt: skip
"""Facts that only descriptions state, under the same name."""
COLUMN_OF: Final = {**COLUMNS, **dict(zip(_TOLD, _TOLD, strict=True))}
_WHOSE: Final = ("id", "site", "last_seen_at", "gone_at", "closed_at")
_TRAPS: Final = frozenset(TRAP_FIELDS)
NO_LIST: Final = "[]"
NOTHING: Final = (None, ())
_MERGER: Final = PropertyMerger()
_MERGED_OF: Final = itemgetter(*MERGED)


def merge_one(property_id: int, row: AdvertRow, photos: int | None = None) -> Flat:
    """The result of `merge_many` for one advert, computed faster: most flats have one."""
    priced, placed = row["price_eur"] is not None, _is_placed(row)
    attributes = row["said"]
    facts = dict(zip(MERGED, _MERGED_OF(row), strict=True))
    if attributes:
        facts |= {name: value for name, value in text_facts(attributes).items() if facts.get(name) in NOTHING}
    return Flat(
        property_id=property_id,
        adverts=(_advert(row),),
        offered=is_offered(row),
        price_eur=row["price_eur"],
        vat=row["vat"] if priced else None,
        first_seen_at=row["first_seen_at"],
        last_seen_at=row["last_seen_at"],
        new_at=row["new_at"],
        title=row["title"] or None,
        photo_urls=_photos((row,))[:photos],
        flags=row["flags"],
        features=row["features"],
        wc_separate=True if "wc_separate" in attributes else None,
        described=row["described"],
        traps=_traps((row,)) if attributes else {},
        listed=listed_since(row),
        lat=row["lat"] if placed else None,
        lon=row["lon"] if placed else None,
        **facts,
    )


def merge_many(property_id: int, rows: Sequence[AdvertRow], photos: int | None = None) -> Flat:
    """The flat of any number of adverts."""
    facts = _facts(rows)
    ordered = _by_payment(rows, facts)
    # The cheapest advert still offered, or of all if none is.
    there = [row for row in ordered if is_offered(row)] or ordered
    priced = next((row for row in there if row["price_eur"] is not None), None)
    age = age_of(rows)
    return Flat(
        property_id=property_id,
        adverts=tuple(map(_advert, ordered)),
        offered=is_offered(ordered[0]),
        price_eur=priced["price_eur"] if priced else None,
        vat=priced["vat"] if priced else None,
        first_seen_at=min([row["first_seen_at"] for row in rows]),
        last_seen_at=max([row["last_seen_at"] for row in rows]),
        new_at=min([row["new_at"] for row in rows if row["new_at"] is not None], default=None),
        title=next((row["title"] for row in ordered if row["title"]), None),
        photo_urls=_photos(ordered)[:photos],
        flags=frozenset().union(*[row["flags"] for row in rows]),
        features=frozenset().union(*[row["features"] for row in rows]),
        # Descriptions count separate toilets; one that mentions none does not deny them.
        wc_separate=True if any("wc_separate" in row["said"] for row in rows) else None,
        described=any(row["described"] for row in rows),
        traps=_traps(ordered),
        listed=age.since,
        offered_before=age.before,
        **_place(rows),
        **facts,
    )


def _by_payment(rows: Sequence[AdvertRow], facts: Mapping[str, Any]) -> list[AdvertRow]:
    """As by `offer_order`, but by what has to be paid at most, with VAT where it comes on top."""
    text_says_so = any("price_without_vat" in row["said"] for row in rows)
    told = {name: facts[name] for name in ("under_construction", "act_status", "condition")}
    may_be_due = vat_may_be_due(tuple(map(_advert, rows)), **told)

    def order(row: AdvertRow) -> tuple[bool, bool, float, float, float, int]:
        gone, unpriced, printed, number = offer_order(row)
        paid = with_vat(printed, due=vat_on_top(row["vat"], text_says_so=text_says_so, may_be_due=may_be_due))
        return gone, unpriced, paid.most or printed, paid.least, printed, number

    return sorted(rows, key=order)


def _advert(row: AdvertRow) -> Advert:
    return Advert(
        row["id"],
        row["site"],
        row["external_id"],
        row["url"],
        row["title"],
        row["price_eur"],
        row["vat"],
        row["seller_kind"],
        row["seller_name"],
        row["first_seen_at"],
        row["last_seen_at"],
        is_offered(row),
    )


def _photos(ordered: Sequence[AdvertRow]) -> tuple[str, ...]:
    """The photos of the first advert that has any."""
    stored = next((row["photo_urls"] for row in ordered if row["photo_urls"] != NO_LIST), NO_LIST)
    return tuple(from_json(stored)) if stored != NO_LIST else ()


def _place(rows: Sequence[AdvertRow]) -> dict[str, Any]:
    """The coordinates of the newest advert that has both: halves of two places are not mixed."""
    placed = [row for row in rows if _is_placed(row)]
    if not placed:
        return {}
    newest = max(placed, key=newness)
    return {"lat": newest["lat"], "lon": newest["lon"]}


def _is_placed(row: AdvertRow) -> bool:
    """Whether the advert has the flat's own coordinates, not those of an area."""
    return row["lat"] is not None and row["lon"] is not None and row["site"] not in VAGUE_COORDINATES


def _facts(rows: Sequence[AdvertRow]) -> dict[str, Any]:
    """Every fact of some advert: what most portals print, else what most descriptions say."""
    columns = zip(MERGED, zip(*map(_MERGED_OF, rows), strict=True), strict=True)
    facts = {name: _most_said(name, values, rows) for name, values in columns}
    texts = [
        {**text_facts(row["said"]), **{name: row[name] for name in _WHOSE}} for row in rows if row["said"]
    ]
    missing = {name for view in texts for name in view if facts.get(name) in NOTHING}.difference(_WHOSE)
    for name in missing:
        views = [view for view in texts if name in view]
        facts[name] = _most_said(name, [view[name] for view in views], views)
    return facts


def _most_said(name: str, values: Sequence[Any], rows: Sequence[AdvertRow]) -> Any:  # noqa: ANN401 - any column
    """The most frequent value; usually all are equal, and then nothing is counted."""
    if values.count(values[0]) == len(values):
        return values[0]
    fact = _MERGER.field(name, rows)
    return fact["value"] if fact else None


def text_facts(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a description, by the names of columns."""
    return {
        COLUMN_OF[field]: tuple(value) if isinstance(value := attribute["value"], list) else value
        for field, attribute in attributes.items()
        if field in COLUMN_OF
    }


@lru_cache(maxsize=LISTS_REMEMBERED)
def decoded_list(stored: str) -> tuple[str, ...]:
    """A short list from its stored JSON; most adverts share a few hundred."""
    return tuple(json.loads(stored))


@lru_cache(maxsize=LISTS_REMEMBERED)
def decoded_set(stored: str) -> frozenset[str]:
    """As `decoded_list`, for a list without an order."""
    return frozenset(json.loads(stored))


def _traps(ordered: Sequence[AdvertRow]) -> dict[str, Trap]:
    """The traps of all descriptions, each in the words of the first that has it."""
    return {
        field: Trap(row["said"][field]["value"], row["said"][field]["quote"])
        for row in reversed(ordered)
        for field in row["said"].keys() & _TRAPS
    }


# Since when a flat is on the market, and when it was offered before, from all its adverts.

_OFF_MARKET: Final = OFF_MARKET_DAYS * SECONDS_PER_DAY


class Age(NamedTuple):
    """Since when the flat is on the market without a long pause, and its earlier offers, the latest first."""

    since: Since
    before: tuple[EarlierOffer, ...] = ()


class _Run(NamedTuple):
    """The run of one advert; the end is infinite while it is online."""

    since: Since
    end: float
    row: Row


def age_of(rows: Sequence[Row]) -> Age:
    """The age of the flat of these adverts, rows with the columns of `listings`."""
    real = [row for row in rows if row["closed_reason"] != WITHDRAWN] or rows
    # An id reused for another flat says nothing about this one, also on a sister portal.
    reused = {row["family_id"] for row in real if row["generation"] > 1} - {None}
    runs = sorted(
        (_Run(listed_since(row, reused=row["family_id"] in reused), _end(row), row) for row in real),
        key=lambda run: (run.since.at, run.end, run.row["id"]),
    )
    since, end = runs[0][:2]
    for run in runs[1:]:
        if run.since.at > end + _OFF_MARKET:
            since = run.since
        end = max(end, run.end)
    return Age(since, _before(runs))


def _end(row: Row) -> float:
    return min([row[name] for name in ("gone_at", "closed_at") if row[name] is not None], default=math.inf)


def _before(runs: Sequence[_Run]) -> tuple[EarlierOffer, ...]:
    """The ended adverts except those that began last; one for each family published on several portals."""
    newest = runs[-1].since.at
    last: dict[Any, _Run] = {}
    for run in sorted(runs, key=lambda run: (run.end, -run.row["id"])):
        if run.end < math.inf and run.since.at < newest:
            last[run.row["family_id"] or run.row["id"]] = run
    ended = sorted(last.values(), key=lambda run: (run.end, run.row["id"]), reverse=True)
    return tuple(
        EarlierOffer(run.row["id"], run.row["site"], *run.since, run.end, run.row["price_eur"])
        for run in ended
    )
