"""Facts that check each other: each rule, what it doubts, and what it leaves alone."""

import statistics
import time
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from sale_sofia.advice.valuation.trial import NOWHERE
from sale_sofia.flats.contradictions import (
    NO_TEXT,
    RULES,
    TEXT_RULES,
    Beside,
    Outlier,
    TextFacts,
    find_contradictions,
    merge_flat,
)
from sale_sofia.flats.flat import Code, Contradiction, Correction, Exactness, Flat
from sale_sofia.flats.outliers import Priced, price_outliers
from sale_sofia.flats.settings import MARKET_LEAST

SEEN_AT = time.mktime((2026, 11, 15, 0, 0, 0, 0, 0, 0))
Facts = dict[str, Any]
CASES: list[tuple[Code, Facts, tuple[str, ...]]] = [
    (Code.FLOOR_ABOVE_TOTAL, {"floor": 7, "floors_total": 4}, ("floor", "floors_total")),
    (Code.BEDROOMS_FILL_ROOMS, {"rooms": 3, "bedrooms": 3}, ("rooms", "bedrooms")),
    (Code.BEDROOMS_FILL_ROOMS, {"rooms": 1, "bedrooms": 2}, ("rooms", "bedrooms")),
    (Code.NET_ABOVE_TOTAL, {"area_sqm": 60.0, "area_net_sqm": 75.0}, ("area_sqm", "area_net_sqm")),
    (Code.BUILT_IN_FUTURE, {"act_status": "act16", "year_built": 2028}, ("act_status", "year_built")),
    (
        Code.ACT_OF_UNBUILT,
        {"act_status": "commissioned", "under_construction": True},
        ("act_status", "under_construction"),
    ),
    (
        Code.BUILT_OUT_OF_TIME,
        {"construction": "panel", "year_built": 1940},
        ("construction", "year_built"),
    ),
    (Code.BUILT_OUT_OF_TIME, {"construction": "epk", "year_built": 2022}, ("construction", "year_built")),
]
POSSIBLE: list[Facts] = [
    {"floor": 8, "floors_total": 8},
    {"floor": 9, "floors_total": None},
    {"rooms": 3, "bedrooms": 2},
    {"rooms": 1, "bedrooms": 1},
    {"rooms": 5, "bedrooms": 6},
    {"area_sqm": 112.0, "area_net_sqm": 112.38},
    {"act_status": "act16", "year_built": 2026},
    {"act_status": "act14", "year_built": 2028},
    {"act_status": "act14", "under_construction": True},
    {"act_status": "act16", "under_construction": False},
    {"construction": "panel", "year_built": 1985},
    {"construction": "brick", "year_built": 1912},
]


def told(fact: str, value: object, text: str, quote: str = "", **more: object) -> TextFacts:
    return TextFacts({fact: value, **more}, {fact: quote}, text)


def found(printed: Facts, by: TextFacts = NO_TEXT, *sure: str) -> list[tuple[Code, tuple[str, ...]]]:
    facts = {"property_type": "apartment", **printed}
    return [(one.code, one.facts) for one in find_contradictions(facts, by, SEEN_AT, sure)]


@pytest.mark.parametrize(("code", "printed", "doubted"), CASES)
def test_what_cannot_be_is_doubted(code: Code, printed: Facts, doubted: tuple[str, ...]) -> None:
    assert found(printed) == [(code, doubted)]


@pytest.mark.parametrize("printed", POSSIBLE)
def test_what_can_be_is_believed(printed: Facts) -> None:
    assert found(printed) == []


@pytest.mark.parametrize(("printed", "said"), [("commissioned", "act16"), ("act16", "commissioned")])
def test_portal_and_text_agree_that_a_building_is_finished(printed: str, said: str) -> None:
    """So that they outweigh a year that the portal prints alone."""
    facts = {"act_status": printed, "year_built": 2028}
    assert found(facts, TextFacts({"act_status": said})) == [(Code.BUILT_IN_FUTURE, ("year_built",))]


def test_every_rule_has_a_case() -> None:
    assert {code for code, _, _ in CASES} == {rule.code for rule in RULES}


