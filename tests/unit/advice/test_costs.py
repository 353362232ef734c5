"""What a flat costs in all: fees by their tariffs, VAT, commission, renovation; bands where it is unknown."""

from typing import Any

import pytest

from sale_sofia.advice.costs import all_costs, notary
from sale_sofia.flats.prices import Band, vat_due
from tables import each_row
from unit.advice.scored import flat, profile, trap

BUYER = profile()


@each_row(
    ("leva", "fee"),
    [
        (50, 30.0),
        (1_000, 43.50),
        (10_000, 160.50),
        (50_000, 480.50),
        (100_000, 730.50),
        (300_000, 1130.50),
        (500_000, 1530.50),
        (900_000, 1930.50),
        (50_000_000, 6000.0),
    ],
)
def test_the_notary_takes_what_the_tariff_says_and_vat(leva: float, fee: float) -> None:
    assert notary(leva / 1.95583) * 1.95583 == pytest.approx(fee * 1.2)


def test_a_flat_of_200_000_from_an_agency_costs_214_000_and_the_notary() -> None:
    costs = all_costs(flat(price_eur=200_000.0), BUYER)
    assert costs is not None
    assert costs.price == Band(200_000.0, 200_000.0)
    # 3 % transfer tax and 0.1 % for the entry; the notary on 391 166 leva
    notary_eur = (730.50 + 291_166 * 0.002) * 1.2 / 1.95583
    assert costs.state.least == pytest.approx(6_200 + notary_eur)
    assert costs.commission.least == pytest.approx(7_200)  # 3 % and its VAT
    assert costs.renovation == Band(0.0, 0.0)
    assert costs.total.least == costs.total.most == pytest.approx(213_400 + notary_eur)


def test_who_buys_from_the_owner_pays_no_commission() -> None:
    for seller in ("private", "developer"):
        costs = all_costs(flat(seller), BUYER)
        assert costs is not None
        assert costs.commission == Band(0.0, 0.0)


def test_a_flat_to_let_has_no_costs_of_buying() -> None:
    assert all_costs(flat(deal="rent", price_eur=900.0), BUYER) is None
    assert all_costs(flat(deal=None), BUYER) is not None


@each_row(
    ("facts", "due"),
    [
        ({"vat": "excluded"}, True),
        ({"vat": "included"}, False),
        ({"vat": "none"}, False),
        ({"vat": None, "act_status": None}, False),
        ({"vat": None, "act_status": "before_act16"}, None),
        ({"vat": None, "act_status": None, "under_construction": True}, None),
        ({"vat": None, "act_status": None, "condition": "bare"}, None),
        ({"vat": None, "act_status": None, "traps": {"price_without_vat": trap("без ДДС")}}, True),
        ({"vat": "included", "act_status": None, "traps": {"price_without_vat": trap("без ДДС")}}, False),
        ({"vat": None, "act_status": None, "seller_kind": "developer"}, None),
        ({"vat": None, "act_status": "act16", "seller_kind": "private"}, False),
    ],
)
def test_vat_is_due_on_new_buildings_and_unknown_where_nobody_says(
    facts: dict[str, Any],
    due: bool | None,  # noqa: FBT001 - a case
) -> None:
    assert vat_due(flat(**facts)) is due


def test_an_unknown_vat_is_a_band_from_without_to_with() -> None:
    costs = all_costs(flat(price_eur=100_000.0, vat=None, act_status="act15"), BUYER)
    assert costs is not None
    assert list(costs.price) == pytest.approx([100_000.0, 120_000.0])
    assert costs.total.most is not None
    assert costs.total.most - costs.total.least > 20_000


def test_an_unknown_condition_may_cost_up_to_the_dearest_renovation() -> None:
    costs = all_costs(flat(condition=None, area_sqm=100.0), BUYER)
    assert costs is not None
    assert costs.renovation == Band(0.0, 45_000.0)
    own = profile(renovation_eur_sqm={"needs_renovation": 800})
    costs = all_costs(flat(condition="needs_renovation", area_sqm=50.0), own)
    assert costs is not None
    assert costs.renovation == Band(40_000.0, 40_000.0)


def test_without_a_price_there_are_no_costs_and_from_a_price_there_is_no_most() -> None:
    assert all_costs(flat(price_eur=None), BUYER) is None
    costs = all_costs(flat(traps={"price_from": trap("от")}), BUYER)
    assert costs is not None
    assert (costs.price.most, costs.total.most) == (None, None)
