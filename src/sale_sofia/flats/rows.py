"""Reads flats from the database, all of them in one pass."""

import gc
import math
import resource
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from pydantic_core import from_json
from sqlalchemy import ColumnElement, Connection, Select, Text, bindparam, case, cast, exists, literal, select

from sale_sofia.descriptions.tables import description_disagreements, description_reads
from sale_sofia.flats import settings as fixed
from sale_sofia.flats.contradictions import TEXT_FACTS, Beside, merge_flat
from sale_sofia.flats.flat import Correction, Flat
from sale_sofia.flats.merging import MERGED, NO_LIST, AdvertRow, decoded_list, decoded_set
from sale_sofia.flats.outliers import read_outliers
from sale_sofia.flats.store import UnknownProperty, portions, rows_of, with_current
from sale_sofia.flats.tables import corrections, listing_sources
from sale_sofia.history.news import NEW_AT
from sale_sofia.history.tables import WAS_ASKED, listings, price_points
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.settings import LARGEST_ID

_OWN: Final = (
    "id", "site", "external_id", "url", "title", "price_eur", "vat", "seller_kind", "seller_name",
    "first_seen_at", "last_seen_at", "gone_at", "closed_at", "lat", "lon", "new_at", "generation",
    "family_id", "posted_at", "closed_reason",
)  # fmt: skip
_LISTS: Final = ("heating", "orientation", "parking")
_SETS: Final = ("features", "flags")
_FEW: Final = (
    "site", "vat", "seller_kind", "seller_name", "deal", "property_type", "construction", "act_status",
    "furnishing", "condition", "city", "district", "neighbourhood", "street", "metro_station",
)  # fmt: skip
"""Columns with few distinct texts, which a hundred thousand adverts share."""
_PLAIN: Final = tuple(name for name in (*_OWN, *MERGED) if name not in _LISTS)
ADVERT_NAMES: Final = (*_PLAIN, *_LISTS, *_SETS, "photo_urls", "said", "description")


def read_flats(
    connection: Connection, property_ids: Collection[int] | None = None, *, photos: int | None = None
) -> Iterator[Flat]:
    """Every property, on offer or gone, or only these; an unmatched advert is a property by itself.

    What a description said when it was last read counts until it is read again. `photos` limits the photos of
    each; with 0, flats are read faster.
    """
    for group in read_groups(connection, property_ids, photos=photos != 0):
        yield group.merged(photos)


class Group(NamedTuple):
    """The adverts of one property, and what is known about it besides them."""

    property_id: int
    rows: Sequence[AdvertRow]
    beside: Beside

    def merged(self, photos: int | None) -> Flat:
        """The flat, with at most `photos` photos; None: with all."""
        return merge_flat(self.property_id, self.rows, photos, self.beside)


def read_groups(
    connection: Connection, property_ids: Collection[int] | None, *, photos: bool
) -> Iterator[Group]:
    """Every property, or only these, before merging."""
    whose = _members(connection, property_ids)
    sizes = Counter(whose.values())
    corrected, outliers = read_corrections(connection), read_outliers(connection)

    def group(property_id: int, rows: list[AdvertRow]) -> Group:
        return Group(property_id, rows, Beside(corrected.get(property_id, {}), outliers))

    waiting: dict[int, list[AdvertRow]] = defaultdict(list)
    for row in read_adverts(connection, whose, property_ids, photos=photos):
        number: int = row["id"]
        property_id = whose.get(number, number)
        if sizes[property_id] <= 1:
            yield group(property_id, [row])
            continue
        waiting[property_id].append(row)
        if len(waiting[property_id]) == sizes[property_id]:
            yield group(property_id, waiting.pop(property_id))


def find_flat(connection: Connection, number: int) -> Flat:
    """The flat that this property id leads to now.

    Raises:
        UnknownProperty: there is none.
    """
    if 0 < number <= LARGEST_ID:
        whose = select(listing_sources.c.property_id).where(listing_sources.c.listing_id == number)
        for flat in read_flats(connection, [connection.scalar(whose) or number]):
            return flat
    raise UnknownProperty(f"no property {number}; `sale-sofia properties` lists them")