@pytest.mark.parametrize(
    ("printed", "by", "sure", "doubted"),
    [
        # What only the text says gives way to what the portal prints.
        ({"floors_total": 6}, TextFacts({"floor": 9}), (), ("floor",)),
        # What both say is surer than what one of them does.
        ({"floor": 7, "floors_total": 4}, TextFacts({"floor": 7}), (), ("floors_total",)),
        ({"rooms": 2}, TextFacts({"rooms": 2, "bedrooms": 2}), (), ("bedrooms",)),
        # But a text that counts bedrooms is as good as a portal that counts rooms.
        ({"rooms": 2}, TextFacts({"bedrooms": 2}), (), ("rooms", "bedrooms")),
        # The buyer's word is surest of all.
        ({"floor": 7, "floors_total": 4}, TextFacts({"floors_total": 4}), ("floor",), ("floors_total",)),
    ],
)
def test_the_less_sure_of_two_facts_is_doubted(
    printed: Facts, by: TextFacts, sure: tuple[str, ...], doubted: tuple[str, ...]
) -> None:
    assert [facts for _, facts in found(printed, by, *sure)] == [doubted]


def test_the_buyer_is_not_contradicted() -> None:
    assert found({"floor": 7, "floors_total": 4}, NO_TEXT, "floor", "floors_total") == []
    assert found({"floor": 7}, told("floor", 3, "на трети етаж"), "floor") == []


DIFFERING: list[tuple[Code, Facts, TextFacts]] = [
    (Code.TEXT_FLOOR, {"floor": 7}, told("floor", 3, "на трети етаж", "трети етаж")),
    (Code.TEXT_ROOMS, {"rooms": 3}, told("rooms", 2, "двустаен, може да се преустрои", "двустаен")),
    (Code.TEXT_ROOMS, {"rooms": 6}, told("rooms", 4, "четиристаен", "четиристаен")),
    (Code.TEXT_AREA, {"area_sqm": 94.0}, told("area_sqm", 65, "с площ от 65 кв.м и мазе")),
    (Code.TEXT_YEAR, {"year_built": 2006}, told("year_built", 2026, "нова сграда от 2026 г.")),
    (Code.TEXT_ACT, {"act_status": "commissioned"}, told("act_status", "act14", "сграда с акт 14")),
    (Code.TEXT_FLOOR_OF_HEIGHT, {"floor": 8}, told("floor", 5, "пети от осем", floors_total=8)),
]
ALIKE: list[tuple[Facts, TextFacts]] = [
    ({"floor": 3}, told("floor", 3, "на трети етаж")),
    ({"floor": 3}, told("floor", 2, "на втори етаж")),
    ({"floor": 7}, told("floor", 1, "първи жилищен етаж над магазини", "първи жилищен етаж")),
    ({"floor": 7}, told("floor", 2, "последните 2 етажа от сграда", "2 етажа")),
    ({"floor": 5}, told("floor", 1, "мезонет: на първи етаж е холът", "първи етаж")),
    ({"floor": 7}, told("floor", 4, "на 4-ти етаж, гледка от 7 прозореца")),
    ({"floor": 7}, told("floor", 4, "на четвърти, до седми етаж има асансьор")),
    ({"rooms": 1}, told("rooms", 2, "едно - двустаен апартамент", "двустаен")),
    ({"rooms": 3}, told("rooms", 4, "3-4-стаен", "4-стаен")),
    ({"rooms": 3}, told("rooms", 2, "заменя се за две двустайни жилища", "двустайни")),
    ({"rooms": 2}, told("rooms", 3, "тристаен, преустроен", "тристаен")),
    ({"rooms": 4}, told("rooms", 3, "слънчев тристаен с отделен кабинет", "тристаен")),
    ({"rooms": 3}, told("rooms", 4, "офис, годен за ползване като светъл четиристаен", "четиристаен")),
    ({"rooms": 3}, told("rooms", 2, "в сградата остават 2 х 2-стаен", "2-стаен")),
    ({"area_sqm": 110.0}, told("area_sqm", 92, "чиста площ 92 кв.м")),
    ({"area_sqm": 102.0}, told("area_sqm", 138.31, "138.31 м2 с паркомястото, 102.21 м2 без него")),
    ({"area_sqm": 158.0}, told("area_sqm", 25, "спалня от 25 кв.м")),
    ({"year_built": 2025}, told("year_built", 2026, "акт 15 през май 2026 г.")),
    ({"year_built": 1980}, told("year_built", 2019, "сграда от 1980 г., санирана 2019 г.")),
    ({"act_status": "act16"}, told("act_status", "before_act16", "пред акт 16")),
    ({"floor": 7, "property_type": "house"}, told("floor", 3, "на трети етаж")),
]


