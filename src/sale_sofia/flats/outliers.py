"""Adverts that stand out: implausible prices, "private" sellers of many flats, shared coordinates.

Plausible ranges come from the adverts on offer, not from fixed numbers. Outliers are stored, so that a flat
is read without the market, and are recomputed whenever adverts were matched.
"""

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, Text, and_, cast, delete, insert, select

from sale_sofia.flats import settings as fixed
from sale_sofia.flats.contradictions import Outlier
from sale_sofia.flats.flat import Code
from sale_sofia.flats.store import OFFERED, with_current
from sale_sofia.flats.tables import outliers
from sale_sofia.history.revisions import touch
from sale_sofia.history.settings import BUILT_TYPES
from sale_sofia.history.tables import listings
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

Found = dict[tuple[int, Code], Outlier]
_OTHER_DEAL = {"sale": "rent", "rent": "sale"}
_LOOKS_LIKE = {"rent": Code.RENT_LIKE_PRICE, "sale": Code.PRICE_LIKE_RENT}


class Priced(NamedTuple):
    """An advert with its price per m²."""

    listing_id: int
    deal: str
    kind: str
    city: str | None
    neighbourhood: str | None
    eur_sqm: float


class PriceSpan(NamedTuple):
    """Plausible prices per m²."""

    least: float
    most: float

    def holds(self, price: float) -> bool:
        """Whether this price is plausible."""
        return self.least <= price <= self.most


def refresh_outliers(database: Database, settings: Settings) -> None:
    """Find and store the current outliers; adverts that became one, or no longer are, are touched."""
    found = database.run_read(partial(find_outliers, settings=settings))
    database.run_write(partial(save_outliers, found=found))


def find_outliers(connection: Connection, settings: Settings) -> Found:
    """The outliers among all adverts on offer."""
    by_price = {advert.listing_id: advert for advert in _priced(connection)}
    found = dict(price_outliers(by_price.values()))
    for listing_id, flats in _sellers_of_many(connection, settings.private_seller_flats):
        outlier = Outlier(Code.PRIVATE_WITH_MANY, flats, flats)
        found[listing_id, outlier.code] = outlier
    for listing_id, flats in _shared_points(connection):
        found[listing_id, Code.POSITION_SHARED] = Outlier(Code.POSITION_SHARED, flats, flats)
    return found


def price_outliers(adverts: Iterable[Priced]) -> Iterator[tuple[tuple[int, Code], Outlier]]:
    """Prices outside the plausible range of their place; the code says if they fit the other deal."""
    priced = list(adverts)
    spans = _Spans(priced)
    for advert in priced:
        own = spans.of(advert, advert.deal)
        if own is None or own.holds(advert.eur_sqm):
            continue
        other = spans.of(advert, _OTHER_DEAL[advert.deal])
        swapped = other is not None and other.holds(advert.eur_sqm)
        code = _LOOKS_LIKE[advert.deal] if swapped else Code.PRICE_OUT_OF_MARKET
        yield (advert.listing_id, code), Outlier(code, *own)


class _Town(NamedTuple):
    """The logarithms of a town's prices per m²: of its quarters, and of its extremes."""

    quarters: tuple[float, float]
    edges: tuple[float, float]


class _Spans:
    """Plausible prices by deal, kind, town and neighbourhood."""

    def __init__(self, adverts: Sequence[Priced]) -> None:
        logs: dict[tuple[str | None, ...], list[float]] = defaultdict(list)
        for advert in adverts:
            for place in {(advert.city, advert.neighbourhood), (advert.city, None)}:
                logs[advert.deal, advert.kind, *place].append(math.log(advert.eur_sqm))
        self._logs = logs
        self._towns: dict[tuple[str | None, ...], _Town | None] = {}
        self._made: dict[tuple[str | None, ...], PriceSpan | None] = {}

    def of(self, advert: Priced, deal: str) -> PriceSpan | None:
        """Plausible prices of such an advert for this deal; None if too few are known."""
        key = (deal, advert.kind, advert.city, advert.neighbourhood)
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def _make(self, key: tuple[str | None, ...]) -> PriceSpan | None:
        of_town = key[:3]
        if of_town not in self._towns:  # once, not for each of its neighbourhoods: it may have all adverts
            self._towns[of_town] = _town(self._logs.get((*of_town, None), []))
        if (town := self._towns[of_town]) is None:
            return None
        near = self._logs.get(key, [])
        low, high = _quarters(near) if len(near) >= fixed.MARKET_LEAST else town.quarters
        width = max(high - low, town.quarters[1] - town.quarters[0]) * fixed.MARKET_QUARTERS
        least, most = min(low - width, town.edges[0]), max(high + width, town.edges[1])
        # Allows for rounding: exp(log(x)) is not exactly x.
        return PriceSpan(math.exp(least) * (1 - fixed.SAME_PRICE), math.exp(most) * (1 + fixed.SAME_PRICE))


