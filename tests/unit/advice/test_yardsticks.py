"""What prices are measured by: the same rooms, else the neighbourhood, else nothing; kept until it moves."""

import statistics
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import Row

from sale_sofia.advice.scoring.yardsticks import (
    Comparable,
    Prices,
    Rents,
    Yardstick,
    Yardsticks,
    cell_of,
    market_eur_sqm,
)
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import searched
from sale_sofia.flats.tables import flats
from sale_sofia.settings.model import Settings
from tables import each_row
from unit.advice.scored import flat, trap

SETTINGS = Settings(score_least_prices=4, score_least_rents=3)


def sales(rooms: int, *prices: float, place: str = "Изток", deal: str = "sale") -> list[Comparable]:
    return [Comparable(deal, place, rooms, price) for price in prices]


def measured(*given: list[Comparable], kept: dict[tuple[str, int], Yardstick] | None = None) -> Yardsticks:
    return Yardsticks([one for some in given for one in some], SETTINGS, kept or {})


def test_flats_with_as_many_rooms_come_first_then_all_of_the_neighbourhood_then_nothing() -> None:
    threes, two = sales(3, 1000.0, 1100.0, 1200.0, 1300.0), sales(2, 2000.0)
    found = measured(threes, two, sales(1, 900.0, place="Изгрев"))
    same = found.of(("Изток", 3)).prices
    assert same is not None
    assert (same.flats, same.scope) == (4, "rooms")
    assert same.marks == tuple(
        statistics.quantiles([1000.0, 1100.0, 1200.0, 1300.0], n=10, method="inclusive")
    )
    for rooms in (2, 0, 1):
        wide = found.of(("Изток", rooms)).prices
        assert wide is not None
        assert (wide.flats, wide.scope) == (5, "neighbourhood")
    assert found.of(("Изгрев", 1)).prices is None
    assert found.of(("Няма", 3)) == Yardstick(None, None)


def test_flats_that_do_not_say_their_rooms_are_no_kind_of_their_own() -> None:
    unsaid = measured(sales(0, 1000.0, 1100.0, 1200.0, 1300.0)).of(("Изток", 0)).prices
    assert unsaid is not None
    assert unsaid.scope == "neighbourhood"


def test_rents_are_of_as_many_rooms_only() -> None:
    lets = sales(2, 8.0, 9.0, 13.0, deal="rent")
    found = measured(lets, sales(3, 7.0, deal="rent"))
    assert found.of(("Изток", 2)).rents == Rents(9.0, 3)
    assert found.of(("Изток", 3)).rents is None
    assert found.of(("Изток", 0)).rents is None
    assert found.of(("Изток", 2)).prices is None  # a rent is no price


@each_row(
    ("price", "cheaper"),
    [(900, 0.0), (1000, 0.0), (1050, 0.25), (1100, 0.5), (1150, 0.75), (1200, 1.0), (2000, 1.0)],
)
def test_the_place_is_the_share_that_is_cheaper(price: float, cheaper: float) -> None:
    assert Prices((1000.0, 1100.0, 1200.0), 30, "rooms").place(price) == pytest.approx(cheaper)


def test_prices_that_are_all_one_sum_are_in_the_middle() -> None:
    flat_prices = Prices((1000.0,) * 9, 20, "rooms")
    assert [flat_prices.place(price) for price in (999.0, 1000.0, 1001.0)] == [0.0, 0.5, 1.0]


def test_a_yardstick_is_kept_until_a_mark_has_moved() -> None:
    first = sales(3, *(1000.0 + 10 * number for number in range(40)))
    kept = {("Изток", 3): measured(first).of(("Изток", 3))}
    near = sales(3, *(1010.0 + 10 * number for number in range(40)), 1100.0)
    again = measured(near, kept=kept).of(("Изток", 3))
    assert again.digest() == kept[("Изток", 3)].digest()
    assert again.prices is not None
    assert again.prices.flats == 41  # how many there are is told as it is
    far = sales(3, *(1050.0 + 10 * number for number in range(40)))
    moved = measured(far, kept=kept).of(("Изток", 3))
    assert moved.digest() != kept[("Изток", 3)].digest()
    assert moved == measured(far).of(("Изток", 3))


def test_another_scope_is_another_yardstick() -> None:
    prices = (1000.0, 1100.0, 1200.0, 1300.0)
    kept = {("Изток", 3): measured(sales(3, *prices)).of(("Изток", 3))}
    wide = measured(sales(3, *prices[:3]), sales(2, prices[3]), kept=kept).of(("Изток", 3))
    assert wide.prices is not None
    assert wide.prices.scope == "neighbourhood"
    assert wide.digest() != kept[("Изток", 3)].digest()


def market(flat: Flat) -> float | None:
    return market_eur_sqm(
        cast("Row[Any]", SimpleNamespace(**dict(zip(flats.c.keys()[3:], searched(flat), strict=True))))
    )


def test_only_ordinary_offers_are_compared_with() -> None:
    assert market(flat(price_eur=180_000.0)) == 1800.0
    assert market(flat(vat="excluded", price_eur=100_000.0)) == 1200.0
    assert market(flat(deal="rent", price_eur=900.0)) == 9.0
    assert market(flat(traps={"mortgage": trap("ипотека")}, price_eur=180_000.0)) == 1800.0
    for odd in (
        {"offered": False}, {"price_eur": None}, {"area_sqm": None},
        {"city": "Перник"}, {"flags": frozenset({"place_conflict"})}, {"property_type": "garage"},
        {"deal": None}, {"traps": {"price_from": trap("от")}},
        {"traps": {"mortgage": trap("ипотека"), "share_of_ownership": trap("част")}},
    ):  # fmt: skip
        assert market(flat(**odd)) is None, odd


def test_a_cell_is_a_neighbourhood_and_up_to_four_rooms() -> None:
    assert [cell_of("Изток", rooms) for rooms in (None, 1, 4, 5)] == [
        ("Изток", 0), ("Изток", 1), ("Изток", 4), ("Изток", 4),
    ]  # fmt: skip
    assert cell_of(None, 3) is None