@pytest.mark.parametrize(("code", "printed", "by"), DIFFERING)
def test_a_text_that_says_something_else_contradicts(code: Code, printed: Facts, by: TextFacts) -> None:
    [fact] = printed
    assert found(printed, by) == [(code, (fact,))]
    assert found(printed, by._replace(whole=None)) == []


@pytest.mark.parametrize(("printed", "by"), ALIKE)
def test_a_text_that_speaks_of_both_or_counts_otherwise_does_not(printed: Facts, by: TextFacts) -> None:
    assert found(printed, by) == []


def test_every_text_rule_has_a_case() -> None:
    assert {code for code, _, _ in DIFFERING} == {
        *(rule.code for rule in TEXT_RULES),
        Code.TEXT_FLOOR_OF_HEIGHT,
    }


# What a flat is made of: adverts without what they contradict.


def row(number: int = 1, said: Facts | None = None, **fields: object) -> Facts:
    """An advert as the database gives it, or a table of adverts in a file."""
    told_by = {
        field: {"value": value, "status": "stated", "quote": quote}
        for field, (value, quote) in (said or {}).items()
    }
    own = {"id": number, "site": "imot.bg", "external_id": f"n{number}", "url": f"https://x/{number}"}
    known = {"deal": "sale", "property_type": "apartment", "price_eur": 100_000.0, "seller_name": None}
    rest: Facts = {"description": None, "last_seen_at": SEEN_AT}
    return {**NOWHERE, **own, **known, **rest, "said": told_by, "described": bool(told_by), **fields}


def merged(*rows: Facts, **beside: Any) -> Flat:  # noqa: ANN401 - any field of Beside
    return merge_flat(1, rows, beside=Beside(**beside))


def test_a_contradicted_fact_is_unknown_and_named_with_both_values() -> None:
    flat = merged(row(floor=7, floors_total=4, rooms=3))
    assert (flat.floor, flat.floors_total, flat.rooms) == (None, None, 3)
    assert flat.contradictions == (Contradiction(Code.FLOOR_ABOVE_TOTAL, ("floor", "floors_total"), 7, 4),)
    assert flat.flags == {"floor_above_total"}


def test_a_text_does_not_fill_what_it_contradicts() -> None:
    flat = merged(row(floor=7, said={"floor": (3, "трети етаж")}, description="на трети етаж"))
    assert (flat.floor, flat.from_text) == (None, frozenset())
    assert [(one.code, one.one, one.other, one.kept) for one in flat.contradictions] == [
        (Code.TEXT_FLOOR, 7, 3, None)
    ]


def test_the_likelier_floor_is_kept() -> None:
    said = {"floor": (5, "пети етаж"), "total_floors": (8, "от осем")}
    flat = merged(row(floor=8, said=said, description="пети етаж от осем"))
    assert (flat.floor, flat.floors_total) == (5, 8)
    assert "floor" in flat.from_text
    assert [(one.code, one.kept) for one in flat.contradictions] == [(Code.TEXT_FLOOR_OF_HEIGHT, 5)]


def test_another_advert_tells_what_one_contradicts() -> None:
    flat = merged(row(1, floor=7, floors_total=4), row(2, floor=4, floors_total=7), row(3))
    assert (flat.floor, flat.floors_total) == (4, 7)
    assert [one.kept for one in flat.contradictions] == [(4, 7)]


def test_adverts_contradict_each_other_together() -> None:
    flat = merged(row(1, floor=7), row(2, floors_total=4))
    assert (flat.floor, flat.floors_total, flat.flags) == (None, None, frozenset({"floor_above_total"}))


def test_bedrooms_that_are_not_counted_in_one_word_are_unknown_without_a_flag() -> None:
    for quote in ("2 спални (спалня", "втора непреходна спалня"):
        flat = merged(row(rooms=2, said={"bedrooms": (2, quote)}))
        assert (flat.rooms, flat.bedrooms, flat.contradictions) == (2, None, ())
    flat = merged(row(rooms=2, said={"bedrooms": (2, "две спални")}))
    assert (flat.rooms, flat.bedrooms, flat.flags) == (None, None, frozenset({"bedrooms_fill_rooms"}))


