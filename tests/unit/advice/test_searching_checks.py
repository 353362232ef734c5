"""Every condition of a search on one flat: what passes, what fails, what is not known."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flat_checks import Around, checks_of, judge
from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.profile import edit_profile, new_profile
from sale_sofia.advice.search.conditions import Scored
from sale_sofia.advice.search.query import SearchQuery, WrongSearch
from sale_sofia.flats.flat import Advert, Code, Contradiction, Flat, Trap
from sale_sofia.flats.settings import ACTS
from sale_sofia.geography import imported
from tables import each_row

DAY = 86_400.0
NOW = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
AROUND = Around(NOW, texts={})


def advert(number: int = 1, **fields: Any) -> Advert:  # noqa: ANN401 - any field
    plain = Advert(
        number, "imot.bg", f"id{number}", f"https://imot.bg/{number}", None, 100_000.0, None, "agency", None,
        NOW - 10 * DAY, NOW, offered=True,
    )  # fmt: skip
    return replace(plain, **fields)


def flat(**fields: Any) -> Flat:  # noqa: ANN401 - any field
    """A flat of which only what a search asks by itself is known."""
    plain = Flat(
        7, (advert(),), offered=True, price_eur=100_000.0, vat=None, first_seen_at=NOW - 10 * DAY,
        last_seen_at=NOW, new_at=NOW - 10 * DAY, deal="sale", property_type="apartment", city="София",
    )  # fmt: skip
    return replace(plain, **fields)


def matches(what: Flat, query: SearchQuery, around: Around) -> State:
    judged = judge(what, query, around)
    if judged is None:
        return State.FAIL
    return State.UNKNOWN if judged.unknown and query.unknown == "apart" else State.PASS


NOTHING = flat(price_eur=None)
HLADILNIKA = {"neighbourhood": "Хладилника"}
IN_LOZENETS = {"neighbourhood": "Лозенец", "lat": 42.6737, "lon": 23.3252}
ROUND_LOZENETS = "42.66,23.30;42.70,23.30;42.70,23.36;42.66,23.36"
"""All of Лозенец, a part of Хладилника, nothing of Бояна."""
POINT = {"near": "42.6737,23.3252"}
ABOVE = Contradiction(Code.FLOOR_ABOVE_TOTAL, ("floor", "floors_total"), 7, 4)
CASES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    # condition, facts of the flat, what it comes to
    ({}, {}, "pass"),
    ({}, {"deal": "rent"}, "fail"),
    ({}, {"deal": None}, "unknown"),
    ({"deal": "rent"}, {"deal": "rent"}, "pass"),
    ({"deal": None}, {"deal": "rent"}, "pass"),
    ({}, {"city": "Варна"}, "fail"),
    ({}, {"city": None}, "unknown"),
    ({"city": None}, {"city": "Варна"}, "pass"),
    ({}, {"property_type": "garage"}, "fail"),
    ({}, {"property_type": "studio"}, "pass"),
    ({"property_type": ()}, {"property_type": "garage"}, "pass"),
    ({}, {"offered": False}, "fail"),
    ({"gone": True}, {"offered": False}, "pass"),
    ({}, {"flags": frozenset({"place_conflict"})}, "fail"),
    ({"place_conflict": True}, {"flags": frozenset({"place_conflict"})}, "pass"),
    ({"flag": ("text_area", "text_rooms")}, {"flags": frozenset({"text_rooms"})}, "pass"),
    ({"flag": ("text_area",)}, {"flags": frozenset({"text_rooms"})}, "fail"),
    ({"contradictions": "only"}, {"contradictions": (ABOVE,)}, "pass"),
    ({"contradictions": "only"}, {}, "fail"),
    ({"contradictions": "none"}, {"contradictions": (ABOVE,)}, "fail"),
    ({"contradictions": "none"}, {}, "pass"),
    ({"neighbourhood": ("Лозенец",)}, {"neighbourhood": "Лозенец"}, "pass"),
    ({"neighbourhood": ("Лозенец", "Изток")}, {"neighbourhood": "Младост 1"}, "fail"),
    ({"neighbourhood": ("Лозенец",)}, {}, "unknown"),
    ({"not_neighbourhood": ("Лозенец",)}, {"neighbourhood": "Лозенец"}, "fail"),
    ({"not_neighbourhood": ("Лозенец",)}, {"neighbourhood": "Изток"}, "pass"),
    ({"not_neighbourhood": ("Лозенец",)}, {}, "unknown"),
    ({"district": ("Изгрев",)}, {"district": "Изгрев"}, "pass"),
    ({"district": ("Изгрев",)}, {"district": "Младост"}, "fail"),
    ({"district": ("Изгрев",)}, {"neighbourhood": "Изгрев"}, "unknown"),
    # An exact place is in or out; somewhere in a neighbourhood, only where all of it is.
    ({"polygon": (ROUND_LOZENETS,)}, IN_LOZENETS, "pass"),
    ({"polygon": (ROUND_LOZENETS,)}, IN_LOZENETS | {"lat": 42.65999}, "fail"),
    ({"polygon": (ROUND_LOZENETS,)}, {"neighbourhood": "Лозенец"}, "pass"),
    ({"polygon": (ROUND_LOZENETS,)}, HLADILNIKA, "unknown"),
    ({"polygon": (ROUND_LOZENETS,)}, HLADILNIKA | {"lat": 42.661, "lon": 23.32}, "pass"),
    ({"polygon": (ROUND_LOZENETS,)}, {"neighbourhood": "Бояна"}, "fail"),
    ({"polygon": (ROUND_LOZENETS, "42.6,23.2;42.6,23.4;42.66,23.4;42.66,23.2")}, HLADILNIKA, "pass"),
    ({"polygon": (ROUND_LOZENETS,)}, {"neighbourhood": "Докторски паметник"}, "unknown"),  # no borders
    ({"polygon": (ROUND_LOZENETS,)}, {}, "unknown"),
    ({"polygon": (ROUND_LOZENETS,), "city": None}, {"city": "Варна"}, "fail"),
    ({"polygon": (ROUND_LOZENETS,), "city": None}, {"city": None}, "unknown"),
    ({"within": ("Лозенец",)}, IN_LOZENETS | {"neighbourhood": "Кръстова вада"}, "pass"),
    ({"within": ("Лозенец",)}, IN_LOZENETS | {"lat": 42.6599}, "fail"),
    ({"within": ("Лозенец",)}, {"neighbourhood": "Лозенец"}, "pass"),
    ({"within": ("Лозенец",)}, HLADILNIKA, "fail"),  # which touches it
    ({"within": ("Център",)}, {"neighbourhood": "Оборище"}, "unknown"),  # most of it
    ({"within": ("Център", "Подуяне")}, {"neighbourhood": "Оборище"}, "pass"),
    (POINT | {"near_m": 100}, IN_LOZENETS | {"lat": 42.6745}, "pass"),  # 89 m
    (POINT | {"near_m": 80}, IN_LOZENETS | {"lat": 42.6745}, "fail"),
    (POINT | {"near_m": 3000}, {"neighbourhood": "Лозенец"}, "pass"),
    (POINT | {"near_m": 300}, {"neighbourhood": "Лозенец"}, "unknown"),
    (POINT | {"near_m": 300}, {"neighbourhood": "Бояна"}, "fail"),
    ({"price_max": 100_000}, {}, "pass"),
    ({"price_max": 99_999}, {}, "fail"),
    ({"price_min": 100_001}, {}, "fail"),
    ({"price_min": 1, "price_max": 200_000}, {"price_eur": None}, "unknown"),
    # VAT that comes on top counts; where a new flat does not say, it is not known.
    ({"price_max": 119_999}, {"vat": "excluded"}, "fail"),
    ({"price_max": 120_000}, {"vat": "excluded"}, "pass"),
    ({"price_min": 110_000}, {"vat": "excluded"}, "pass"),
    ({"price_max": 110_000}, {"under_construction": True}, "unknown"),
    ({"price_max": 120_000}, {"under_construction": True}, "pass"),
    ({"price_max": 99_000}, {"under_construction": True}, "fail"),
    ({"price_max": 110_000}, {"under_construction": True, "vat": "included"}, "pass"),
    ({"price_max": 150_000}, {"traps": {"price_from": Trap(value=True, quote="цени от")}}, "unknown"),
    ({"eur_sqm_max": 2000}, {"area_sqm": 50.0}, "pass"),
    ({"eur_sqm_max": 1999}, {"area_sqm": 50.0}, "fail"),
    ({"eur_sqm_min": 2001}, {"area_sqm": 50.0}, "fail"),
    ({"eur_sqm_max": 2399}, {"area_sqm": 50.0, "vat": "excluded"}, "fail"),
    ({"eur_sqm_min": 2400}, {"area_sqm": 50.0, "vat": "excluded"}, "pass"),
    ({"eur_sqm_max": 2200}, {"area_sqm": 50.0, "under_construction": True}, "unknown"),
    ({"eur_sqm_max": 2000}, {}, "unknown"),
    ({"eur_sqm_max": 2000}, {"area_sqm": 50.0, "price_eur": None}, "unknown"),
    ({"area_min": 60, "area_max": 80}, {"area_sqm": 60.0}, "pass"),
    ({"area_min": 60, "area_max": 80}, {"area_sqm": 80.5}, "fail"),
    ({"area_min": 60}, {"area_net_sqm": 70.0}, "unknown"),
    ({"net_area_min": 60}, {"area_net_sqm": 59.0, "area_sqm": 70.0}, "fail"),
    ({"net_area_max": 60}, {"area_net_sqm": 59.0, "area_sqm": 70.0}, "pass"),
    ({"net_area_min": 60}, {"area_sqm": 70.0}, "unknown"),
    ({"rooms": (2, 3)}, {"rooms": 3}, "pass"),
    ({"rooms": (2, 3)}, {"rooms": 4}, "fail"),
    ({"rooms": (5,)}, {"rooms": 7}, "pass"),
    ({"rooms": (4,)}, {"rooms": 7}, "fail"),
    ({"rooms": (2,)}, {}, "unknown"),
    ({"bathrooms_min": 2}, {"bathrooms": 2}, "pass"),
    ({"bathrooms_min": 2}, {"bathrooms": 1}, "fail"),
    ({"bathrooms_min": 2}, {}, "unknown"),
    ({"floor_min": 2, "floor_max": 4}, {"floor": 4}, "pass"),
    ({"floor_min": 2, "floor_max": 4}, {"floor": 5}, "fail"),
    ({"floor_max": 0}, {"floor": 0}, "pass"),
    ({"floor_min": 2}, {}, "unknown"),
    ({"not_ground": True}, {"floor": 0}, "fail"),
    ({"not_ground": True}, {"floor": -1}, "fail"),
    ({"not_ground": True}, {"floor": 1}, "pass"),
    ({"not_ground": True}, {}, "unknown"),
    ({"not_last": True}, {"floor": 5, "floors_total": 5}, "fail"),
    ({"not_last": True}, {"floor": 4, "floors_total": 5}, "pass"),
    ({"not_last": True}, {"floor": 4}, "unknown"),
    ({"construction": ("brick", "monolith")}, {"construction": "brick"}, "pass"),
    ({"construction": ("brick",)}, {"construction": "epk"}, "fail"),
    ({"no_panel": True}, {"construction": "panel"}, "fail"),
    ({"no_panel": True}, {"construction": "epk"}, "pass"),
    ({"no_panel": True}, {}, "unknown"),
    ({"year_min": 2000}, {"year_built": 2000}, "pass"),
    ({"year_min": 2000}, {"year_built": 1999}, "fail"),
    ({"year_max": 1970}, {}, "unknown"),
    # "Before act 15" has not got act 15.
    ({"act": "act15"}, {"act_status": "before_act15"}, "fail"),
    ({"act": "act15"}, {"act_status": "act15"}, "pass"),
    ({"act": "act15"}, {"act_status": "commissioned"}, "pass"),
    ({"act": "act16"}, {"act_status": "before_act16"}, "fail"),
    ({"act": "act15"}, {}, "unknown"),
    ({"act": "act15"}, {"year_built": 1985}, "pass"),
    ({"act": "act16"}, {"construction": "panel"}, "pass"),
    ({"act": "act15"}, {"year_built": 1985, "under_construction": True}, "unknown"),
    ({"condition": ("renovated", "new")}, {"condition": "new"}, "pass"),
    ({"condition": ("renovated",)}, {"condition": "bare"}, "fail"),
    ({"furnishing": ("furnished",)}, {"furnishing": "partially"}, "fail"),
    ({"furnishing": ("furnished",)}, {}, "unknown"),
    ({"heating": ("gas", "district")}, {"heating": ("local", "gas")}, "pass"),
    ({"heating": ("gas",)}, {"heating": ("district",)}, "fail"),
    ({"heating": ("gas",)}, {}, "unknown"),
    # A side is compared whole: "west" is in no "east or south".
    ({"orientation": ("E", "S")}, {"orientation": ("W", "SE")}, "fail"),
    ({"orientation": ("E", "S")}, {"orientation": ("W", "S")}, "pass"),
    ({"orientation": ("E",)}, {}, "unknown"),
    ({"metro_m": 500}, {"metro_distance_m": 500}, "pass"),
    ({"metro_m": 500}, {"metro_distance_m": 501}, "fail"),
    ({"metro_m": 500}, {"metro_minutes": 6}, "pass"),
    ({"metro_m": 500}, {"metro_minutes": 7}, "fail"),
    ({"metro_m": 500}, {"metro_station": "Опълченска"}, "unknown"),
    ({"metro_minutes": 10}, {"metro_minutes": 10}, "pass"),
    ({"metro_minutes": 10}, {"metro_distance_m": 801}, "fail"),
    ({"metro_minutes": 10}, {}, "unknown"),
    ({"metro_minutes": 11}, HLADILNIKA, "pass"),  # 0 to 11
    ({"metro_minutes": 10}, HLADILNIKA, "unknown"),
    ({"metro_minutes": 35}, HLADILNIKA | {"neighbourhood": "Бояна"}, "fail"),  # 36 to 75
    ({"metro_minutes": 36}, HLADILNIKA | {"neighbourhood": "Бояна"}, "unknown"),
    ({"metro_minutes": 4}, HLADILNIKA | {"metro_minutes": 5}, "fail"),  # as told
    ({"metro_minutes": 8}, IN_LOZENETS, "pass"),
    ({"metro_minutes": 7}, IN_LOZENETS | {"metro_minutes": 5}, "fail"),  # where it stands: 8
    ({"travel": ("17:Сердика",)}, IN_LOZENETS, "pass"),
    ({"travel": ("16:Сердика",)}, IN_LOZENETS, "fail"),
    ({"travel": ("17:Сердика", "34:Бизнес парк София")}, IN_LOZENETS, "fail"),
    ({"travel": ("22:Сердика",)}, HLADILNIKA, "pass"),
    ({"travel": ("21:Сердика",)}, HLADILNIKA, "unknown"),
    ({"travel": ("11:Сердика",)}, HLADILNIKA, "fail"),
    ({"travel": ("25:Сердика",)}, {}, "unknown"),
    ({"stop_minutes": 2}, IN_LOZENETS, "pass"),
    ({"stop_minutes": 1}, IN_LOZENETS, "fail"),
    ({"stop_minutes": 7}, HLADILNIKA, "pass"),  # 0 to 7
    ({"stop_minutes": 6}, HLADILNIKA, "unknown"),
    ({"stop_minutes": 6}, {}, "unknown"),
    ({"line": ("t10", "15")}, IN_LOZENETS, "pass"),
    ({"line": ("t10", "94")}, IN_LOZENETS, "fail"),
    ({"line": ("t10",)}, HLADILNIKA, "unknown"),  # near a part of it
    ({"line": ("b94",)}, HLADILNIKA, "fail"),
    ({"line": ("b42",)}, {"neighbourhood": "Люлин 4"}, "pass"),
    ({"line": ("b42",)}, {}, "unknown"),
    ({"shop_minutes": 5}, IN_LOZENETS, "pass"),
    ({"shop_minutes": 4}, IN_LOZENETS, "fail"),
    ({"shop_minutes": 8}, HLADILNIKA, "pass"),  # 0 to 8
    ({"shop_minutes": 3}, HLADILNIKA | {"neighbourhood": "Бояна"}, "fail"),  # 4 to 33
    ({"shop_minutes": 30}, {"neighbourhood": "Ботунец"}, "unknown"),  # the data does not cover it
    ({"school_minutes": 7}, IN_LOZENETS, "unknown"),  # no schools are imported
    ({"school_rank": 32}, IN_LOZENETS, "unknown"),
    ({"road": ("close", "far")}, IN_LOZENETS, "pass"),  # 150 to 300 m
    ({"road": ("beside", "near", "far")}, IN_LOZENETS, "fail"),
    ({"road": ("close", "far")}, {"neighbourhood": "ж.гр.Южен парк"}, "pass"),  # either of them
    ({"road": ("far",)}, {"neighbourhood": "ж.гр.Южен парк"}, "unknown"),
    ({"road": ("beside", "near")}, {"neighbourhood": "ж.гр.Южен парк"}, "fail"),
    ({"road": ("far",)}, {}, "unknown"),
    ({"metro_m": 825}, HLADILNIKA, "pass"),
    ({"metro_m": 800}, HLADILNIKA, "unknown"),
    ({"metro_m": 590}, IN_LOZENETS, "fail"),
    ({"metro_m": 600}, IN_LOZENETS, "pass"),
    ({"balcony": True}, {"has_balcony": True}, "pass"),
    ({"balcony": True}, {"balconies": 2}, "pass"),
    ({"balcony": True}, {"has_balcony": False}, "fail"),
    ({"balcony": True}, {}, "unknown"),
    ({"parking": True}, {"parking": ("garage",)}, "pass"),
    ({"parking": True}, {"parking": ("street",)}, "fail"),
    ({"parking": True}, {}, "unknown"),
    ({"elevator": True}, {"elevator": True}, "pass"),
    ({"elevator": True}, {"elevator": False}, "fail"),
    ({"elevator": True}, {}, "unknown"),
    ({"seller": ("private",)}, {"adverts": (advert(1), advert(2, seller_kind="private"))}, "pass"),
    ({"seller": ("private",)}, {"adverts": (advert(1), advert(2, seller_kind=None))}, "unknown"),
    ({"seller": ("private",)}, {"adverts": (advert(1),)}, "fail"),
    (
        {"seller": ("private",)},
        {"adverts": (advert(1), advert(2, seller_kind="private", offered=False))},
        "fail",
    ),
    ({"portal": ("alo.bg",)}, {"adverts": (advert(1), advert(2, site="alo.bg"))}, "pass"),
    ({"portal": ("alo.bg",)}, {"adverts": (advert(1), advert(2, site="alo.bg", offered=False))}, "fail"),
    ({"days_max": 10}, {}, "pass"),
    ({"days_max": 9.9}, {}, "fail"),
    ({"days_min": 10.1}, {}, "fail"),
    ({"new_since": datetime(2026, 11, 5, tzinfo=UTC)}, {}, "pass"),
    ({"new_since": datetime(2026, 11, 5, 0, 1, tzinfo=UTC)}, {}, "fail"),
    ({"new_since": datetime(2026, 11, 5, 0, 1, tzinfo=UTC)}, {"new_at": NOW}, "pass"),  # let go since
    ({"new_since": datetime(2026, 11, 1, tzinfo=UTC)}, {"new_at": None}, "fail"),  # held back
    ({"status": ("shortlist",)}, {}, "fail"),
    ({"status": ("new",)}, {}, "pass"),
    ({"all_like": True}, {}, "fail"),
    ({"waits_for_you": True}, {}, "fail"),
]


@each_row(("conditions", "facts", "expected"), CASES)
def test_a_condition(conditions: dict[str, Any], facts: dict[str, Any], expected: str) -> None:
    assert matches(flat(**facts), SearchQuery.of(conditions), AROUND) == State(expected)


@each_row(
    ("conditions", "expected"),
    [
        ({"school_minutes": 7}, "pass"),
        ({"school_minutes": 6}, "fail"),
        ({"school_rank": 32}, "pass"),
        ({"school_rank": 31}, "fail"),
    ],
)
@pytest.mark.usefixtures("schools")
def test_imported_schools_can_be_asked_for(conditions: dict[str, Any], expected: str) -> None:
    query = SearchQuery.of(conditions)
    assert matches(flat(**IN_LOZENETS), query, AROUND) == State(expected)
    beside_the_other = flat(neighbourhood="Надежда 1", lat=42.71, lon=23.30)
    unranked = "unknown" if "school_rank" in conditions else "pass"
    assert matches(beside_the_other, query, AROUND) == State(unranked)


@pytest.mark.slow
def test_places_of_profiles_can_be_asked_by_their_names_until_they_are_others(tmp_path: Path) -> None:
    there = flat(**IN_LOZENETS)
    with pytest.raises(WrongSearch, match="one of yours, a stop"):
        SearchQuery.of({"travel": ("17:Работа",)})
    imported.use(tmp_path)
    try:
        edit_profile(tmp_path, "default", [("places", [{"name": "Работа", "at": "Сердика"}])])
        query = SearchQuery.of({"travel": ("17:РАБОТА",)})
        assert matches(there, query, AROUND) == State.PASS  # 17
        edit_profile(tmp_path, "default", [("places", [{"name": "Работа", "at": "Бизнес парк София"}])])
        assert matches(there, query, AROUND) == State.FAIL  # 35
        new_profile(tmp_path, "other")
        edit_profile(tmp_path, "other", [("places", [{"name": "работа", "at": "Сердика"}])])
        with pytest.raises(WrongSearch, match="profiles call different places работа; rename one of them"):
            SearchQuery.of({"travel": ("17:работа",)})
    finally:
        imported.use(tmp_path / "nothing")


def test_every_condition_has_a_case() -> None:
    asked = {field for conditions, _, _ in CASES for field in conditions}
    elsewhere = {"cut_days", "cut_percent", "word", "not_word", "profile", "passing", "unknown", "sort"}
    assert set(SearchQuery.model_fields) - asked == elsewhere


def test_acts_are_in_one_order() -> None:
    reached = [
        matches(flat(act_status=has), SearchQuery.of({"act": wants}), AROUND) == State.PASS
        for has in ACTS
        for wants in ACTS
    ]
    assert reached == [has >= wants for has in range(len(ACTS)) for wants in range(len(ACTS))]


def test_one_failure_outweighs_what_is_not_known_and_that_outweighs_a_pass() -> None:
    query = SearchQuery.of({"price_max": 100_000, "rooms": (3,), "elevator": True})
    assert matches(flat(rooms=3, elevator=True), query, AROUND) == State.PASS
    assert matches(flat(elevator=True), query, AROUND) == State.UNKNOWN
    assert matches(flat(rooms=2), query, AROUND) == State.FAIL
    judged = judge(flat(), query, AROUND)
    assert judged is not None
    assert judged.unknown == ("rooms", "elevator")


@pytest.mark.parametrize(("unknown", "expected"), [("apart", "unknown"), ("ok", "pass"), ("no", "fail")])
def test_what_is_not_known_is_what_the_buyer_says(unknown: str, expected: str) -> None:
    query = SearchQuery.of({"rooms": (3,), "unknown": unknown})
    assert matches(flat(), query, AROUND) == State(expected)
    assert matches(flat(rooms=3), query, AROUND) == State.PASS
    assert matches(flat(rooms=2), query, AROUND) == State.FAIL


def test_nothing_known_passes_no_condition() -> None:
    """An empty advert must not come out on top."""
    plain = {
        "price_max": 1,
        "eur_sqm_max": 1,
        "area_min": 1,
        "rooms": (3,),
        "year_min": 2000,
        "no_panel": True,
    }
    for field, value in plain.items():
        assert matches(NOTHING, SearchQuery.of({field: value}), AROUND) == State.UNKNOWN, field


def test_the_buyers_statuses_count_by_property() -> None:
    rejected = replace(AROUND, statuses={7: "rejected"})
    assert matches(flat(), SearchQuery(), rejected) == State.FAIL
    assert matches(flat(), SearchQuery.of({"status": ("rejected",)}), rejected) == State.PASS
    assert matches(flat(), SearchQuery.of({"status": ()}), rejected) == State.PASS


def test_what_the_household_thinks_counts_by_property() -> None:
    likes, waits = (SearchQuery.of({field: True}) for field in ("all_like", "waits_for_you"))
    for number, expected in ((7, State.PASS), (8, State.FAIL)):
        assert matches(flat(), likes, replace(AROUND, liked=frozenset({number}))) == expected
        assert matches(flat(), waits, replace(AROUND, waiting=frozenset({number}))) == expected


def test_a_price_cut_is_of_an_advert_that_is_still_there() -> None:
    query = SearchQuery.of({"cut_days": 30, "cut_percent": 5})
    two = flat(adverts=(advert(1), advert(2), advert(3, offered=False)))
    for cuts, expected in (({2: 5.0}, "pass"), ({2: 4.9}, "fail"), ({3: 50.0}, "fail"), ({}, "fail")):
        assert matches(two, query, replace(AROUND, cuts=cuts)) == State(expected)
    assert matches(two, query, AROUND) == State.UNKNOWN


def test_a_profile_passes_as_it_was_scored() -> None:
    query = SearchQuery.of({"profile": "default", "passing": True})
    for verdict in State:
        scored = replace(AROUND, scores={7: Scored(verdict, 3.0, 4.0, 0.75)})
        assert matches(flat(), query, scored) == verdict
    assert matches(flat(), query, replace(AROUND, scores={})) == State.UNKNOWN


@each_row(
    ("words", "text", "found"),
    [
        (["юг"], "изложение юг", True),
        (["юг"], "добър друг", False),
        (["терас*"], "две тераси", True),
        (["тераса"], "две тераси", False),
        (["тераса"], "тераса.", True),
        (["до метрото"], "на 3 минути, до метрото!", True),
        (["парк", "гараж"], "до парк", False),
        (["парк", "гараж"], "гараж и парк", True),
        (["е-8"], "блок е-8", True),
        (["(a"], "план (a)", True),
    ],
)
def test_words_are_whole_words(words: list[str], text: str, *, found: bool) -> None:
    around = replace(AROUND, texts={1: text})
    assert matches(flat(), SearchQuery.of({"word": words}), around) == State("pass" if found else "fail")
    for one in words if len(words) == 1 else ():
        without = SearchQuery.of({"not_word": [one]})
        assert matches(flat(), without, around) == State("fail" if found else "pass")


def test_words_that_were_not_read_are_not_known() -> None:
    assert matches(flat(), SearchQuery.of({"word": ["юг"]}), Around(NOW)) == State.UNKNOWN


def test_only_what_is_asked_is_looked_at() -> None:
    names = [name for name, _ in checks_of(SearchQuery())]
    assert names == ["gone", "place_conflict", "status", "city", "deal", "property_type"]
