from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from contract.storage.helpers import advert, database, rows
from contract.storage.strategies import listings as any_listings
from sale_sofia.history.listing_rows import content_hash, listing_fields
from sale_sofia.history.listings import (
    SaveResult,
    Sighting,
    detect_all_changes,
    load_listing,
    save_listing,
    save_listings,
)
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.tables import (
    listing_changes,
    listings,
    market_events,
    price_points,
    revisions,
    scrape_history,
)
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database

NUMBERS = count()


@pytest.fixture(scope="module")
def db(module_store_url: str) -> Iterator[Database]:
    made = database(module_store_url)
    yield made
    made.dispose()


@pytest.fixture
def fresh(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def save(db: Database, listing: Listing, seen_at: float = 1.0, page_digest: str | None = None) -> SaveResult:
    with db.write() as connection:
        return save_listing(connection, listing, seen_at=seen_at, job_id=None, page_digest=page_digest)


def history(db: Database) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    with db.read() as connection:
        changes = rows(connection, listing_changes, "field", "old", "new", "seen_at")
        return changes, rows(connection, price_points, "price_eur", "price_bgn", "vat", "seen_at")


@pytest.mark.slow
@settings(deadline=None)
@given(any_listings())
def test_what_was_saved_is_loaded(db: Database, listing: Listing) -> None:
    listing = listing.model_copy(update={"external_id": f"saved {next(NUMBERS)}"})
    with db.write() as connection:  # a price that is too little for a whole flat is believed at once too
        save_listings(connection, [Sighting(listing, 1.0)], HistoryRules(odd_price_visits=1))
    with db.read() as connection:
        loaded = load_listing(connection, listing.site, listing.external_id)
    assert loaded == listing
    assert loaded.model_dump_json() == listing.model_dump_json()  # offsets too, which equality does not see


@pytest.mark.parametrize(("fold", "offset"), [(0, "+03:00"), (1, "+02:00")])
def test_the_hour_that_comes_twice_keeps_its_offset(fresh: Database, fold: int, offset: str) -> None:
    twice = datetime(2026, 10, 25, 3, 30, tzinfo=SOFIA, fold=fold)
    save(fresh, advert().model_copy(update={"posted_at": twice}))
    with fresh.read() as connection:
        assert rows(connection, listings, "posted_at") == [(f"2026-10-25T03:30:00{offset}",)]
        loaded = load_listing(connection, "imot.bg", "id1")
    assert loaded is not None
    assert loaded.posted_at is not None
    assert loaded.posted_at.isoformat() == f"2026-10-25T03:30:00{offset}"


def test_an_advert_that_was_never_saved(fresh: Database) -> None:
    with fresh.read() as connection:
        assert load_listing(connection, "imot.bg", "id1") is None


def test_the_first_sight_is_a_price_and_no_change(fresh: Database) -> None:
    assert save(fresh, advert(price_eur=100, price_bgn=195.583, vat="none"), 5.0) == "new"
    assert history(fresh) == ([], [(100.0, 195.583, "none", 5.0)])


def test_an_advert_without_a_price_has_that_as_its_first_price(fresh: Database) -> None:
    save(fresh, advert())
    assert history(fresh)[1] == [(None, None, None, 1.0)]


def test_the_same_again_is_only_seen_again(fresh: Database) -> None:
    save(fresh, advert(price_eur=100, views=1), 1.0, "f1f1")
    same = advert(price_eur=100, views=9, url="https://imot.bg/other", updated_at="2026-05-01T10:00:00+03:00")
    assert save(fresh, same, 2.0, "5ec0") == "unchanged"
    assert history(fresh) == ([], [(100.0, None, None, 1.0)])
    with fresh.read() as connection:
        stored = rows(connection, listings, "views", "url", "updated_at", "first_seen_at", "last_seen_at")
        assert stored == [(9, "https://imot.bg/other", "2026-05-01T10:00:00+03:00", 1.0, 2.0)]
        assert rows(connection, scrape_history, "page_digest") == [("f1f1",), ("5ec0",)]


def test_every_changed_field_is_recorded_by_value(fresh: Database) -> None:
    save(fresh, advert(title="стар", heating=["gas"], floor=3, elevator=True), 1.0)
    changed = advert(title="нов", heating=["gas", "electric"], floor=5, elevator=True, rooms=2)
    assert save(fresh, changed, 2.0) == "changed"
    changes, prices = history(fresh)
    assert changes == [
        ("rooms", None, 2, 2.0),
        ("title", "стар", "нов", 2.0),
        ("floor", 3, 5, 2.0),
        ("heating", ["gas"], ["gas", "electric"], 2.0),
    ]
    assert len(prices) == 1


@pytest.mark.parametrize(
    ("after", "point"),
    [
        ({"price_eur": 90.0, "vat": "none"}, (90.0, None, "none", 2.0)),
        ({"price_eur": 100.0, "vat": "excluded"}, (100.0, None, "excluded", 2.0)),
        ({"price_eur": 100.0, "price_bgn": 195.0, "vat": "none"}, (100.0, 195.0, "none", 2.0)),
        ({"vat": "none"}, (None, None, "none", 2.0)),
    ],
)
def test_each_part_of_a_price_makes_a_new_point(
    fresh: Database, after: dict[str, Any], point: tuple[Any, ...]
) -> None:
    save(fresh, advert(price_eur=100, vat="none"), 1.0)
    save(fresh, advert(**after), 2.0)
    assert history(fresh)[1] == [(100.0, None, "none", 1.0), point]


def test_a_price_that_comes_back_is_a_point_again(fresh: Database) -> None:
    for seen_at, price in enumerate((100, 90, 100, 100)):
        save(fresh, advert(price_eur=price), float(seen_at))
    assert [point[0] for point in history(fresh)[1]] == [100.0, 90.0, 100.0]


def test_a_change_names_its_job(fresh: Database) -> None:
    save(fresh, advert())
    with pytest.raises(IntegrityError), fresh.write() as connection:
        save_listing(connection, advert(rooms=2), seen_at=2.0, job_id="no such job", page_digest=None)
    assert history(fresh)[0] == []


def test_a_late_sighting_moves_no_moment_backwards(fresh: Database) -> None:
    for seen_at in (5.0, 3.0):
        save(fresh, advert(), seen_at)
    with fresh.read() as connection:
        assert rows(connection, listings, "first_seen_at", "last_seen_at") == [(3.0, 5.0)]


def test_the_hash_of_what_is_known_is_the_same_for_ever() -> None:
    known = {"title": 'Дом „Юг“ "x" \\ \n', "price_eur": 114300.0, "rooms": 3, "lat": 42.69751}
    fields = {**known, "features": ["асансьор"], "flags": [], "floor": None, "views": 7}
    assert content_hash(fields) == "ccb1b7a3513406b7fe5d125c1b8006c4"
    assert content_hash(fields, card=True) == "dca67770820524d5ec91745c38f01831"


def test_a_hash_of_an_older_form_is_no_change(fresh: Database) -> None:
    save(fresh, advert(rooms=2))
    with fresh.write() as connection:
        connection.execute(listings.update().values(content_hash="older"))
    assert save(fresh, advert(rooms=2), 2.0) == "unchanged"
    with fresh.read() as connection:
        assert rows(connection, listings, "content_hash") == [
            (content_hash(listing_fields(advert(rooms=2))),)
        ]


def test_the_same_number_on_two_sites_is_two_adverts(fresh: Database) -> None:
    with fresh.write() as connection:
        batch = [Sighting(advert(site=site), 1.0) for site in ("imot.bg", "bazar.bg")]
        assert save_listings(connection, batch) == ["new", "new"]


def test_an_empty_batch(fresh: Database) -> None:
    with fresh.write() as connection:
        assert save_listings(connection, []) == []


def test_changes_in_the_order_of_the_new_without_the_skipped() -> None:
    old, new = {"a": 1, "b": [1], "views": 1, "gone": 1}, {"views": 2, "b": [2], "a": 1, "c": 0}
    assert detect_all_changes(old, new) == [("b", [1], [2]), ("c", None, 0)]
    assert detect_all_changes(old, new, skipped=frozenset({"b"})) == [("views", 1, 2), ("c", None, 0)]


FEW = st.builds(
    Sighting,
    any_listings(site=st.just("imot.bg"), external_id=st.sampled_from(["a", "b", "c"])),
    st.floats(0, 100),
    st.none(),
    st.sampled_from(["d1", "d2"]),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(st.lists(st.lists(FEW, max_size=6), max_size=3))
def test_a_batch_stores_what_one_by_one_stores(db: Database, batches: list[list[Sighting]]) -> None:
    repeated = [batch + batch[:1] for batch in batches]
    assert _outcome(db, repeated) == _outcome(db, [[one] for batch in repeated for one in batch])


class _Undone(Exception):
    """Nothing of it stays in the database."""


def _outcome(db: Database, batches: Sequence[Sequence[Sighting]]) -> tuple[list[SaveResult], list[Any]]:
    with suppress(_Undone), db.write() as connection:
        for table in (revisions, market_events, price_points, listing_changes, scrape_history, listings):
            connection.execute(table.delete())
        results = [result for batch in batches for result in save_listings(connection, batch)]
        stored = [_stored(connection, external_id) for external_id in ("a", "b", "c")]
        raise _Undone
    return results, stored


def _stored(connection: Connection, external_id: str) -> list[Any]:
    whole = select(listings).where(listings.c.external_id == external_id).order_by(listings.c.generation)
    found = connection.execute(whole).mappings().all()
    history = [
        connection.execute(
            select(table).where(table.c.listing_id == row["id"]).order_by(table.c.id)
        ).mappings()
        for row in found
        for table in (listing_changes, price_points, market_events)
    ]
    return [_without_ids(one) for one in (*found, *(entry for entries in history for entry in entries))]


def _without_ids(row: Any) -> dict[str, Any]:  # noqa: ANN401 - a row of any table
    return {name: value for name, value in row.items() if name not in ("id", "listing_id", "visit_id")}