def _town(logs: Sequence[float]) -> _Town | None:
    """None if too few are known."""
    if len(logs) < fixed.MARKET_LEAST:
        return None
    edges = statistics.quantiles(logs, n=fixed.MARKET_EDGE, method="inclusive")
    return _Town(_quarters(logs), (edges[0], edges[-1]))


def _quarters(logs: Sequence[float]) -> tuple[float, float]:
    low, _, high = statistics.quantiles(logs, n=4)
    return low, high


def _priced(connection: Connection) -> Iterator[Priced]:
    columns = ("id", "deal", "property_type", "city", "neighbourhood", "price_eur", "area_sqm")
    chosen = select(*(listings.c[name] for name in columns)).where(
        OFFERED, listings.c.deal.is_not(None), listings.c.property_type.in_(BUILT_TYPES)
    )
    for listing_id, deal, kind, city, neighbourhood, price, area in connection.execute(chosen):
        if price and area:
            yield Priced(listing_id, deal, kind, city, neighbourhood, price / area)


def _sellers_of_many(connection: Connection, many: int) -> Iterator[tuple[int, int]]:
    """Private adverts whose phone offers at least `many` properties, each with the number."""
    table, current = with_current(listings.c.id)
    chosen = select(listings.c.id, current, cast(listings.c.phones, Text)).select_from(table)
    rows = connection.execute(chosen.where(OFFERED, listings.c.seller_kind == "private")).all()
    flats: Mapping[str, set[int]] = defaultdict(set)
    phones = {listing_id: json.loads(stored or "[]") for listing_id, _, stored in rows}
    for listing_id, property_id, _ in rows:
        for phone in phones[listing_id]:
            flats[phone].add(property_id)
    for listing_id, own in phones.items():
        most = max((len(flats[phone]) for phone in own), default=0)
        if most >= many:
            yield listing_id, most


def _shared_points(connection: Connection) -> Iterator[tuple[int, int]]:
    """Adverts whose exact coordinates many flats share, each with the number; also of flats that are gone."""
    table, current = with_current(listings.c.id)
    chosen = select(listings.c.id, current, listings.c.lat, listings.c.lon).select_from(table)
    placed = and_(listings.c.lat.is_not(None), listings.c.lon.is_not(None))
    flats: Mapping[tuple[float, float], set[int]] = defaultdict(set)
    points: dict[int, tuple[float, float]] = {}
    for listing_id, property_id, lat, lon in connection.execute(chosen.where(placed)):
        points[listing_id] = point = (
            round(lat, fixed.SHARED_POINT_DIGITS),
            round(lon, fixed.SHARED_POINT_DIGITS),
        )
        flats[point].add(property_id)
    for listing_id, point in points.items():
        if len(flats[point]) >= fixed.SHARED_POINT_FLATS:
            yield listing_id, len(flats[point])


def _are_near(outlier: Outlier, other: Outlier) -> bool:
    return math.isclose(outlier.least, other.least, rel_tol=fixed.MARKET_TOLERANCE) and math.isclose(
        outlier.most, other.most, rel_tol=fixed.MARKET_TOLERANCE
    )


def read_outliers(connection: Connection) -> Mapping[int, Sequence[Outlier]]:
    """The stored outliers, by advert."""
    found: dict[int, list[Outlier]] = defaultdict(list)
    for listing_id, code, least, most in connection.execute(select(outliers).order_by(*outliers.primary_key)):
        found[listing_id].append(Outlier(Code(code), least, most))
    return dict(found)


def save_outliers(connection: Connection, found: Found) -> None:
    """Replace the stored outliers. A span that moved only a little keeps its old value."""
    stored = {
        (listing_id, out.code): out for listing_id, some in read_outliers(connection).items() for out in some
    }
    same = {key for key in stored.keys() & found.keys() if _are_near(stored[key], found[key])}
    gone, new = stored.keys() - same, found.keys() - same
    for listing_id, code in gone:
        is_row = (outliers.c.listing_id == listing_id, outliers.c.code == code.value)
        connection.execute(delete(outliers).where(*is_row))
    rows = [
        {"listing_id": key[0], "code": key[1].value, "least": found[key].least, "most": found[key].most}
        for key in sorted(new)
    ]
    if rows:
        connection.execute(insert(outliers), rows)
    if touched := {listing_id for listing_id, _ in gone | new}:
        touch(connection, touched)
