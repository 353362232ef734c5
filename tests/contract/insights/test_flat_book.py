"""The flats and scores in memory are those of the database, though only what changed is read."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, update

from sale_sofia.advice.costs import loan
from sale_sofia.advice.scoring.book import Looks, ScoreBook
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.buyer.visitors import all_put_off, put_off, seen_all, take_up, visit
from sale_sofia.flats import overrides, rows
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import FlatBook, PriceStep, previous_price, read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.market_events import set_gone
from sale_sofia.history.news import release_all
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, DataVersion

NOW = 1_790_000_000.0
HOUR = 3600.0


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    opened = Database(store_url, busy_timeout_seconds=30, busy_retries=5)
    yield opened
    opened.dispose()


def see(database: Database, number: int, at: float, **facts: Any) -> None:  # noqa: ANN401 - fields of any kind
    own = {"site": "imot.bg", "external_id": f"1b{number}", "url": f"https://www.imot.bg/obiava-1b{number}"}
    told = {
        "deal": "sale", "property_type": "apartment", "rooms": 3, "price_eur": 100_000.0 + number,
        "area_sqm": 80.0 + number, "floor": number, "city": "София", "neighbourhood": "Лозенец",
    }  # fmt: skip
    listing = Listing.model_validate(own | told | facts)
    database.run_write(lambda connection: save_listings(connection, [Sighting(listing, at)]))


def fresh(database: Database) -> dict[int, Flat]:
    return database.run_read(lambda connection: {one.property_id: one for one in read_flats(connection)})


def refreshed(database: Database, book: FlatBook) -> dict[int, Flat]:
    database.run_read(book.refresh)
    return dict(book.flats)


def change(connection: Connection, number: int, **values: Any) -> None:  # noqa: ANN401 - columns of any kind
    connection.execute(update(listings).where(listings.c.id == number).values(values))
    touch(connection, [number])


@pytest.mark.slow
def test_every_kind_of_change_is_noticed_and_nothing_else_is_read(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(rows, "REREAD_SHARE", 10.0)
    for number in range(1, 11):
        see(database, number, NOW)
    book = FlatBook()
    assert refreshed(database, book) == fresh(database)
    untouched = book.flats[10]
    steps: dict[str, Callable[[], object]] = {
        "another price": lambda: see(database, 1, NOW + HOUR, price_eur=90_000.0),
        "a new advert": lambda: see(database, 11, NOW + HOUR),
        "a late sighting": lambda: see(database, 2, NOW - 5 * HOUR, price_eur=150_000.0),
        "another flat under a known id": lambda: see(database, 3, NOW + 2 * HOUR, area_sqm=200.0, floor=15),
        "gone": lambda: database.run_write(
            lambda connection: set_gone(connection, {4: NOW + HOUR}, now=NOW + 3 * HOUR, reason="missed")
        ),
        "only seen again": lambda: database.run_write(
            lambda connection: connection.execute(
                update(listings).where(listings.c.id == 5).values(last_seen_at=NOW + 4 * HOUR)
            )
        ),
        "held back": lambda: database.run_write(
            partial(change, number=8, held_by="job", new_at=NOW + 5 * HOUR)
        ),
        "let go": lambda: database.run_write(
            lambda connection: release_all(connection, "imot.bg", now=NOW + 6 * HOUR)
        ),
        "matched": lambda: _matching(database, tmp_path_factory).match_all(),
        "joined": lambda: overrides.link(_matching(database, tmp_path_factory), 6, 7),
        "parted": lambda: overrides.split(_matching(database, tmp_path_factory), 6, [7]),
    }
    for name, step in steps.items():
        step()
        assert refreshed(database, book) == fresh(database), name
        assert book.whose == {
            advert.listing_id: flat.property_id for flat in book.flats.values() for advert in flat.adverts
        }, name
        assert name in {"matched", "joined", "parted"} or book.flats[10] is untouched
    kept = book.flats
    database.run_read(book.refresh)
    assert book.flats is kept


def _matching(database: Database, folder: pytest.TempPathFactory) -> PropertyMatching:
    return PropertyMatching(Settings(data_dir=folder.mktemp("match")), database)


def test_what_was_seen_again_and_is_committed_late_is_found_by_the_next_look(database: Database) -> None:
    see(database, 1, NOW)
    see(database, 2, NOW)
    book = FlatBook()
    refreshed(database, book)
    late = update(listings).where(listings.c.id == 1).values(last_seen_at=NOW - 60)
    database.run_write(lambda connection: connection.execute(late))
    assert refreshed(database, book)[1].last_seen_at == NOW - 60


def test_the_version_moves_with_every_commit_and_in_a_file_with_nothing_else(database: Database) -> None:
    """A server moves it for the commits of its other databases too."""
    alone = database.url.get_backend_name() == "sqlite"
    version = DataVersion(database)
    first = version.current()
    assert not alone or version.current() == first
    see(database, 1, NOW)
    second = version.current()
    assert second != first
    fresh(database)
    assert not alone or version.current() == second
    version.close()


def test_scores_are_those_of_a_scorer_that_begins_anew(database: Database) -> None:
    for number in range(1, 21):
        see(database, number, NOW)
    profile = Profile(budget_eur=500_000)
    book, looks, scores = FlatBook(), Looks(Settings()), ScoreBook(profile)

    def ranked() -> dict[int, Any]:
        looks.refresh(refreshed(database, book), {})
        return dict(scores.refresh(looks.seen).scores)

    def anew() -> dict[int, Any]:
        other = Looks(Settings())
        other.refresh(fresh(database), {})
        return dict(ScoreBook(profile).refresh(other.seen).scores)

    first = ranked()
    assert first == anew()
    see(database, 1, NOW + HOUR, price_eur=900_000.0)
    second = ranked()
    assert second == anew()
    assert second[1].verdict == "fail"
    assert second[20] is first[20]
    order = [flat.property_id for flat in scores.refresh(looks.seen).flats]
    assert order[-1] == 1
    assert sorted(order) == sorted(second)


def test_a_visit_goes_on_until_a_pause_and_the_next_begins_where_it_ended(database: Database) -> None:
    def look_in(at: float) -> tuple[float, bool]:
        found = database.run_write(lambda connection: visit(connection, "a", now=at))
        return found.since, found.first

    week = 7 * 24 * HOUR
    assert look_in(NOW) == (NOW - week, True)
    assert look_in(NOW + 1500) == (NOW - week, True)
    assert look_in(NOW + 3000) == (NOW - week, True)
    assert look_in(NOW + 3000 + 2 * HOUR) == (NOW + 3000, False)
    assert look_in(NOW + 3010 + 2 * HOUR) == (NOW + 3000, False)
    other = database.run_write(lambda connection: visit(connection, "b", now=NOW))
    assert other.first
    database.run_write(lambda connection: seen_all(connection, "a", now=NOW + 4 * HOUR))
    assert look_in(NOW + 4 * HOUR + 5)[0] == NOW + 4 * HOUR


def test_what_is_put_off_waits_until_it_is_taken_up(database: Database) -> None:
    see(database, 1, NOW)
    for at in (NOW, NOW + 1):
        database.run_write(partial(put_off, visitor="a", property_id=1, now=at))
    assert database.run_read(lambda connection: all_put_off(connection, "a")) == {1: NOW + 1}
    assert database.run_read(lambda connection: all_put_off(connection, "b")) == {}
    database.run_write(lambda connection: take_up(connection, "a", 1))
    assert database.run_read(lambda connection: all_put_off(connection, "a")) == {}


def test_the_price_before_is_that_before_the_last_real_change() -> None:
    first, cut = PriceStep(1.0, 200.0, "first"), PriceStep(2.0, 190.0, "price")
    vat = PriceStep(3.0, 228.0, "vat")
    assert previous_price([]) is None
    assert previous_price([first]) is None
    assert previous_price([first, cut]) == 200.0
    assert previous_price([first, cut, vat]) == 200.0


def test_a_loan_is_the_banks_arithmetic() -> None:
    taken, owed = loan(160_000, 2.8, 25), 160_000.0
    for _ in range(25 * 12):
        owed = owed * (1 + 0.028 / 12) - taken.monthly
    assert owed == pytest.approx(0, abs=1e-6)
    assert round(taken.interest, 2) == round(taken.monthly * 300 - 160_000, 2)
    assert loan(120_000, 0, 10).monthly == 1000
