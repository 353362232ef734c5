"""Adverts of flats, stored and matched for real; what came of it told without our own ids."""

import tempfile
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import delete, select

from contract.storage.helpers import ready_database
from sale_sofia.flats.matching.clustering import Bands, Matcher
from sale_sofia.flats.matching.fingerprint import Adverts, PropertyFingerprinter
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import listing_sources, match_links
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.storage.all_tables import metadata
from sale_sofia.storage.database import Database

SECRET = b"s" * 32
FLAT = {
    "deal": "sale",
    "property_type": "apartment",
    "rooms": 3,
    "price_eur": 183_400.0,
    "area_sqm": 87.0,
    "floor": 4,
    "floors_total": 8,
    "city": "София",
    "neighbourhood": "Лозенец",
    "seller_kind": "agency",
    "seller_name": "СЕДЕМ КЛЮЧА",
}
"""A flat whose numbers nobody shares by chance."""
_opened: list[Database] = []
OWN_WORDS = (
    "Тиха уличка с липи, от терасата се вижда стар орех, а в двора играят съседските котки през цялото лято."
)


def advert(name: str, **fields: Any) -> Listing:  # noqa: ANN401 - any field
    """An advert of that flat; what differs is given."""
    site = fields.pop("site", "imot.bg")
    url = fields.pop("url", f"https://{site}/{name}")
    return Listing.model_validate({**FLAT, "site": site, "external_id": name, "url": url, **fields})


def adverts_of(given: Sequence[Listing]) -> Adverts:
    """Their records, with ids from 1 on."""
    rows = [one.model_dump() for one in given]
    return Adverts.of(range(1, len(rows) + 1), PropertyFingerprinter(SECRET).fingerprints(rows))


def matcher() -> Matcher:
    """With the bands of a new installation."""
    settings = Settings()
    return Matcher.of(Bands(settings.match_link_probability, settings.match_review_probability))


def groups_of(given: Sequence[Listing]) -> set[frozenset[str]]:
    """The adverts' external ids by property, of those with more than one."""
    matched = matcher().match(adverts_of(given))
    found: dict[int, set[str]] = {}
    for one, group in zip(given, matched.groups.tolist(), strict=True):
        found.setdefault(group, set()).add(one.external_id)
    return {frozenset(members) for members in found.values() if len(members) > 1}


def new_matching(place: Path | str, *, kept: bool = False) -> PropertyMatching:
    """A database with nothing in it, in a folder or at a URL; closed after the test, unless kept."""
    folder = place if isinstance(place, Path) else Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    database = ready_database(folder / "x.db" if isinstance(place, Path) else place)
    _opened.extend([] if kept else [database])
    return PropertyMatching(Settings(data_dir=folder), database, clock=lambda: 1000.0)


def dispose_all() -> None:
    """Close every database that `new_matching` opened."""
    while _opened:
        _opened.pop().dispose()


def empty(database: Database) -> None:
    """All rows of all tables are gone."""
    with database.write() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))


def save(database: Database, given: Iterable[Listing], *, seen_at: float = 1.0) -> None:
    """Store these as seen at one moment, each in its own turn, so that the order of ids is theirs."""
    for one in given:
        with database.write() as connection:
            save_listings(connection, [Sighting(one, seen_at, None, None)])


def ids_of(database: Database) -> dict[str, int]:
    """Our id of each advert, by external id; of a re-used one the newest."""
    with database.read() as connection:
        found = connection.execute(select(listings.c.external_id, listings.c.id).order_by(listings.c.id))
        return {row[0]: row[1] for row in found}


def parts(database: Database) -> set[frozenset[str]]:
    """The stored properties, each as its adverts' `external_id/generation`."""
    told = select(listing_sources.c.property_id, listings.c.external_id, listings.c.generation).join(
        listings, listings.c.id == listing_sources.c.listing_id
    )
    found: dict[int, set[str]] = {}
    with database.read() as connection:
        for row in connection.execute(told):
            found.setdefault(row[0], set()).add(f"{row[1]}/{row[2]}")
    return {frozenset(members) for members in found.values()}


def stored(database: Database) -> tuple[list[Any], list[Any]]:
    """All sources and links as they stand in the tables, but for when they were written."""
    columns = [column for column in listing_sources.columns if column.name != "decided_at"]
    with database.read() as connection:
        sources = connection.execute(select(*columns).order_by(listing_sources.c.listing_id)).all()
        links = connection.execute(select(match_links).order_by(match_links.c.low, match_links.c.high)).all()
    return [tuple(row) for row in sources], [tuple(row) for row in links]


def pairs_in(groups: Any) -> set[tuple[int, int]]:  # noqa: ANN401 - any array of group numbers
    """Every two places with the same number."""
    order = np.argsort(groups, kind="stable")
    borders = np.flatnonzero(np.diff(np.asarray(groups)[order])) + 1
    return {pair for members in np.split(order, borders) for pair in _two(members.tolist())}


def _two(members: Collection[int]) -> Iterable[tuple[int, int]]:
    ordered = sorted(members)
    return ((one, two) for place, one in enumerate(ordered) for two in ordered[place + 1 :])
