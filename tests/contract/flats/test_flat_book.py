"""The flats and scores in memory are those of the database, though only what changed is read."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from sale_sofia.advice.costs import loan
from sale_sofia.advice.since import news_since
from sale_sofia.buyer.visitors import all_put_off, put_off, seen_all, take_up, visit
from sale_sofia.flats import overrides
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import refresh_flats
from sale_sofia.flats.rows import PriceStep, find_flat, previous_price, read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import UnknownProperty, resolve
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.market_events import set_gone
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


def gone(database: Database, number: int, at: float) -> None:
    database.run_write(lambda connection: set_gone(connection, {number: at}, now=at, reason="missed"))


def fresh(database: Database) -> dict[int, Flat]:
    return database.run_read(lambda connection: {one.property_id: one for one in read_flats(connection)})


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


def test_who_was_away_for_weeks_is_not_here_for_the_first_time(database: Database) -> None:
    back = NOW + 20 * 24 * HOUR
    for at, first in ((NOW, True), (back, False), (back + 100, False)):
        found = database.run_write(partial(visit, visitor="a", now=at))
        assert found.first is first, at
    assert found.since == NOW


def test_what_is_put_off_waits_until_it_is_taken_up(database: Database) -> None:
    see(database, 1, NOW)
    for at in (NOW, NOW + 1):
        database.run_write(partial(put_off, visitor="a", property_id=1, now=at))
    assert database.run_read(lambda connection: all_put_off(connection, "a")) == {1: NOW + 1}
    assert database.run_read(lambda connection: all_put_off(connection, "b")) == {}
    database.run_write(lambda connection: take_up(connection, "a", 1))
    assert database.run_read(lambda connection: all_put_off(connection, "a")) == {}


def test_what_is_put_off_stays_so_when_flats_are_joined(database: Database, tmp_path: Path) -> None:
    matching = PropertyMatching(Settings(data_dir=tmp_path), database)
    for number in (1, 2, 3):
        see(database, number, NOW, rooms=number, area_sqm=50.0 * number, price_eur=100_000.0 * number)
    matching.match_new()

    def later() -> Mapping[int, float]:
        return database.run_read(partial(all_put_off, visitor="a"))

    for number, at in ((1, NOW + 1), (2, NOW)):
        database.run_write(partial(put_off, visitor="a", property_id=number, now=at))
    overrides.link(matching, 1, 2)
    assert later() == {1: NOW + 1}, "the last time counts"
    database.run_write(partial(put_off, visitor="a", property_id=1, now=NOW + 2))
    assert later() == {1: NOW + 2}
    database.run_write(partial(put_off, visitor="a", property_id=3, now=NOW))
    overrides.link(matching, 1, 3)
    database.run_write(partial(take_up, visitor="a", property_id=1))
    assert later() == {}


@pytest.mark.parametrize("read", [find_flat, resolve])
def test_an_id_that_no_database_holds_is_no_property(
    database: Database, read: Callable[[Connection, int], object]
) -> None:
    with database.read() as connection:
        for number in (0, -1, 2**63, 10**30):
            with pytest.raises(UnknownProperty, match=f"no property {number};"):
                read(connection, number)


def test_the_price_before_is_that_before_the_last_real_change() -> None:
    first, cut = PriceStep(1.0, 200.0, "first"), PriceStep(2.0, 190.0, "price")
    vat = PriceStep(3.0, 228.0, "vat")
    assert previous_price([]) is None
    assert previous_price([first]) is None
    assert previous_price([first, cut]) == 200.0
    assert previous_price([first, cut, vat]) == 240.0  # 200 as it would be printed now


def test_another_vat_is_no_part_of_a_price_cut_in_the_news(database: Database) -> None:
    see(database, 1, NOW, price_eur=120_000.0, vat="included")
    see(database, 1, NOW + HOUR, price_eur=118_800.0, vat="included")
    see(database, 1, NOW + 2 * HOUR, price_eur=99_000.0, vat="excluded")
    refresh_flats(database)
    [news] = database.run_read(partial(news_since, since=NOW + 1, among={1}))
    assert (news.kind, news.old_eur, news.new_eur) == ("cut", 100_000.0, 99_000.0)


def test_a_cheaper_advert_that_is_gone_is_no_news_of_a_flat_on_offer(
    database: Database, tmp_path: Path
) -> None:
    matching = PropertyMatching(Settings(data_dir=tmp_path), database)
    for number in (1, 2):
        see(database, number, NOW, rooms=number, area_sqm=50.0 * number, price_eur=100_000.0)
    matching.match_new()
    overrides.link(matching, 1, 2)
    see(database, 1, NOW + HOUR, rooms=1, area_sqm=50.0, price_eur=95_000.0)
    see(database, 2, NOW + HOUR, rooms=2, area_sqm=100.0, price_eur=90_000.0)
    gone(database, 2, NOW + 2 * HOUR)
    refresh_flats(database)
    [news] = database.run_read(partial(news_since, since=NOW + 1, among={1}))
    assert (news.kind, news.property_id, news.new_eur) == ("cut", 1, 95_000.0)


def test_a_flat_that_is_new_is_only_new_in_the_news(database: Database) -> None:
    see(database, 1, NOW)
    gone(database, 1, NOW + HOUR)
    see(database, 1, NOW + 2 * HOUR)
    refresh_flats(database)

    def kinds(since: float) -> list[str]:
        return [news.kind for news in database.run_read(partial(news_since, since=since, among={1}))]

    assert (kinds(NOW - 1), kinds(NOW + 1)) == (["new"], ["back"])


def test_a_flat_of_several_adverts_is_gone_since_the_last_of_them_went(
    database: Database, tmp_path: Path
) -> None:
    matching = PropertyMatching(Settings(data_dir=tmp_path), database)
    for number in (1, 2):
        see(database, number, NOW, rooms=number, area_sqm=50.0 * number, price_eur=100_000.0 * number)
    matching.match_new()
    overrides.link(matching, 1, 2)
    gone(database, 1, NOW + HOUR)
    gone(database, 2, NOW + 2 * HOUR)
    refresh_flats(database)
    [news] = database.run_read(partial(news_since, since=NOW + 1, among=()))
    assert (news.kind, news.property_id, news.at) == ("gone", 1, NOW + 2 * HOUR)


def test_a_flat_is_back_only_after_none_of_its_adverts_was_there(database: Database, tmp_path: Path) -> None:
    matching = PropertyMatching(Settings(data_dir=tmp_path), database)
    for number in range(1, 5):
        see(database, number, NOW, rooms=number, area_sqm=50.0 * number, price_eur=100_000.0 * number)
    matching.match_new()
    overrides.link(matching, 1, 2)
    overrides.link(matching, 3, 4)
    for number in (1, 2, 3):
        gone(database, number, NOW + HOUR)
    for number, hour in ((1, 2), (2, 2), (3, 3)):
        see(database, number, NOW + hour * HOUR, rooms=number, area_sqm=50.0 * number)
    gone(database, 4, NOW + 4 * HOUR)
    refresh_flats(database)
    found = database.run_read(partial(news_since, since=NOW + 1, among=()))
    assert [(news.kind, news.property_id, news.at) for news in found] == [("back", 1, NOW + 2 * HOUR)]


def test_a_loan_is_the_banks_arithmetic() -> None:
    taken, owed = loan(160_000, 2.8, 25), 160_000.0
    for _ in range(25 * 12):
        owed = owed * (1 + 0.028 / 12) - taken.monthly
    assert owed == pytest.approx(0, abs=1e-6)
    assert round(taken.interest, 2) == round(taken.monthly * 300 - 160_000, 2)
    assert loan(120_000, 0, 10).monthly == 1000
