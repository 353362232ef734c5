import json
from dataclasses import replace
from datetime import datetime

import phonenumbers
import pytest

from sale_sofia.listings.model import Listing
from sale_sofia_simulator.model import Age, Money, World
from sale_sofia_simulator.truth import Truth, bazar_truth, imot_truth
from tables import each_row


@pytest.fixture(scope="module")
def imot(world: World) -> list[Truth]:
    return [imot_truth(advert) for advert in world.imot]


@pytest.fixture(scope="module")
def bazar(world: World) -> list[Truth]:
    return [bazar_truth(advert) for advert in world.bazar]


def test_a_truth_has_every_field_and_is_a_listing(imot: list[Truth], bazar: list[Truth]) -> None:
    fields = set(Listing.model_fields) - {"flags"}
    for truth in (*imot, *bazar):
        assert set(truth) == fields
        assert json.loads(json.dumps(truth)) == truth
        assert Listing.model_validate(truth).model_dump(mode="json", exclude={"flags"}) == truth


def test_every_telephone_is_valid(imot: list[Truth]) -> None:
    phones = {phone for truth in imot for phone in truth["phones"]}
    assert len(phones) > 400
    assert all(phonenumbers.is_valid_number(phonenumbers.parse(phone)) for phone in phones)


def test_bazar_says_nothing_that_it_does_not_print(bazar: list[Truth]) -> None:
    unsaid = ("under_construction", "act_status", "elevator", "seller_kind", "street", "yard_sqm")
    unlisted = ("heating", "features", "phones", "parking")
    for truth in bazar:
        assert {truth[name] for name in unsaid} == {None}
        assert [truth[name] for name in unlisted] == [[], [], [], []]


@each_row(
    ("field", "values"),
    [
        ("vat", {"none", "included", "excluded", None}),
        ("deal", {"sale", "rent"}),
        ("seller_kind", {"agency", "private", "developer"}),
        ("rooms", {1, 2, 3, 4, 5, None}),
        ("act_status", {"commissioned", None}),
        ("under_construction", {True, False, None}),
        ("construction", {"brick", "panel", "epk", "pk", "beam", "prefab", None}),
        ("elevator", {True, None}),
        ("furnishing", {"furnished", None}),
        ("condition", {"needs_renovation", None}),
        ("city", {"София", "Търговище"}),
    ],
)
def test_every_value_of_a_field_occurs(imot: list[Truth], field: str, values: set[str | int | None]) -> None:
    assert {truth[field] for truth in imot} == values


def test_heating_comes_in_a_fixed_order(imot: list[Truth]) -> None:
    found = {tuple(truth["heating"]) for truth in imot}
    assert found == {(), ("district",), ("gas",), ("local",), ("district", "gas"), ("gas", "local")}


def test_the_moment_of_publication_is_in_the_id(imot: list[Truth], bazar: list[Truth]) -> None:
    for advert in (*imot, *bazar):
        if advert["family_id"] is None:
            assert advert["posted_at"] is None
        else:
            created = datetime.fromisoformat(advert["posted_at"]).timestamp()
            assert created == int(advert["family_id"][2:12])


def test_only_leva_become_euro_at_the_fixed_rate(world: World) -> None:
    truth = imot_truth(replace(world.imot[0], money=Money("bgn", 149900)))
    assert (truth["price_eur"], truth["price_bgn"]) == (149900.0, 293178.92)


def test_no_price_means_no_price_and_no_vat(world: World) -> None:
    truth = imot_truth(replace(world.imot[0], money=Money("ask", 149900)))
    assert (truth["price_eur"], truth["price_bgn"], truth["vat"]) == (None, None, None)


@pytest.mark.parametrize(
    ("form", "features", "expected"),
    [
        ("use", (), (2003, False, "commissioned")),
        ("will", (), (2003, True, None)),
        ("bare", (), (2003, None, None)),
        ("decade", (), (None, None, None)),
        ("used_decade", (), (None, False, "commissioned")),
        ("used", (), (None, False, "commissioned")),
        ("none", ("В строеж",), (None, True, None)),
    ],
)
def test_the_age_of_a_building(
    world: World, form: str, features: tuple[str, ...], expected: tuple[int | None, bool | None, str | None]
) -> None:
    home = replace(world.imot[0].home, age=Age(form, 2003), features=features)
    truth = imot_truth(replace(world.imot[0], home=home))
    assert (truth["year_built"], truth["under_construction"], truth["act_status"]) == expected


def test_an_old_price_is_the_previous_price(bazar: list[Truth]) -> None:
    changed = [truth for truth in bazar if truth["previous_price_eur"]]
    assert len(changed) > 20
    assert all(truth["previous_price_eur"] != truth["price_eur"] for truth in changed)