def test_the_buyers_word_wins_and_clears_what_it_settles() -> None:
    corrected = {"floor": Correction(4, "anna", 5.0), "bathrooms": Correction(2, "anna", 5.0)}
    flat = merged(row(floor=7, floors_total=4, said={"floor": (7, "")}), corrected=corrected)
    assert (flat.floor, flat.floors_total, flat.bathrooms, flat.contradictions) == (4, 4, 2, ())
    assert (flat.corrected, flat.from_text) == (corrected, frozenset())
    above = merged(row(floor=2, floors_total=3), corrected={"floor": Correction(4, "anna", 5.0)})
    assert (above.floor, above.floors_total) == (4, None)
    assert [one.facts for one in above.contradictions] == [("floors_total",)]


def test_what_only_a_description_tells_is_marked() -> None:
    said = {"floor": (3, "трети етаж"), "bathrooms": (1, "баня")}
    assert merged(row(floors_total=8, said=said)).from_text == {"floor", "bathrooms"}
    assert merged(row(1, floor=3), row(2, said=said)).from_text == {"bathrooms"}


# The market.


def market(*, deal: str, eur_sqm: float, place: str | None = "Лозенец", first: int = 1) -> list[Priced]:
    """Adverts around a price, within a fifth of it."""
    return [
        Priced(
            first + number, deal, "apartment", "София", place, eur_sqm * (0.8 + 0.4 * number / MARKET_LEAST)
        )
        for number in range(MARKET_LEAST + 1)
    ]


def outlying(odd: Priced, *others: list[Priced]) -> list[tuple[int, Code]]:
    adverts = [odd, *(one for some in others for one in some)]
    return [key for key, _ in price_outliers(adverts)]


SALES = market(deal="sale", eur_sqm=3_000)
RENTS = market(deal="rent", eur_sqm=10, first=200)
ODD = Priced(999, "sale", "apartment", "София", "Лозенец", 0.0)


@pytest.mark.parametrize(
    ("deal", "eur_sqm", "code"),
    [
        ("sale", 3_900, None),
        ("sale", 300_000, Code.PRICE_OUT_OF_MARKET),
        ("sale", 30, Code.PRICE_OUT_OF_MARKET),
        ("sale", 11, Code.PRICE_LIKE_RENT),
        ("rent", 12, None),
        ("rent", 2_900, Code.RENT_LIKE_PRICE),
    ],
)
def test_the_market_says_what_can_be(deal: str, eur_sqm: float, code: Code | None) -> None:
    odd = ODD._replace(deal=deal, eur_sqm=eur_sqm)
    assert outlying(odd, SALES, RENTS) == ([] if code is None else [(999, code)])


