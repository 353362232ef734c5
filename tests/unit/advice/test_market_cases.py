"""What market figures count and what they leave out, on adverts made by hand."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contract.storage.helpers import ready_database
from property_worlds import advert, empty, ids_of, save
from sale_sofia.advice.market.market import (
    Cell,
    Deal,
    Figures,
    Market,
    WeekSpan,
    read_market,
    room_type,
    spans_until,
)
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.history.market_events import MISSED, set_back, set_gone
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from tables import each_row

DAY = 86_400.0
START = datetime(2026, 3, 2, 12, tzinfo=SOFIA).timestamp()
"""A Monday."""
NOW = START + 20 * DAY
LEAST = Settings(market_least_flats=1, market_weeks=4)
WHOLE = Cell("Лозенец", None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = ready_database(tmp_path_factory.mktemp("cases") / "x.db")
    yield database
    database.dispose()


@pytest.fixture
def database(made: Database) -> Database:
    """With nothing in it."""
    empty(made)
    return made


def see(database: Database, name: str, day: float = 0, **fields: Any) -> None:  # noqa: ANN401 - any field
    save(database, [advert(name, **fields)], seen_at=START + day * DAY)


def market_of(database: Database, deal: Deal = "sale", settings: Settings = LEAST) -> Market:
    return read_market(database, settings, now=NOW, deal=deal)


def figures_of(database: Database) -> Figures:
    return market_of(database).cells[WHOLE]


def test_a_price_without_vat_counts_with_it(database: Database) -> None:
    see(database, "a", price_eur=100_000.0, area_sqm=100.0, vat="excluded")
    quartiles = figures_of(database).eur_sqm
    assert quartiles is not None
    assert quartiles.median == pytest.approx(1200)


@pytest.mark.parametrize("vat", ["included", "none", None])
def test_any_other_price_counts_as_it_is_printed(database: Database, vat: str | None) -> None:
    see(database, "a", price_eur=100_000.0, area_sqm=100.0, vat=vat)
    quartiles = figures_of(database).eur_sqm
    assert quartiles is not None
    assert quartiles.median == 1000


def test_another_vat_is_no_cut(database: Database) -> None:
    for day, vat in ((0, "excluded"), (5, None), (6, "included")):
        see(database, "a", day, price_eur=100_000.0, vat=vat)
    assert figures_of(database).cuts == (0, 0.0, None)


def test_each_cut_counts_and_a_rise_does_not(database: Database) -> None:
    for day, price in ((0, 100_000.0), (3, 90_000.0), (6, 95_000.0), (9, 93_100.0)):
        see(database, "a", day, price_eur=price)
    see(database, "b", price_eur=300_000.0, area_sqm=120.0, floor=2)
    cuts = figures_of(database).cuts
    assert (cuts.flats, cuts.share) == (1, 0.5)
    assert cuts.median_percent == pytest.approx((10 + 2) / 2)
    of_two = market_of(database, settings=Settings(market_least_flats=2, market_weeks=4)).cells[WHOLE].cuts
    assert of_two == (1, 0.5, None), "one flat's cuts are not those of two"


def test_one_flat_on_two_portals_is_one_and_costs_the_lower_price(database: Database, tmp_path: Path) -> None:
    see(database, "a", price_eur=183_400.0, family_id="f1")
    see(database, "b", price_eur=180_000.0, site="bazar.bg", family_id="f1")
    PropertyMatching(Settings(data_dir=tmp_path), database).match_new()
    found = figures_of(database)
    assert (found.stock, found.prices, found.days.flats) == (1, 1, 1)
    assert found.eur_sqm is not None
    assert found.eur_sqm.median == pytest.approx(180_000 / 87)


def test_a_flat_is_gone_when_the_last_of_its_adverts_is(database: Database, tmp_path: Path) -> None:
    see(database, "a", family_id="f1")
    see(database, "b", 2, site="bazar.bg", family_id="f1")
    PropertyMatching(Settings(data_dir=tmp_path), database).match_new()
    gone, ids = partial(set_gone, now=NOW, reason=MISSED), ids_of(database)
    database.run_write(lambda connection: gone(connection, {ids["a"]: START + 4 * DAY}))
    assert (figures_of(database).stock, figures_of(database).days.gone) == (1, 0)
    database.run_write(lambda connection: gone(connection, {ids["b"]: START + 9 * DAY}))
    found = figures_of(database)
    assert (found.stock, found.days.gone, found.days.median) == (0, 1, 9)
    assert [week.stock for week in found.weeks] == [1, 0, 0]
    assert [week.gone for week in found.weeks] == [0, 1, 0]


def test_what_comes_back_was_away_but_never_gone(database: Database) -> None:
    see(database, "a")
    since = {ids_of(database)["a"]: START + 4 * DAY}
    database.run_write(lambda connection: set_gone(connection, since, now=START + 5 * DAY, reason=MISSED))
    database.run_write(lambda connection: set_back(connection, list(since), at=START + 12 * DAY))
    found = figures_of(database)
    assert [week.stock for week in found.weeks] == [0, 1, 1]
    assert (found.days.gone, found.stock) == (0, 1)
    assert sum(week.gone for week in found.weeks) == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"deal": "rent"},
        {"deal": None},
        {"property_type": "office"},
        {"property_type": None},
        {"city": "Пловдив"},
        {"city": None},
        {"neighbourhood": None},
        {"flags": ["place_conflict"]},
    ],
)
def test_what_is_no_flat_for_sale_in_sofia_is_left_out(database: Database, fields: dict[str, Any]) -> None:
    see(database, "a", **fields)
    assert market_of(database).cells == {}


def test_rents_are_a_market_of_their_own(database: Database) -> None:
    see(database, "a", deal="rent", price_eur=870.0)
    see(database, "b", price_eur=300_000.0, area_sqm=120.0)
    found = market_of(database, "rent").cells[WHOLE].eur_sqm
    assert found is not None
    assert found.median == 10
    assert market_of(database).cells[WHOLE].stock == 1


def test_a_flat_without_a_price_is_stock_and_no_price(database: Database) -> None:
    see(database, "a", price_eur=None)
    found = figures_of(database)
    assert (found.stock, found.prices, found.eur_sqm) == (1, 0, None)


def test_the_first_week_says_nothing_of_what_is_new(database: Database) -> None:
    see(database, "a")
    see(database, "b", 8, price_eur=300_000.0, area_sqm=120.0)
    found = figures_of(database)
    assert [week.new for week in found.weeks] == [None, 1, 0]
    assert found.new_per_week == 1


@each_row(
    ("kind", "rooms", "expected"),
    [
        ("apartment", 1, "1"),
        ("apartment", 7, "5+"),
        ("maisonette", 3, "maisonette"),
        ("apartment", None, "?"),
    ],
)
def test_kinds_of_flats(kind: str, rooms: int | None, expected: str) -> None:
    assert room_type(kind, rooms) == expected


def test_weeks_begin_on_mondays_also_when_clocks_change() -> None:
    now = datetime(2026, 4, 1, 10, tzinfo=SOFIA).timestamp()  # summer time began on 29 March
    spans = spans_until(now, 2)
    monday = [datetime.fromtimestamp(span.start, SOFIA) for span in spans]
    assert [(one.weekday(), one.hour) for one in monday] == [(0, 0)] * 3
    assert spans[1].end - spans[1].start == 7 * DAY - 3600
    assert spans[-1] == WeekSpan(spans[1].end, now, complete=False)
