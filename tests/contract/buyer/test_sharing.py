"""Links to a flat for others: they follow the flat, end in their time, and are bounded."""

from collections.abc import Iterator
from functools import partial

import pytest
from sqlalchemy import insert, select

from sale_sofia.buyer.evaluations import By, WrongEvaluation
from sale_sofia.buyer.settings import MOST_SHARED
from sale_sofia.buyer.sharing import links_to, share, shared_by, take_back
from sale_sofia.buyer.tables import shared_links
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.flats.tables import listing_sources, properties
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database

NOW, DAY = 1_000_000.0, 86_400.0
ANA = By("Ана", NOW)


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = Database(store_url, busy_timeout_seconds=5, busy_retries=2)
    own = {"site": "imot.bg", "kind": "listing"}
    adverts = [
        Listing.model_validate(own | {"external_id": name, "url": f"https://imot.bg/{name}"}) for name in "ab"
    ]
    with made.write() as connection:
        save_listings(connection, [Sighting(one, NOW) for one in adverts])
    yield made
    made.dispose()


def make(db: Database, flat: int = 1, days: int = 7, by: By = ANA) -> str:
    return db.run_write(partial(share, property_id=flat, days=days, by=by))


def shows(db: Database, token: str, now: float = NOW) -> int | None:
    found = db.run_read(partial(shared_by, token=token, now=now))
    return found.property_id if found else None


def test_a_link_shows_its_flat_until_it_ends_or_is_taken_back(db: Database) -> None:
    one, two = make(db, 1), make(db, 2, days=1)
    assert (shows(db, one), shows(db, two), shows(db, one + "x"), shows(db, "")) == (1, 2, None, None)
    assert (shows(db, two, NOW + DAY - 1), shows(db, two, NOW + DAY), shows(db, one, NOW + DAY)) == (
        2,
        None,
        1,
    )
    (link,) = db.run_read(partial(links_to, property_id=1, now=NOW))
    assert (link.made_by, link.made_at, link.ends_at) == ("Ана", NOW, NOW + 7 * DAY)
    assert [db.run_write(partial(take_back, link_id=link.id, by=ANA)) for _ in range(2)] == [True, False]
    assert not db.run_write(partial(take_back, link_id=2**63, by=ANA)), "no database holds such a number"
    assert (shows(db, one), shows(db, two)) == (None, 2)
    with db.read() as connection:
        stored = " ".join(str(value) for row in connection.execute(select(shared_links)) for value in row)
    assert two not in stored


def test_a_link_follows_its_advert_to_the_flat_it_is_of_now(db: Database) -> None:
    token = make(db, 2)
    with db.write() as connection:
        connection.execute(insert(properties), [{"id": 1, "made_at": NOW}])
        same = {
            "property_id": 1,
            "probability": 1.0,
            "decided_by": "score",
            "evidence": {},
            "decided_at": 1.0,
        }
        connection.execute(insert(listing_sources), [{"listing_id": one, **same} for one in (1, 2)])
    assert shows(db, token) == 1
    assert len(db.run_read(partial(links_to, property_id=2, now=NOW))) == 1


def test_what_cannot_be_shared_is_refused_and_what_is_over_makes_room(db: Database) -> None:
    with pytest.raises(UnknownProperty):
        make(db, 99)
    for days in (0, -1, 366):
        with pytest.raises(WrongEvaluation, match="from 1 to 365 days"):
            make(db, days=days)
    rows = [
        {"digest": str(number), "property_id": 1, "made_by": "x", "made_at": NOW, "ends_at": NOW + DAY}
        for number in range(MOST_SHARED)
    ]
    with db.write() as connection:
        connection.execute(insert(shared_links), rows)
    with pytest.raises(WrongEvaluation, match=f"{MOST_SHARED} links already"):
        make(db)
    later = By("Ана", NOW + DAY)
    assert shows(db, make(db, by=later), later.at) == 1
    assert len(db.run_read(partial(links_to, now=0.0))) == 1
