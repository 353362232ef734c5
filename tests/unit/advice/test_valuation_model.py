"""Fair prices: forests, intervals and errors, on flats whose prices follow a known rule."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from sale_sofia.advice.settings import FOLDS
from sale_sofia.advice.valuation.flats import (
    comparable_flats,
    is_comparable,
    matrix,
    place_of,
    why_not_valued,
)
from sale_sofia.advice.valuation.model import (
    Forest,
    JudgedModel,
    fit_and_judge,
    folds_of,
    judge_apart,
    neighbourhood_of,
    weighted_quantiles,
)
from sale_sofia.flats.flat import Flat, Trap
from sale_sofia.flats.prices import asked_eur_sqm
from sale_sofia.geography.shapes import Point, metres
from tables import each_row
from valued_flats import PLACES, some_flats

FLATS = some_flats(600)
FLAT = FLATS[0]
LOZENETS = Point(42.674, 23.318)


@pytest.fixture(scope="module")
def judged() -> JudgedModel:
    return fit_and_judge(FLATS)


def test_leaves_are_those_of_the_trees_as_they_were_grown() -> None:
    from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 - each test process would wait 1.4 s for it

    rows, target = matrix(FLATS[:200]), np.log([asked_eur_sqm(flat) or 0 for flat in FLATS[:200]])
    grown = RandomForestRegressor(7, min_samples_leaf=2, random_state=3).fit(rows, target)
    forest = Forest._of_trees([one.tree_ for one in grown.estimators_], rows)  # noqa: SLF001 - the arrays are the point
    asked = matrix(FLATS[200:260])
    assert (forest.leaves(asked) - forest.roots == grown.apply(asked)).all()


def test_a_flat_weighs_as_much_as_it_shares_leaves() -> None:
    rows, target = matrix(FLATS[:150]), np.arange(150.0)
    forest = Forest.grow(rows, target)
    own, known = forest.leaves(matrix(FLATS[300:303])), forest.leaves(rows)
    for leaves in own:
        shared = known == leaves
        expected = (shared / shared.sum(axis=0)).mean(axis=1)
        found = forest.weights(leaves, len(rows))
        assert found == pytest.approx(expected)
        assert found.sum() == pytest.approx(1)


def test_weighted_quantiles() -> None:
    even = weighted_quantiles(np.arange(101.0), np.ones(101))
    assert even == pytest.approx([9.6, 50.0, 90.4], abs=0.5)
    heavy = weighted_quantiles(np.array([1.0, 2.0, 3.0]), np.array([0.01, 0.98, 0.01]))
    assert heavy[1] == 2.0


@pytest.mark.slow
def test_the_error_is_near_what_chance_leaves_and_the_interval_holds_its_share(judged: JudgedModel) -> None:
    """The prices were made with a noise whose median is 8 %."""
    assert judged.error.flats == len(FLATS)
    assert 0.07 < judged.error.median < 0.10
    assert judged.error.coverage is not None
    assert 0.76 <= judged.error.coverage <= 0.84
    assert judged.by_median.median > judged.error.median
    assert set(judged.neighbourhoods) == set(PLACES)
    worst = [one.median for one in judged.neighbourhoods.values()]
    assert worst == sorted(worst, reverse=True)


@pytest.mark.slow
def test_the_same_flats_give_the_same_forest(judged: JudgedModel) -> None:
    part = judged.model.parts[2]
    again = Forest.grow(matrix([FLATS[place] for place in part.training]), judged.model.target[part.training])
    for field in fields(Forest):
        assert (getattr(again, field.name) == getattr(part.forest, field.name)).all()


@pytest.mark.slow
def test_no_flat_is_explained_by_its_own_price(judged: JudgedModel) -> None:
    """Whatever is asked for it, the middle and those it is compared with stay the same."""
    dear = replace(FLAT, price_eur=(FLAT.price_eur or 0) * 3)
    other = fit_and_judge([dear, *FLATS[1:]])
    fold, row = folds_of([FLAT.property_id]), matrix([FLAT])
    ((band, weights),) = judged.model.values(fold, row)
    ((same, likewise),) = other.model.values(fold, row)
    assert same.middle == band.middle
    assert (likewise == weights).all()
    assert weights[0] == 0


def test_folds_are_by_flat_and_about_as_large() -> None:
    ids = list(range(1, 5001))
    folds = folds_of(ids)
    assert (folds == folds_of(ids)).all()
    assert np.bincount(folds, minlength=FOLDS).min() > 900


@pytest.mark.slow
def test_whole_neighbourhoods_can_be_left_out() -> None:
    apart = judge_apart(FLATS, neighbourhood_of)
    assert apart is not None
    assert apart.error.flats == len(FLATS)
    assert apart.error.median > 0.1
    assert judge_apart([flat for flat in FLATS if flat.neighbourhood == "Борово"], neighbourhood_of) is None


def test_a_price_without_vat_is_compared_with_it() -> None:
    flat = replace(FLAT, price_eur=100_000.0, area_sqm=100.0, vat="excluded")
    assert asked_eur_sqm(flat) == pytest.approx(1200)
    assert asked_eur_sqm(replace(flat, vat="included")) == 1000
    said = replace(flat, vat=None, traps={"price_without_vat": Trap(value=True, quote="без ДДС")})
    assert asked_eur_sqm(said) == pytest.approx(1200)


@each_row(
    ("fields", "reason"),
    [
        ({}, None),
        ({"deal": "rent"}, "only flats for sale have a fair price here"),
        ({"deal": None}, "only flats for sale have a fair price here"),
        ({"property_type": "house"}, "it is not known to be a flat"),
        ({"city": None}, "it is not known to be in Sofia"),
        ({"flags": frozenset({"place_conflict"})}, "its adverts contradict each other about the place"),
        ({"neighbourhood": None}, "its neighbourhood is not known"),
        ({"area_sqm": None}, "its area is not known"),
        ({"area_sqm": 3.0}, "its area is not one of a flat"),
    ],
)
def test_of_what_no_fair_price_is_told(fields: dict[str, Any], reason: str | None) -> None:
    assert why_not_valued(replace(FLAT, **fields)) == reason


@each_row(
    "fields",
    [
        {"price_eur": None},
        {"price_eur": 900.0},
        {"price_eur": 90_000_000.0},
        {"traps": {"share_of_ownership": Trap(value=True, quote="1/2 идеална част")}},
        {"deal": "rent"},
    ],
)
def test_what_no_flat_is_compared_with(fields: dict[str, Any]) -> None:
    assert is_comparable(FLAT)
    assert not is_comparable(replace(FLAT, **fields))


def test_old_flats_are_left_out_and_of_too_many_the_newest_stay() -> None:
    seen = [replace(flat, last_seen_at=float(number)) for number, flat in enumerate(FLATS[:10])]
    found = comparable_flats(reversed(seen), seen_since=2.0, most=5)
    assert [flat.property_id for flat in found] == [6, 7, 8, 9, 10]
    assert len(comparable_flats(seen, seen_since=2.0, most=50)) == 8


@each_row(
    ("fields", "far"),
    [
        ({"neighbourhood": "Лозенец"}, 1.0),
        ({"neighbourhood": "Лозенец", "lat": 42.70, "lon": 23.32}, 4.0),
        ({"neighbourhood": "Лозенец", "lat": 23.32, "lon": 42.70}, 1.0),
        ({"neighbourhood": "ж.гр.Зоопарк"}, 3.0),
        ({"neighbourhood": "няма такъв", "district": "Лозенец"}, 3.0),
    ],
)
def test_a_flat_is_where_it_is_best_known_to_be(fields: dict[str, Any], far: float) -> None:
    """Its own place, its neighbourhood's, its district's; a place far from Sofia is a mistake."""
    found = place_of(replace(FLAT, **fields))
    assert found is not None
    assert metres(found, LOZENETS) / 1000 < far


def test_a_basement_is_no_unknown_floor() -> None:
    basement, unknown = (replace(FLAT, floor=floor, floors_total=None) for floor in (-1, None))
    assert not np.array_equal(matrix([basement]), matrix([unknown]))


def test_an_unknown_place_is_no_place() -> None:
    nowhere: Flat = replace(FLAT, neighbourhood="няма такъв")
    assert place_of(nowhere) is None
    assert np.isfinite(matrix([nowhere])).all()