def _members(connection: Connection, property_ids: Collection[int] | None) -> dict[int, int]:
    """Advert → property, for matched adverts."""
    columns = select(listing_sources.c.listing_id, listing_sources.c.property_id)
    rows = rows_of(connection, columns, listing_sources.c.property_id, property_ids)
    return {row[0]: row[1] for row in rows}


def read_adverts(
    connection: Connection, whose: Mapping[int, int], property_ids: Collection[int] | None, *, photos: bool
) -> Iterator[AdvertRow]:
    """The adverts of all properties, or of these, as a stream."""
    if property_ids is None:
        chosen = (
            _advert_columns(photos=photos)
            .order_by(listings.c.id)
            .execution_options(yield_per=fixed.ADVERTS_AT_ONCE)
        )
        yield from map(_decoded, connection.execute(chosen))
        return
    for ids in portions(_advert_ids(connection, whose, property_ids)):
        yield from map(_decoded, _these_adverts(photos=photos).rows(connection, {"ids": ids}))


def _advert_ids(connection: Connection, whose: Mapping[int, int], property_ids: Collection[int]) -> list[int]:
    """The matched adverts, and those property ids that are unmatched adverts."""
    unmatched = (
        select(listings.c.id)
        .outerjoin(listing_sources, listing_sources.c.listing_id == listings.c.id)
        .where(listing_sources.c.listing_id.is_(None))
    )
    alone = rows_of(connection, unmatched, listings.c.id, set(property_ids).difference(whose))
    return sorted({*whose, *(row[0] for row in alone)})


@cache
def _these_adverts(*, photos: bool) -> Quick:
    chosen = listings.c.id.in_(bindparam("ids", expanding=True))
    return Quick(_advert_columns(photos=photos).where(chosen).order_by(listings.c.id))


def _advert_columns(*, photos: bool) -> Select[Any]:
    """A query of all columns of adverts that are used."""
    # Lists are fetched as text: most of them are equal, and are decoded once.
    texts = [cast(listings.c[name], Text) for name in (*_LISTS, *_SETS)]
    pictures = cast(listings.c.photo_urls, Text) if photos else literal(NO_LIST)
    attributes = cast(description_reads.c.attributes, Text)
    plain = (NEW_AT if name == "new_at" else listings.c[name] for name in _PLAIN)
    differs = description_disagreements
    disputed = exists().where(differs.c.listing_id == listings.c.id, differs.c.field.in_(TEXT_FACTS))
    return select(*plain, *texts, pictures, attributes, case((disputed, listings.c.description))).outerjoin(
        description_reads, description_reads.c.listing_id == listings.c.id
    )


def _decoded(row: Sequence[Any]) -> AdvertRow:
    advert = dict(zip(ADVERT_NAMES, row, strict=True))
    advert["stored"] = row
    for name in _FEW:
        if (text := advert[name]) is not None:
            advert[name] = sys.intern(text)
    for name in _LISTS:
        advert[name] = decoded_list(advert[name])
    for name in _SETS:
        advert[name] = decoded_set(advert[name])
    text = advert["said"]
    advert["described"] = text is not None
    # The attributes on which the description does not contradict itself.
    advert["said"] = {
        field: attribute
        for field, attribute in (from_json(text).items() if text is not None else ())
        if attribute["value"] is not None and attribute["status"] != "conflict"
    }
    return advert


# Memory reserved for the rest of the process while very many long-lived objects are created.

T = TypeVar("T")
_SIZES: Final = Path("/proc/self/statm")


def sparing(elements: Iterable[T]) -> Iterator[T]:
    """The same elements, as long as the memory limit of the process is not near.

    Raises:
        MemoryError: it is near. The rest is needed to report that: even a thread needs some.
    """
    for number, element in enumerate(elements):
        if number % fixed.MEMORY_LOOKED_AT == 0 and _bytes_left() < fixed.MEMORY_SPARED:
            raise MemoryError("the limit on this process's memory is near")
        yield element