def test_what_several_places_of_the_town_have_is_possible_and_few_adverts_say_nothing() -> None:
    usual = [one for turn in range(8) for one in market(deal="sale", eur_sqm=3_000, first=1_000 * turn)]
    far_off = [
        ODD._replace(listing_id=9_000 + number, neighbourhood=place, eur_sqm=eur_sqm)
        for number, (place, eur_sqm) in enumerate([("Долни Богров", 900.0), ("Изток", 9_000.0)] * 5)
    ]
    assert outlying(far_off[0], usual, far_off[1:]) == []
    lonely = {key for one in far_off[:2] for key in outlying(one, usual)}
    assert lonely == {(9_000, Code.PRICE_OUT_OF_MARKET), (9_001, Code.PRICE_OUT_OF_MARKET)}
    assert outlying(ODD._replace(eur_sqm=1.0), SALES[: MARKET_LEAST // 2]) == []


def test_a_town_is_looked_at_once_whatever_the_number_of_its_places(monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_prices = 0

    def counted(
        data: Sequence[float], *, n: int, method: Literal["inclusive", "exclusive"] = "exclusive"
    ) -> list[float]:
        nonlocal sorted_prices
        sorted_prices += len(data)
        return quantiles(data, n=n, method=method)

    places = [f"квартал {number}" for number in range(50)]
    adverts = [
        one
        for number, place in enumerate(places)
        for one in market(deal="sale", eur_sqm=3_000, place=place, first=100 * number)
    ]
    quantiles = statistics.quantiles
    monkeypatch.setattr(statistics, "quantiles", counted)
    assert list(price_outliers(adverts)) == []
    assert sorted_prices == 3 * len(adverts)  # the town's quarters and extremes, and those of each place


def test_a_price_that_stands_out_is_unknown_until_its_area_is_put_right() -> None:
    strange = {1: [Outlier(Code.PRICE_OUT_OF_MARKET, 1_500.0, 9_000.0)]}
    flat = merged(row(area_sqm=1_000.0), outliers=strange)
    assert (flat.price_eur, flat.adverts[0].price_eur, flat.area_sqm) == (None, None, 1_000.0)
    assert [(one.one, one.other) for one in flat.contradictions] == [(100.0, (1_500.0, 9_000.0))]
    area = {"area_sqm": Correction(50.0, "anna", 5.0)}
    right = merged(row(area_sqm=1_000.0), outliers=strange, corrected=area)
    assert (right.price_eur, right.area_sqm, right.contradictions) == (100_000.0, 50.0, ())
    price = {"price_eur": Correction(90_000.0, "anna", 5.0)}
    assert merged(row(area_sqm=1_000.0), outliers=strange, corrected=price).price_eur == 90_000.0


def test_a_private_seller_of_many_is_of_no_known_kind() -> None:
    busy = {1: [Outlier(Code.PRIVATE_WITH_MANY, 60, 60)]}
    flat = merged(row(seller_kind="private"), outliers=busy)
    assert (flat.adverts[0].seller_kind, flat.flags) == (None, frozenset({"private_with_many"}))


# Where it is.

IN_LOZENETS: Facts = {"city": "София", "neighbourhood": "Лозенец", "lat": 42.6737, "lon": 23.3252}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, None),
        ({"lat": 42.66620, "lon": 23.32754}, None),  # 182 m outside
        ({"lat": 42.6962, "lon": 23.3258}, (1.1, "Лозенец")),  # the centre
        ({"neighbourhood": "с. Герман"}, (9.8, "с. Герман")),  # only its centre is known
        ({"neighbourhood": "с. Герман", "lat": 42.63, "lon": 23.43}, None),
        ({"neighbourhood": "Редута"}, None),  # nobody knows where it is
        ({"neighbourhood": None}, None),
        ({"neighbourhood": None, "lat": 42.15, "lon": 24.75}, (131.7, "София")),
        ({"city": "Русе", "neighbourhood": "Дружба 1", "lat": 43.83, "lon": 25.96}, None),
    ],
)
def test_coordinates_far_outside_the_neighbourhood_are_not_believed(
    more: Facts, told: tuple[float, str] | None
) -> None:
    flat = merged(row(**{**IN_LOZENETS, **more}))
    expected = [(Code.POSITION_OUTSIDE, ("lat", "lon"), *told)] if told else []
    assert [(one.code, one.facts, one.one, one.other) for one in flat.contradictions] == expected
    assert (flat.lat is None, flat.lon is None) == (bool(told), bool(told))
    assert flat.neighbourhood == {**IN_LOZENETS, **more}["neighbourhood"]


def test_the_neighbourhood_that_the_buyer_names_or_most_adverts_do_judges_coordinates() -> None:
    word = {"neighbourhood": Correction("Люлин 5", "anna", 5.0)}
    flat = merged(row(**IN_LOZENETS), corrected=word)
    assert (flat.neighbourhood, flat.lat, flat.flags) == ("Люлин 5", None, frozenset({"position_outside"}))
    there: Facts = {"city": "София", "neighbourhood": "Люлин 5"}
    flat = merged(row(**IN_LOZENETS), row(2, **there), row(3, **there))
    assert (flat.neighbourhood, flat.lat, flat.flags) == ("Люлин 5", None, frozenset({"position_outside"}))


def test_a_point_of_many_flats_is_nobodys_own() -> None:
    flat = merged(row(**IN_LOZENETS), outliers={1: [Outlier(Code.POSITION_SHARED, 7, 7)]})
    assert (flat.lat, flat.lon, flat.exactness) == (None, None, Exactness.NEIGHBOURHOOD)
    assert [(one.one, one.other) for one in flat.contradictions] == [((42.6737, 23.3252), 7)]


