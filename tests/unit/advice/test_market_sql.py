"""The market of simulated days beside a second working out of it in SQL, figure by figure."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, select

import market_sql as sql
from contract.storage.helpers import ready_database
from sale_sofia.advice.market.market import Cell, Market, Stay, Week, kaplan_meier, read_market
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.market_events import MISSED, set_back, set_gone
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia_simulator.model import World
from sale_sofia_simulator.truth import bazar_truth
from sale_sofia_simulator.world import advance, make_world
from simulated_days import Days, moment_of

pytestmark = pytest.mark.slow
DAYS, PROPERTIES, SEED, WEEKS = 25, 90, 5, 3
NOW = moment_of(DAYS)
Ask = Callable[..., list[tuple[Any, ...]]]


def save_bazar(connection: Connection, world: World, day: int) -> None:
    """The same flats on another portal, every second one."""
    adverts = [Listing.model_validate(bazar_truth(one)) for one in world.bazar[::2]]
    save_listings(connection, [Sighting(one, moment_of(day) + 60, None, None) for one in adverts])


def leave_and_return(connection: Connection) -> None:
    """On the other portal, where nothing is swept."""
    ids = list(
        connection.scalars(select(listings.c.id).where(listings.c.site == "bazar.bg").order_by(listings.c.id))
    )
    set_gone(connection, dict.fromkeys(ids[:20], moment_of(12)), now=moment_of(13), reason=MISSED)
    set_back(connection, ids[:5], at=moment_of(19))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("market")
    database = ready_database(folder / "x.db")
    days, world = Days(database), make_world(PROPERTIES, SEED)
    for day in range(DAYS):
        world = advance(world, day, SEED) if day else world
        days.sweep(world)
        if day == 1:
            database.run_write(partial(save_bazar, world=world, day=day))
    database.run_write(leave_and_return)
    PropertyMatching(Settings(data_dir=folder), database).match_new()
    yield database
    database.dispose()


@pytest.fixture(scope="module")
def connection(database: Database, market: Market) -> Iterator[Connection]:  # noqa: ARG001 - it is read first
    with database.read() as opened:
        yield opened


@pytest.fixture(scope="module")
def market(database: Database) -> Market:
    return read_market(database, Settings(market_least_flats=1, market_weeks=WEEKS), now=NOW)


@pytest.fixture(scope="module")
def ask(connection: Connection) -> Ask:
    return partial(sql.ask, connection, now=NOW, weeks=WEEKS)


def weeks_of(market: Market) -> dict[tuple[str | None, str | None, int], Week]:
    """By neighbourhood, rooms, and how many weeks back."""
    return {
        (*cell, len(found.weeks) - 1 - number): week
        for cell, found in market.cells.items()
        for number, week in enumerate(found.weeks)
    }


def test_the_world_has_what_the_figures_are_about(market: Market) -> None:
    whole = market.cells[Cell(None, None)]
    assert whole.stock > 60
    assert whole.days.gone > 10
    assert whole.cuts.flats > 3
    assert len(whole.weeks) == WEEKS + 1
    assert len({cell.neighbourhood for cell in market.cells}) > 20


def test_flats_are_counted_once(connection: Connection, market: Market) -> None:
    adverts = connection.exec_driver_sql(
        "SELECT COUNT(*), COUNT(DISTINCT property_id) FROM listing_sources"
    ).one()
    assert adverts[0] > adverts[1] + 20
    assert market.cells[Cell(None, None)].days.flats <= adverts[1]


def test_stock_and_prices_of_every_week(market: Market, ask: Ask) -> None:
    found = {key: (week.stock, week.prices) for key, week in weeks_of(market).items() if week.stock}
    expected = {tuple(row[:3]): row[3:] for row in ask(sql.STOCK)}
    assert found == {key: expected[key] for key in found}
    assert {key for key in expected if key not in found} == set()


@pytest.mark.parametrize(("share", "name"), [(0.25, "low"), (0.5, "median"), (0.75, "high")])
def test_quartiles(market: Market, ask: Ask, share: float, name: str) -> None:
    expected = {(row[0], row[1]): row[3] for row in ask(sql.QUANTILE, share=share) if row[2] == 0}
    found = {tuple(cell): getattr(one.eur_sqm, name) for cell, one in market.cells.items() if one.eur_sqm}
    assert found == pytest.approx(expected)
    assert len(found) > 50


def test_the_trend_is_made_of_each_weeks_own_prices(market: Market, ask: Ask) -> None:
    expected = {row[:3]: row[3] for row in ask(sql.QUANTILE, share=0.5)}
    found = {key: week.median_eur_sqm for key, week in weeks_of(market).items() if week.prices}
    assert found == pytest.approx(expected)
    whole = market.cells[Cell(None, None)]
    first, last = expected[None, None, WEEKS], expected[None, None, 0]
    assert whole.change_percent == pytest.approx((last / first - 1) * 100)
    assert whole.change_percent != 0


def test_new_and_gone(market: Market, ask: Ask) -> None:
    expected = {row[:3]: row[3:] for row in ask(sql.MOVES)}
    found = {key: (week.new, week.gone) for key, week in weeks_of(market).items()}
    assert found == expected
    whole = [row for (place, kind, back), row in expected.items() if place is None and kind is None and back]
    told = [row for row in whole if row[0] is not None]
    city = market.cells[Cell(None, None)]
    assert (None in {row[0] for row in whole}, len(told)) == (True, WEEKS - 1)
    assert city.new_per_week == pytest.approx(statistics.fmean(row[0] for row in told))
    assert city.gone_per_week == pytest.approx(statistics.fmean(row[1] for row in told))


def test_days_on_market_are_those_of_the_curve(market: Market, ask: Ask) -> None:
    """The curve itself is the matter of test_survival.py."""
    stays = defaultdict(list)
    for place, kind, days, gone in ask(sql.STAYS):
        stays[Cell(place, kind)].append((days, gone))
    assert stays.keys() == market.cells.keys()
    for cell, given in stays.items():
        found = market.cells[cell].days
        assert (found.flats, found.gone) == (len(given), sum(gone for _, gone in given))
        curve = kaplan_meier(Stay(days, gone=bool(gone)) for days, gone in given)
        assert found.median == pytest.approx(curve.median())
        assert found.still_there is not None
        for after, share in found.still_there.items():
            assert share == pytest.approx(curve.after(after))


def test_cuts(market: Market, ask: Ask) -> None:
    sizes, flats = defaultdict(list), defaultdict(set)
    for place, kind, flat, percent in ask(sql.CUTS):
        sizes[Cell(place, kind)].append(percent)
        flats[Cell(place, kind)].add(flat)
    for cell, found in market.cells.items():
        assert found.cuts.flats == len(flats[cell])
        if found.stock:
            assert found.cuts.share == len(flats[cell]) / found.stock
            median = statistics.median(sizes[cell]) if sizes[cell] else None
            assert found.cuts.median_percent == (None if median is None else pytest.approx(median))


def test_figures_of_few_flats_are_hidden(database: Database, market: Market) -> None:
    shown = read_market(database, Settings(market_weeks=WEEKS), now=NOW)
    assert shown.cells.keys() == market.cells.keys()
    for cell, found in shown.cells.items():
        bare = market.cells[cell]
        assert (found.stock, found.prices) == (bare.stock, bare.prices)
        assert found.eur_sqm == (bare.eur_sqm if found.prices >= 15 else None)
        assert found.days.median == (bare.days.median if found.days.flats >= 15 else None)
        assert found.cuts.share == (bare.cuts.share if found.stock >= 15 else None)
        assert found.cuts.median_percent == (bare.cuts.median_percent if found.cuts.flats >= 15 else None)
        for week, other in zip(found.weeks, bare.weeks, strict=True):
            assert week.median_eur_sqm == (other.median_eur_sqm if week.prices >= 15 else None)