def _bytes_left() -> float:
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or not _SIZES.exists():
        return float("inf")
    return most - int(_SIZES.read_text("ascii").split()[0]) * resource.getpagesize()


# Python's garbage collector, paused while very many long-lived objects are created.

_SWITCH: Final = threading.Lock()
"""Makes checking and switching atomic: else two threads could leave the collector off."""


@contextmanager
def no_collecting() -> Iterator[None]:
    """Pause the garbage collector: it takes a quarter of the time, and there are no cycles to find."""
    with _SWITCH:
        was = gc.isenabled()
        gc.disable()
    try:
        yield
    finally:
        with _SWITCH:
            if was:
                gc.enable()


def current_properties(connection: Connection, listing_ids: Collection[int]) -> set[int]:
    """The current properties of these adverts, and the given ids: one may be a property that ended."""
    found = set(listing_ids)
    own = select(listing_sources.c.listing_id, listing_sources.c.property_id)
    rows = rows_of(connection, own, listing_sources.c.listing_id, listing_ids)
    return found.union(property_id for _, property_id in rows)


# The prices of many adverts at once, as small charts need them.


class PriceStep(NamedTuple):
    """A price since a moment, and what changed: first, price, vat or currency."""

    seen_at: float
    price_eur: float | None
    kind: str


def price_steps(
    connection: Connection,
    listing_ids: Collection[int] | Select[tuple[int]],
    which: ColumnElement[bool] = WAS_ASKED,
) -> Mapping[int, Sequence[PriceStep]]:
    """Every asking price of these adverts, the oldest first; or the price points that `which` selects."""
    found: dict[int, list[PriceStep]] = defaultdict(list)
    table = price_points
    columns = select(table.c.listing_id, table.c.seen_at, table.c.price_eur, table.c.kind).where(which)
    batches = [listing_ids] if isinstance(listing_ids, Select) else portions(sorted(set(listing_ids)))
    for some in batches:
        chosen = columns.where(table.c.listing_id.in_(some))
        for row in connection.execute(chosen.order_by(table.c.listing_id, table.c.seen_at, table.c.id)).all():
            found[row[0]].append(PriceStep(row[1], row[2], row[3]))
    return found


def previous_price(steps: Sequence[PriceStep]) -> float | None:
    """The price before the last change, as it would be printed now; None if unknown or never changed."""
    for number in range(len(steps) - 1, 0, -1):
        if steps[number].kind == "price":
            return restated(steps[number - 1].price_eur, steps[number:])
    return None


def restated(price_eur: float | None, steps: Sequence[PriceStep]) -> float | None:
    """A price from before these steps, as it would be printed after their changes of VAT and currency."""
    if price_eur is None:
        return None
    shares = [
        after.price_eur / before.price_eur
        for before, after in pairwise(steps)
        if after.kind != "price" and before.price_eur and after.price_eur
    ]
    return round(price_eur * math.prod(shares), 2)


# The buyer's corrections of facts; `buyer/corrections.py` writes them.


def read_corrections(connection: Connection) -> Mapping[int, Mapping[str, Correction]]:
    """The buyer's last correction of each fact, by the current id of each property."""
    table, current = with_current(corrections.c.property_id)
    columns = (corrections.c[name] for name in ("fact", *Correction._fields))
    found: dict[int, dict[str, Correction]] = defaultdict(dict)
    for row in connection.execute(select(current, *columns).select_from(table).order_by(corrections.c.id)):
        property_id, fact = row[:2]
        if row[2] is None:
            found[property_id].pop(fact, None)
        else:
            value = tuple(row[2]) if isinstance(row[2], list) else row[2]
            found[property_id][fact] = Correction(value, *row[3:])
    return {property_id: facts for property_id, facts in found.items() if facts}