@pytest.mark.parametrize(
    ("more", "exactness"),
    [
        ({}, Exactness.EXACT),
        ({"site": "olx.bg"}, Exactness.NEIGHBOURHOOD),  # the middle of a circle
        ({"site": "olx.bg", "street": "ул. Кораб планина"}, Exactness.STREET),
        ({"lat": 42.6962, "lon": 23.3258}, Exactness.NEIGHBOURHOOD),  # contradicted
        ({"lat": None, "neighbourhood": None}, Exactness.UNKNOWN),
        ({"city": None}, Exactness.UNKNOWN),
    ],
)
def test_nothing_is_more_exact_than_it_is(more: Facts, exactness: Exactness) -> None:
    assert merged(row(**{**IN_LOZENETS, **more})).exactness is exactness


def test_of_several_adverts_one_with_the_flats_own_place_tells_it() -> None:
    vague: Facts = {**IN_LOZENETS, "site": "olx.bg", "lat": 42.6733}
    flat = merged(row(**IN_LOZENETS), row(2, **vague))
    assert (flat.lat, flat.exactness) == (42.6737, Exactness.EXACT)


@pytest.mark.parametrize(
    ("fields", "said", "told"),
    [
        # From the exact place it is 8 minutes.
        (IN_LOZENETS, {"metro_minutes": (5, "5 минути")}, None),
        ({**IN_LOZENETS, "neighbourhood": "Гоце Делчев", "lat": 42.6665, "lon": 23.2935},
         {"metro_minutes": (3, "3 минути")}, (("metro_minutes",), 3, 26)),
        # From the neighbourhood it is 36 to 75.
        ({"city": "София", "neighbourhood": "Бояна"}, {"metro_minutes": (25, "25")},
         (("metro_minutes",), 25, 36)),
        ({"city": "София", "neighbourhood": "Бояна"}, {"metro_minutes": (26, "26")}, None),
        ({"city": "София", "neighbourhood": "Бояна", "metro_distance_m": 400}, {},
         (("metro_distance_m",), 5, 36)),
        ({"city": "София", "neighbourhood": "Редута"}, {"metro_minutes": (1, "1")}, None),
        ({"city": "Варна", "neighbourhood": "Бояна"}, {"metro_minutes": (1, "1")}, None),
    ],
)  # fmt: skip
def test_a_metro_that_is_much_farther_than_told_contradicts_the_advert(
    fields: Facts, said: Facts, told: tuple[tuple[str, ...], int, int] | None
) -> None:
    flat = merged(row(said=said, **fields))
    expected = [(Code.METRO_FARTHER, *told)] if told else []
    assert [(one.code, one.facts, one.one, one.other) for one in flat.contradictions] == expected
    believed = {flat.metro_minutes, flat.metro_distance_m} - {None}
    assert bool(believed) is not bool(told)


def test_coordinates_of_one_advert_judge_what_another_says_of_the_metro() -> None:
    there: Facts = {"city": "София", "neighbourhood": "Гоце Делчев"}
    says = row(2, said={"metro_minutes": (3, "3 минути")}, **there)
    flat = merged(row(lat=42.6665, lon=23.2935, **there), says)
    assert (flat.metro_minutes, flat.flags) == (None, frozenset({"metro_farther"}))
    assert flat.metro_walk == (26, 26, "position")


@pytest.mark.parametrize(
    ("more", "walk"),
    [
        ({}, (8, 8, "position")),
        ({"metro_distance_m": 400}, (8, 8, "position")),
        ({"lat": None, "metro_distance_m": 400}, (5.0, 5.0, "advert")),
        ({"lat": None}, (0, 22, "neighbourhood")),
        ({"lat": None, "street": "ул. Кораб планина"}, (0, 22, "neighbourhood")),
        ({"site": "olx.bg"}, (0, 22, "neighbourhood")),
        ({"lat": 42.6962, "lon": 23.3258}, (0, 22, "neighbourhood")),  # contradicted
        ({"lat": None, "neighbourhood": "Редута"}, None),
        ({"lat": None, "neighbourhood": None}, None),
        ({"city": "Варна"}, None),
    ],
)
def test_the_walk_to_the_metro_is_known_from_the_best_there_is(
    more: Facts, walk: tuple[float, float, str] | None
) -> None:
    assert merged(row(**{**IN_LOZENETS, **more})).metro_walk == walk
