"""Which adverts are compared: all that share a key and are alike, found in any part of the table."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_worlds import OWN_WORDS, advert, adverts_of
from sale_sofia.flats.matching import candidates
from sale_sofia.flats.matching.candidates import crowded_rows, find_candidates
from sale_sofia.flats.matching.fingerprint import Adverts
from sale_sofia.listings.model import Listing

flats = st.fixed_dictionaries(
    {
        "price_eur": st.sampled_from([100_000.0, 101_000.0, 108_000.0, 130_000.0, None]),
        "area_sqm": st.sampled_from([60.0, 60.4, 61.5, 66.0, None]),
        "floor": st.sampled_from([None, 1, 2]),
        "neighbourhood": st.sampled_from(["Лозенец", "Люлин 8", None]),
        "phones": st.sampled_from([(), ("+359888000111",), ("+359888000111", "+359888000222")]),
        "family_id": st.sampled_from([None, None, "1a"]),
        "description": st.sampled_from([None, OWN_WORDS, "Оферта SOF-134584."]),
    }
)


def worlds(most: int = 12) -> st.SearchStrategy[list[Listing]]:
    return st.lists(flats, min_size=1, max_size=most).map(
        lambda given: [advert(f"n{number}", **fields) for number, fields in enumerate(given)]
    )


def pairs(adverts: Adverts, touched: list[int] | None = None) -> set[tuple[int, int]]:
    found = find_candidates(adverts, None if touched is None else np.array(touched, np.int64))
    return set(zip(found.left.tolist(), found.right.tolist(), strict=True))


def alike(one: Listing, two: Listing) -> bool:
    """What two adverts need that share a place, a phone or words."""
    prices = within(one.price_eur, two.price_eur, 0.12)
    areas = within(one.area_sqm, two.area_sqm, 0.03)
    return prices and areas and (one.floor == two.floor or None in {one.floor, two.floor})


def within(one: float | None, two: float | None, share: float) -> bool:
    return one is not None and two is not None and abs(one - two) <= share * max(one, two)


def share_a_key(one: Listing, two: Listing) -> bool:
    return bool(
        (one.neighbourhood and one.neighbourhood == two.neighbourhood)
        or {*one.phones} & {*two.phones}
        or one.description == two.description == OWN_WORDS
    )


def exact(one: Listing, two: Listing) -> bool:
    quoted = one.description == two.description == "Оферта SOF-134584."
    return quoted or bool(one.family_id and one.family_id == two.family_id)


@settings(deadline=None)
@given(worlds())
def test_all_that_are_alike_under_a_key_are_found_and_no_others(given_: list[Listing]) -> None:
    expected = {
        (low, high)
        for (low, one), (high, two) in combinations(enumerate(given_), 2)
        if exact(one, two) or (alike(one, two) and share_a_key(one, two))
    }
    assert pairs(adverts_of(given_)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("cap", [400, 2])
def test_a_part_finds_what_the_whole_finds_of_it(monkeypatch: pytest.MonkeyPatch, cap: int) -> None:
    monkeypatch.setattr(candidates, "WINDOW_CAP", cap)
    monkeypatch.setattr(candidates, "CENTRES", cap)

    @settings(deadline=None)
    @given(worlds(), st.data())
    def holds(given_: list[Listing], data: st.DataObject) -> None:
        adverts = adverts_of(given_)
        touched = sorted(data.draw(st.sets(st.integers(0, len(given_) - 1), min_size=1)))
        whole = {pair for pair in pairs(adverts) if {*pair} & {*touched}}
        assert pairs(adverts, touched) == whole

    holds()


def test_what_comes_changes_only_pairs_of_itself_and_of_the_crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "WINDOW_CAP", 2)
    monkeypatch.setattr(candidates, "CENTRES", 1)

    @settings(deadline=None)
    @given(worlds(10), worlds(3))
    def holds(before: list[Listing], came: list[Listing]) -> None:
        came = [one.model_copy(update={"external_id": f"new-{one.external_id}"}) for one in came]
        now = adverts_of([*before, *came])
        new = np.arange(len(before), len(now), dtype=np.int64)
        touched = {*new.tolist(), *crowded_rows(now, new).tolist()}
        untouched = {pair for pair in pairs(now) if not {*pair} & touched}
        assert untouched == {pair for pair in pairs(adverts_of(before)) if not {*pair} & touched}

    holds()


def test_a_crowd_is_compared_by_its_numbers_and_what_is_left_out_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(candidates, "WINDOW_CAP", 5)
    crowd = [advert(f"n{number}", price_eur=100_000.0 + 100 * (number // 2)) for number in range(20)]
    found = find_candidates(adverts_of(crowd))
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == {
        (number, number + 1) for number in range(0, 20, 2)
    }
    assert found.crowded.tolist() == list(range(20))
    assert found.cut["place"] == 20 * 20 - 20 * 2  # each would have met all, itself included, and meets two


def test_near_quarters_are_compared_when_the_numbers_are_the_same() -> None:
    here, near = advert("here"), advert("near", neighbourhood="Иван Вазов")
    assert pairs(adverts_of([here, near])) == {(0, 1)}
    assert pairs(adverts_of([here, near.model_copy(update={"area_sqm": 88.0})])) == set()
    assert pairs(adverts_of([here, near.model_copy(update={"neighbourhood": "Люлин 8"})])) == set()
