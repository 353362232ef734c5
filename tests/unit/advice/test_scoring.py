"""The score as a whole: its arithmetic, its ranking, and what not knowing does to it."""

from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.scoring import Score, Scorer, count_passing, ranking
from sale_sofia.advice.scoring.settings import WEIGHTS
from sale_sofia.advice.scoring.yardsticks import Yardstick
from sale_sofia.listings.model import ActStatus, Condition, Construction, Orientation, Parking
from unit.advice.scored import EVERY_CONDITION, WISHES, empty_flat, flat, profile, score, seen, trap


def values(found: Score) -> dict[str, float | None]:
    return {one.name: one.value for one in found.criteria}


def test_the_score_is_the_weighted_mean_of_what_is_known() -> None:
    found = score(flat(metro_minutes=None, condition=None))  # location 60 % known, condition not at all
    location, price, rental = 5.0, values(found)["price"], values(found)["rental"]
    assert price is not None
    assert rental is not None
    points = 0.25 * 0.6 * location + 0.20 * price + 0.15 * 5 + 0.10 * 5 + 0.10 * rental + 0.05 * 5
    known = 0.25 * 0.6 + 0.20 + 0.15 + 0.10 + 0.10 + 0.05
    assert found.known == pytest.approx(known)
    assert found.points == pytest.approx(points)
    assert found.value == pytest.approx(points / known)


def test_a_weight_changes_the_ranking_as_arithmetic_says() -> None:
    central = flat(property_id=1, neighbourhood="Лозенец", condition="needs_renovation")  # 5 and 0
    renovated = flat(property_id=2, neighbourhood="Факултета", condition="new")  # 2 and 5
    for location, condition, first in ((70, 30, 1), (50, 50, 2)):
        weights = dict.fromkeys(WEIGHTS, 0) | {"location": location, "condition": condition}
        by = WISHES.model_copy(update={"weights": WISHES.weights.model_validate(weights)})
        one, two = score(central, by), score(renovated, by)
        assert one.points == pytest.approx((5 * location + 0 * condition) / 100)
        assert two.points == pytest.approx((2 * location + 5 * condition) / 100)
        assert min((one, two), key=ranking).property_id == first


def test_weights_that_do_not_sum_to_100_count_by_their_shares() -> None:
    doubled = {name: weight * 2 for name, weight in WEIGHTS.items()}
    by = profile(weights=doubled, wishes={"orientation": ["E", "S"]})
    assert score(flat(), by).points == pytest.approx(
        score(flat(), profile(wishes={"orientation": ["E", "S"]})).points
    )
    assert "sum to 200, not 100" in str(by.remark())
    assert profile().remark() is None
    tenths = {"location": 6.9, "price": 29.2, "condition": 39.2, "layout": 24.7}
    others = dict.fromkeys(("building", "rental", "extras"), 0)
    assert profile(weights=tenths | others).remark() is None, "100 but for rounding"


def test_an_empty_flat_has_no_score_and_no_points() -> None:
    found = score(empty_flat())
    assert (found.value, found.known, found.points, found.verdict) == (None, 0.0, 0.0, State.UNKNOWN)
    assert set(values(found).values()) == {None}


def test_a_flat_of_which_nothing_is_known_never_leads() -> None:
    poor = flat(property_id=1, neighbourhood="Факултета", construction="panel", price_eur=None)
    nothing = empty_flat(property_id=2, deal="sale", property_type="apartment", city="София")
    lucky = empty_flat(property_id=3, deal="sale", property_type="apartment", city="София", has_balcony=True)
    told = [score(one) for one in (nothing, lucky, poor)]
    assert told[1].value == 5.0  # all that is known of it is good, and it is next to nothing
    assert told[1].known == pytest.approx(0.01)
    assert {one.verdict for one in told} == {State.UNKNOWN}  # none of them has a price
    assert [one.property_id for one in sorted(told, key=ranking)] == [1, 3, 2]


def test_what_passes_comes_before_what_may_and_that_before_what_fails() -> None:
    passing = flat(property_id=1, construction="epk")
    unsure = flat(property_id=2, construction=None)
    failing = flat(property_id=3, floor=0)
    by = profile(must={"not_panel": True, "not_ground_floor": True})
    told = [score(one, by) for one in (failing, unsure, passing)]
    assert [one.property_id for one in sorted(told, key=ranking)] == [1, 2, 3]


def test_a_missing_price_per_square_metre_is_worth_nothing() -> None:
    for facts in ({"price_eur": None}, {"area_sqm": None}, {"neighbourhood": None}):
        found = score(flat(**facts))
        assert values(found)["price"] is None
        assert found.known <= 0.8
        assert found.points < score(flat()).points


def test_a_missing_price_does_not_pass_the_budget() -> None:
    found = score(flat(price_eur=None), EVERY_CONDITION)
    assert (found.verdict, "budget" in found.breakers_in(State.UNKNOWN)) == (State.UNKNOWN, True)


def test_west_and_north_do_not_pass_east_or_south() -> None:
    for side in ("W", "N", "NW", "SW", "NE", "SE"):
        found = score(flat(orientation=(side,)), EVERY_CONDITION)
        assert found.breakers_in(State.FAIL) == ("orientation",), side


def test_the_price_per_square_metre_is_of_the_price_after_the_cut() -> None:
    before, after = score(flat(price_eur=220_000.0)), score(flat(price_eur=170_000.0))
    assert [values(before)["price"], values(after)["price"]] == pytest.approx([5 / 8, 5 * 6 / 8])


