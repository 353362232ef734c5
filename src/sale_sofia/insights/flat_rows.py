"""Flats out of the database, all of them in one pass."""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, Text, cast, literal, select

from sale_sofia.config.insights import ADVERTS_AT_ONCE
from sale_sofia.data.description_schema import description_reads
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.news import NEW_AT
from sale_sofia.data.properties import UnknownProperty
from sale_sofia.data.properties_state import portions
from sale_sofia.data.property_schema import listing_sources
from sale_sofia.insights.flat_merging import NO_LIST, AdvertRow, decoded_list, decoded_set, merge_flat
from sale_sofia.insights.flats import Flat
from sale_sofia.properties.merger import MERGED

_OWN: Final = (
    "id", "site", "external_id", "url", "title", "price_eur", "vat", "seller_kind", "seller_name",
    "first_seen_at", "last_seen_at", "gone_at", "closed_at", "lat", "lon", "new_at",
)  # fmt: skip
_LISTS: Final = ("heating", "orientation", "parking")
_SETS: Final = ("features", "flags")
_FEW: Final = (
    "site", "vat", "seller_kind", "seller_name", "deal", "property_type", "construction", "act_status",
    "furnishing", "condition", "city", "district", "neighbourhood", "street", "metro_station",
)  # fmt: skip
"""Texts of which there are few; a hundred thousand adverts share them."""
_PLAIN: Final = tuple(name for name in (*_OWN, *MERGED) if name not in _LISTS)
_NAMES: Final = (*_PLAIN, *_LISTS, *_SETS, "photo_urls", "said")


def read_flats(
    connection: Connection, property_ids: Collection[int] | None = None, *, photos: int | None = None
) -> Iterator[Flat]:
    """Every property, offered or gone, or only these; an advert that was never matched is one by itself.

    What a description said when it was last read counts until it is read again. `photos` is how many of each
    are wanted at most; without any, flats are read faster.
    """
    whose = _members(connection, property_ids)
    sizes = Counter(whose.values())
    waiting: dict[int, list[AdvertRow]] = defaultdict(list)
    for row in read_adverts(connection, whose, property_ids, advert_columns(photos=photos != 0)):
        number: int = row["id"]
        property_id = whose.get(number, number)
        if sizes[property_id] <= 1:
            yield merge_flat(property_id, [row], photos)
            continue
        waiting[property_id].append(row)
        if len(waiting[property_id]) == sizes[property_id]:
            yield merge_flat(property_id, waiting.pop(property_id), photos)


def find_flat(connection: Connection, number: int) -> Flat:
    """The flat that this property's id leads to now.

    Raises:
        UnknownProperty: there is none.
    """
    whose = select(listing_sources.c.property_id).where(listing_sources.c.listing_id == number)
    for flat in read_flats(connection, [connection.execute(whose).scalar() or number]):
        return flat
    raise UnknownProperty(f"no property {number}; `sale-sofia properties` lists them")


def _members(connection: Connection, property_ids: Collection[int] | None) -> dict[int, int]:
    """Advert → property, for those that were matched."""
    columns = select(listing_sources.c.listing_id, listing_sources.c.property_id)
    if property_ids is None:
        return {row[0]: row[1] for row in connection.execute(columns)}
    return {
        row[0]: row[1]
        for some in portions(sorted(property_ids))
        for row in connection.execute(columns.where(listing_sources.c.property_id.in_(some)))
    }


def read_adverts(
    connection: Connection,
    whose: Mapping[int, int],
    property_ids: Collection[int] | None,
    columns: Select[Any],
) -> Iterator[AdvertRow]:
    """The adverts of all properties, or of these, one after the other."""
    if property_ids is None:
        chosen = columns.order_by(listings.c.id).execution_options(yield_per=ADVERTS_AT_ONCE)
        yield from map(_decoded, connection.execute(chosen))
        return
    alone = _unmatched(connection, sorted(set(property_ids).difference(whose)))
    for some in portions(sorted({*whose, *alone})):
        yield from map(_decoded, connection.execute(columns.where(listings.c.id.in_(some))))


def _unmatched(connection: Connection, ids: Sequence[int]) -> Iterator[int]:
    """Of these, the adverts that no property has."""
    found = select(listings.c.id).outerjoin(listing_sources, listing_sources.c.listing_id == listings.c.id)
    for some in portions(ids):
        yield from connection.scalars(
            found.where(listings.c.id.in_(some), listing_sources.c.listing_id.is_(None))
        )


def advert_columns(*, photos: bool) -> Select[Any]:
    """All that is looked at of an advert."""
    # Lists are fetched as text: most of them are alike, and are decoded once.
    texts = [cast(listings.c[name], Text) for name in (*_LISTS, *_SETS)]
    pictures = cast(listings.c.photo_urls, Text) if photos else literal(NO_LIST)
    said = cast(description_reads.c.attributes, Text)
    plain = (NEW_AT if name == "new_at" else listings.c[name] for name in _PLAIN)
    return select(*plain, *texts, pictures, said).outerjoin(
        description_reads, description_reads.c.listing_id == listings.c.id
    )


def _decoded(row: Sequence[Any]) -> AdvertRow:
    advert = dict(zip(_NAMES, row, strict=True))
    for name in _FEW:
        if (text := advert[name]) is not None:
            advert[name] = sys.intern(text)
    for name in _LISTS:
        advert[name] = decoded_list(advert[name])
    for name in _SETS:
        advert[name] = decoded_set(advert[name])
    advert["described"] = advert["said"] is not None
    advert["said"] = _sure(advert["said"])
    return advert


def _sure(text: str | None) -> Mapping[str, Any]:
    """What a description says without contradicting itself, each with its words."""
    if text is None:
        return {}
    return {
        field: one
        for field, one in json.loads(text).items()
        if one["value"] is not None and one["status"] != "conflict"
    }
