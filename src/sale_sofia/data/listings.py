"""The adverts: each one once, with every change and every price it ever had."""

from collections.abc import Iterable, Sequence
from typing import Literal

from sqlalchemy import Connection, Executable, RowMapping, bindparam, insert, select, update

from sale_sofia.data.listing_rows import STORED_FIELDS, VOLATILE_FIELDS, detect_all_changes, listing_from
from sale_sofia.data.schema import listing_changes, listings, price_points
from sale_sofia.data.sightings import (
    Key,
    Row,
    Sighting,
    change_rows,
    first_price_row,
    new_row,
    price_rows,
    touch,
    whole_update,
)
from sale_sofia.listings.model import Listing

__all__ = [
    "VOLATILE_FIELDS",
    "SaveResult",
    "Sighting",
    "detect_all_changes",
    "load_listing",
    "save_listing",
    "save_listings",
]

SaveResult = Literal["new", "changed", "unchanged"]
_Pair = tuple[Sighting, RowMapping]

_THIS_ADVERT = (
    listings.c.site == bindparam("of_site"),
    listings.c.external_id == bindparam("of_external_id"),
)
_INSERT_FIRST_PRICE = insert(price_points).values(
    listing_id=select(listings.c.id).where(*_THIS_ADVERT).scalar_subquery()
)
_UPDATE = update(listings).where(listings.c.id == bindparam("of_id"))
_STATE = ("id", "external_id", "content_hash", "first_seen_at", "last_seen_at")
_SELECT_STATES = (
    select(*(listings.c[name] for name in _STATE))
    .where(listings.c.site == bindparam("of_site"))
    .where(listings.c.external_id.in_(bindparam("of_external_ids", expanding=True)))
    .with_for_update()  # for a database that locks rows; SQLite has locked the whole file by now
)
_SELECT_WHOLE = select(listings).where(listings.c.id.in_(bindparam("of_ids", expanding=True)))
_SELECT_ADVERT = select(*(listings.c[name] for name in STORED_FIELDS)).where(*_THIS_ADVERT)


def save_listing(
    connection: Connection, listing: Listing, *, seen_at: float, job_id: str | None, page_digest: str | None
) -> SaveResult:
    """Store one advert, what changed in it, and its price if that is new. Needs a write transaction."""
    return save_listings(connection, [Sighting(listing, seen_at, job_id, page_digest)])[0]


def save_listings(connection: Connection, batch: Sequence[Sighting]) -> list[SaveResult]:
    """Store a batch; the results, and all that is stored, are as if saved one by one in this order.

    The order of saving is the order of the history, whatever `seen_at` says. Needs a write transaction.
    """
    results: dict[int, SaveResult] = {}
    waiting = list(enumerate(batch))
    while waiting:  # each round takes the first sighting of every advert that is left
        first = {sighting.key: (place, sighting) for place, sighting in reversed(waiting)}
        saved = _save_different(connection, [sighting for _, sighting in first.values()])
        results |= {place: saved[key] for key, (place, _) in first.items()}
        waiting = [(place, sighting) for place, sighting in waiting if place not in results]
    return [results[place] for place in range(len(batch))]


def load_listing(connection: Connection, site: str, external_id: str) -> Listing | None:
    """The advert as it was saved last; equal to what was saved."""
    found = connection.execute(_SELECT_ADVERT, {"of_site": site, "of_external_id": external_id})
    row = found.mappings().first()
    return None if row is None else listing_from(row)


def _save_different(connection: Connection, sightings: Sequence[Sighting]) -> dict[Key, SaveResult]:
    # Sorted, so that two writers who lock rows take them in the same order.
    ordered = sorted(sightings, key=lambda sighting: sighting.key)
    stored = _stored_states(connection, ordered)
    new = [sighting for sighting in ordered if sighting.key not in stored]
    known = [(sighting, stored[sighting.key]) for sighting in ordered if sighting.key in stored]
    moved = [pair for pair in known if pair[0].content_hash != pair[1]["content_hash"]]
    still = [pair for pair in known if pair[0].content_hash == pair[1]["content_hash"]]
    _insert(connection, new)
    _run(connection, _UPDATE, [touch(*pair) for pair in still])
    results: dict[Key, SaveResult] = dict.fromkeys(stored, "unchanged")
    results |= dict.fromkeys((sighting.key for sighting in new), "new")
    return results | dict.fromkeys(_update(connection, moved), "changed")


def _stored_states(connection: Connection, sightings: Iterable[Sighting]) -> dict[Key, RowMapping]:
    by_site: dict[str, list[str]] = {}
    for site, external_id in (sighting.key for sighting in sightings):
        by_site.setdefault(site, []).append(external_id)
    return {
        (site, row["external_id"]): row
        for site, ids in by_site.items()
        for row in connection.execute(_SELECT_STATES, {"of_site": site, "of_external_ids": ids}).mappings()
    }


def _insert(connection: Connection, new: Sequence[Sighting]) -> None:
    _run(connection, insert(listings), [new_row(sighting) for sighting in new])
    _run(connection, _INSERT_FIRST_PRICE, [first_price_row(sighting) for sighting in new])


def _update(connection: Connection, moved: Sequence[_Pair]) -> list[Key]:
    """The adverts in which a field changed. A new form of the hash moves it too, and is no change."""
    if not moved:
        return []
    pairs = _with_whole_rows(connection, moved)
    changes = {sighting.key: change_rows(sighting, old) for sighting, old in pairs}
    _run(connection, insert(listing_changes), [row for rows in changes.values() for row in rows])
    _run(connection, insert(price_points), [row for pair in pairs for row in price_rows(*pair)])
    _run(connection, _UPDATE, [whole_update(*pair) for pair in pairs])
    return [key for key, rows in changes.items() if rows]


def _with_whole_rows(connection: Connection, pairs: Sequence[_Pair]) -> list[_Pair]:
    found = connection.execute(_SELECT_WHOLE, {"of_ids": [state["id"] for _, state in pairs]}).mappings()
    whole = {row["id"]: row for row in found}
    return [(sighting, whole[state["id"]]) for sighting, state in pairs]


def _run(connection: Connection, statement: Executable, rows: Sequence[Row]) -> None:
    if rows:
        connection.execute(statement, rows)