ANY = st.fixed_dictionaries(
    {
        "price_eur": st.none() | st.floats(1_000, 2_000_000),
        "vat": st.sampled_from([None, "included", "excluded"]),
        "neighbourhood": st.sampled_from([None, "Лозенец", "Факултета", "Люлин 5"]),
        "rooms": st.none() | st.integers(1, 6), "area_sqm": st.none() | st.floats(10, 400),
        "area_net_sqm": st.none() | st.floats(10, 400), "floor": st.none() | st.integers(-1, 20),
        "floors_total": st.none() | st.integers(1, 20), "elevator": st.sampled_from([None, True, False]),
        "construction": st.sampled_from([None, *get_args(Construction)]),
        "year_built": st.none() | st.integers(1900, 2030),
        "act_status": st.sampled_from([None, *get_args(ActStatus)]),
        "under_construction": st.sampled_from([None, True, False]),
        "condition": st.sampled_from([None, *get_args(Condition)]),
        "orientation": st.lists(st.sampled_from(get_args(Orientation)), max_size=3, unique=True).map(tuple),
        "parking": st.lists(st.sampled_from(get_args(Parking)), max_size=2, unique=True).map(tuple),
        "bathrooms": st.none() | st.integers(1, 4), "wc_separate": st.sampled_from([None, True]),
        "has_balcony": st.sampled_from([None, True, False]), "storage": st.sampled_from([(), ("basement",)]),
        "metro_minutes": st.none() | st.integers(1, 60), "metro_distance_m": st.none() | st.integers(1, 5000),
        "city": st.sampled_from([None, "София", "Перник"]), "deal": st.sampled_from([None, "sale", "rent"]),
        "described": st.booleans(), "traps": st.sampled_from([{}, {"tenants": trap("наематели")}]),
    }
)  # fmt: skip
HIDEABLE: dict[str, Any] = {
    **dict.fromkeys(
        (
            "price_eur", "neighbourhood", "rooms", "area_net_sqm", "construction", "bathrooms", "has_balcony",
            "city", "deal",
        )
    ),
    **dict.fromkeys(("orientation", "parking", "storage"), ()),
}  # fmt: skip
"""Facts by themselves. Others are read together: that a flat is new says that VAT may be due, and so on."""


@pytest.mark.slow
@given(facts=ANY)
def test_a_score_is_from_0_to_5_and_never_more_than_is_known(facts: dict[str, Any]) -> None:
    found = score(flat(**facts), EVERY_CONDITION)
    assert 0 <= found.known <= 1 + 1e-9
    assert 0 <= found.points <= 5 * found.known + 1e-9
    assert found.value is None or 0 <= found.value <= 5 + 1e-9
    assert (found.value is None) == (found.known == 0)
    for one in found.criteria:
        assert (one.value is None) == (one.known == 0)
        assert all(part.value is None or 0 <= part.value <= 5 for part in one.parts)


@given(facts=ANY, hidden=st.sets(st.sampled_from(sorted(HIDEABLE))))
def test_knowing_less_never_earns_points_nor_turns_a_failure_into_a_pass(
    facts: dict[str, Any], hidden: set[str]
) -> None:
    known = flat(**facts)
    less = replace(known, **{name: HIDEABLE[name] for name in hidden})
    before, after = score(known, EVERY_CONDITION), score(less, EVERY_CONDITION)
    assert after.known <= before.known + 1e-9
    assert after.points <= before.points + 1e-9
    states = {one.name: one.state for one in before.findings}
    for one in after.findings:
        assert one.state in {states[one.name], State.UNKNOWN}, one
    if before.verdict == State.UNKNOWN:
        assert after.verdict == State.UNKNOWN


def test_it_is_counted_what_passes_and_what_only_one_condition_keeps_out() -> None:
    flats = [
        flat(property_id=1),
        flat(property_id=2, metro_minutes=30),
        flat(property_id=3, metro_minutes=31),
        flat(property_id=4, metro_minutes=32, floor=0),
        flat(property_id=5, floor=0),
        flat(property_id=6, metro_minutes=None),
        flat(property_id=7, deal="rent"),
        flat(property_id=8, property_type="garage"),
        flat(property_id=9, offered=False),
    ]
    near = ("stop", "shop", "school", "road")  # of somewhere in Лозенец not known
    scorer = Scorer(EVERY_CONDITION.model_copy(update={"unknown_ok": near}))
    there = (one for one in flats if one.offered and scorer.is_candidate(one))
    scores = [scorer.score(seen(one)) for one in there]
    found = count_passing((one.verdict, one.breakers_in(State.FAIL), 1) for one in scores)
    assert (found.candidates, found.passing, found.unknown, found.failing) == (6, 1, 1, 4)
    assert dict(found.only) == {"metro": 2, "ground_floor": 1}


def test_without_neighbours_the_score_says_so() -> None:
    found = score(flat(), by=Yardstick())
    assert found.known == pytest.approx(0.7)
    assert (values(found)["price"], values(found)["rental"]) == (None, None)


def test_places_of_the_buyers_own_count_by_their_weight_and_not_without_one() -> None:
    """17 minutes to Сердика, and some 35 to the business park."""
    one = flat(lat=42.6737, lon=23.3252)
    places = [
        {"name": "Work", "at": "Бизнес парк София", "arrive_by": "09:00"},
        {"name": "Town", "at": "Сердика"},
    ]
    without, weightless = score(one, profile()), score(one, profile(places=places))
    assert (weightless.points, weightless.known, weightless.value) == (
        without.points, without.known, without.value,
    )  # fmt: skip
    assert [each.name for each in without.criteria].count("travel") == 0
    alone = score(one, profile(places=places, weights=dict.fromkeys(WEIGHTS, 0) | {"travel": 10}))
    assert alone.points == pytest.approx(5 * ((60 - 35) / 45 + (60 - 17) / 45) / 2)
    (found,) = [each for each in alone.criteria if each.name == "travel"]
    assert found.parts[0].values == {"ways": "Work 35, Town 17"}
