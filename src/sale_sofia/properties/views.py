"""A property as a person wants to see it: merged, with every advert's offer and why it is there."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from sale_sofia.data.properties import listing_rows, members_of, resolve
from sale_sofia.data.properties_views import ReviewLine
from sale_sofia.properties.merger import PropertyMerger

View = dict[str, Any]
_SHOWN = (
    "site",
    "url",
    "title",
    "price_eur",
    "area_sqm",
    "rooms",
    "floor",
    "floors_total",
    "neighbourhood",
    "year_built",
)


def show_property(connection: Connection, property_id: int) -> View:
    """The whole of one property; an id of before leads to the one it is in now."""
    found = resolve(connection, property_id)
    members = members_of(connection, [found])
    adverts = listing_rows(connection, [source.listing_id for source in members])
    view = PropertyMerger().merge(found, adverts)
    view["links"] = [
        {
            "listing_id": source.listing_id,
            "decided_by": source.decided_by,
            "probability": source.probability,
            "evidence": dict(source.evidence),
        }
        for source in members
    ]
    return view


def show_review(connection: Connection, lines: Sequence[ReviewLine]) -> list[View]:
    """Pairs that wait for the buyer, with what both adverts say."""
    ids = sorted({one for line in lines for one in (line.low, line.high)})
    adverts: Mapping[int, Any] = {row["id"]: row for row in listing_rows(connection, ids)}
    return [
        {
            "properties": [line.one, line.two],
            "probability": line.probability,
            "unsure_since": line.unsure_since,
            "adverts": [_shown(adverts[one]) for one in (line.low, line.high)],
        }
        for line in lines
    ]


def _shown(row: Mapping[str, Any]) -> View:
    return {"listing_id": row["id"], **{name: row[name] for name in _SHOWN}}
