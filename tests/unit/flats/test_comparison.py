import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from property_worlds import OWN_WORDS, advert, adverts_of
from sale_sofia.flats.matching.comparison import LEVELS, PairComparison
from sale_sofia.listings.model import Listing
from tables import each_row

CHOSEN = {"price_eur": 185_000.0}
PHOTOS = ("https://x/abcdefgh1.jpg", "https://x/abcdefgh2.jpg", "https://x/abcdefgh3.jpg")


def pair(one: Listing, two: Listing) -> PairComparison:
    return PairComparison(adverts_of([one, two]), np.array([0]), np.array([1]))


def level(field: str, one: Listing, two: Listing) -> str:
    return LEVELS[field][int(pair(one, two).levels(field)[0])]


@each_row(
    ("field", "mine", "other", "expected"),
    [
        ("place", {}, {}, "same"),
        ("place", {"neighbourhood": "Иван Вазов"}, {}, "near"),
        ("place", {"neighbourhood": "Люлин 8"}, {}, "other"),
        ("place", {"neighbourhood": None}, {}, "unknown"),
        ("rooms", {"rooms": 4}, {}, "one_more"),
        ("rooms", {"rooms": 5}, {}, "other"),
        ("area", {"area_sqm": 87.05}, {}, "same"),
        ("area", {"area_sqm": 87.4}, {}, "rounded"),
        ("area", {"area_sqm": 89.0}, {}, "close"),
        ("area", {"area_sqm": 95.0}, {}, "other"),
        ("price", {"price_eur": 183_450.0}, {}, "same"),
        ("price", {"price_eur": 187_000.0}, {}, "near"),
        ("price", CHOSEN, {"price_eur": 183_999.0, "seller_name": "СИНЯ ЖАБА"}, "rival"),
        ("price", CHOSEN, {"price_eur": 184_500.0, "seller_name": None}, "rival"),
        ("price", CHOSEN, {"price_eur": 185_000.0, "seller_name": "СИНЯ ЖАБА"}, "same"),
        ("price", CHOSEN, {"price_eur": 184_620.0, "seller_name": "СИНЯ ЖАБА"}, "near"),
        ("price", CHOSEN, {"price_eur": 184_000.0}, "near"),
        (
            "price",
            CHOSEN,
            {"price_eur": 184_000.0, "seller_name": "СИНЯ ЖАБА", "neighbourhood": None},
            "near",
        ),
        ("price", CHOSEN, {"price_eur": 200_000.0, "seller_name": "СИНЯ ЖАБА"}, "close"),
        (
            "price",
            CHOSEN | {"description": OWN_WORDS},
            {"price_eur": 184_000.0, "seller_name": "СИНЯ ЖАБА", "description": OWN_WORDS},
            "near",
        ),
        ("price", {"price_eur": 200_000.0}, {}, "close"),
        ("price", {"price_eur": None}, {}, "unknown"),
        ("floor", {"floor": 5}, {}, "other"),
        ("floor", {"floor": None}, {}, "unknown"),
        ("floors", {"floors_total": 9}, {}, "one_more"),
        ("floors", {"floors_total": 10}, {}, "other"),
        ("year", {"year_built": 2008}, {"year_built": 2010}, "same"),
        ("year", {"year_built": 2008}, {"year_built": 2015}, "close"),
        ("year", {"year_built": 1993}, {"year_built": 2008}, "other"),
        ("contact", {"phones": ["+359888000111"]}, {"phones": ["+359888000222", "+359888000111"]}, "phone"),
        ("contact", {}, {"seller_name": 'Агенция "Седем ключа" ЕООД'}, "agency"),
        ("contact", {"seller_name": "СИНЯ ЖАБА"}, {}, "other"),
        ("contact", {"seller_name": None}, {}, "unknown"),
        ("text", {"description": OWN_WORDS}, {"description": OWN_WORDS}, "same"),
        (
            "text",
            {"description": OWN_WORDS},
            {"description": "Кът с камина, нова дограма, ламперия и широк коридор към склада."},
            "other",
        ),
        ("text", {"description": OWN_WORDS}, {}, "unknown"),
        ("address", {"street": "ул. Липа 7"}, {"description": 'Дом на ул. "Липа" №7, с двор.'}, "same"),
        ("address", {"street": "ул. Липа"}, {"title": "Етаж на ул. Липа 7"}, "street"),
        ("address", {"street": "ул. Липа 7"}, {"street": "ул. Липа 9"}, "other_door"),
        ("address", {"street": "ул. Липа 7"}, {"street": "бул. Орех 7"}, "other"),
        (
            "address",
            {"street": "ул. Липа 7"},
            {"description": "До бул. Орех, на 7 минути от парка."},
            "unknown",
        ),
        ("address", {"description": "Дом в бл. 12А"}, {"description": "Блок 12а, тих."}, "same"),
        (
            "address",
            {"description": "Дом в бл. 12"},
            {"description": "Дом в бл. 12", "neighbourhood": "Люлин 8"},
            "other",
        ),
        ("unit", {"title": "Апартамент № 12"}, {"description": "Дом, ап. №12, с двор."}, "same"),
        ("unit", {"title": "Апартамент № 12"}, {"title": "Апартамент № 14"}, "other"),
        ("unit", {"description": "Дом, вх. Б, тих."}, {"description": "Дом, вход Б"}, "entrance"),
        ("unit", {"description": "Дом, вх. Б, тих."}, {"description": "Дом, вход В, тих."}, "other"),
        ("unit", {"description": "Дом, вх. Б, тих."}, {"description": "Вход в двора."}, "unknown"),
        ("unit", {"title": "Апартамент № 12"}, {"title": "Апартамент №12 и апартамент №14"}, "unknown"),
        ("photos", {"photo_urls": PHOTOS}, {"photo_urls": PHOTOS[::-1]}, "several"),
        ("photos", {"photo_urls": PHOTOS[:1]}, {"photo_urls": PHOTOS}, "one"),
        ("photos", {"photo_urls": ["https://x/1.jpg"]}, {"photo_urls": ["https://y/1.jpg"]}, "unknown"),
    ],
)
def test_levels(field: str, mine: dict[str, object], other: dict[str, object], expected: str) -> None:
    one, two = advert("one", **mine), advert("two", **other)
    assert level(field, one, two) == expected
    assert level(field, two, one) == expected


@each_row(
    "mine",
    [
        {"floor": 5},
        {"floors_total": 10},
        {"area_sqm": 90.0},
        {"price_eur": 270_000.0},
        {"year_built": 1990},
        {"deal": "rent"},
        {"property_type": "office"},
        {"description": "Реф. № 123457"},
        {"description": "Реф. № 123456, ап. № 14"},
    ],
)
def test_one_contradiction_is_a_veto(mine: dict[str, object]) -> None:
    mine = {"description": "Реф. № 123456", "year_built": 2010} | mine
    whole = advert("whole", year_built=2010, description="Реф. № 123456, ап. № 12")
    assert not pair(whole, advert("twin", year_built=2010, description="Реф. № 123456")).vetoed[0]
    assert pair(whole, advert("mine", **mine)).vetoed[0]
    assert not pair(
        advert("whole", family_id="1a", year_built=2010), advert("mine", **mine, family_id="1a")
    ).vetoed[0]


def test_a_net_area_does_not_contradict_the_gross_one() -> None:
    gross, net = advert("gross", area_sqm=100.0, area_net_sqm=86.0), advert("net", area_sqm=86.0)
    assert not pair(gross, net).vetoed[0]
    assert pair(gross.model_copy(update={"area_net_sqm": None}), net).vetoed[0]


def test_a_re_used_family_id_is_a_veto() -> None:
    old = advert("old", family_id="1a", area_sqm=65.0, floor=4)
    new = advert("new", family_id="1a", area_sqm=63.0, floor=7)
    assert pair(old, new).vetoed[0]
    assert not pair(old, new.model_copy(update={"floor": 4})).vetoed[0]
    assert not pair(old, new.model_copy(update={"area_sqm": 65.0})).vetoed[0]


def test_two_listings_under_one_id_of_a_portal_are_never_one() -> None:
    assert pair(advert("same"), advert("same")).vetoed[0]
    assert not pair(advert("same"), advert("same", site="bazar.bg")).vetoed[0]


flats = st.fixed_dictionaries(
    {},
    optional={
        "price_eur": st.sampled_from([100_000.0, 101_000.0, 140_000.0]),
        "area_sqm": st.sampled_from([60.0, 60.5, 61.0, 70.0]),
        "area_net_sqm": st.sampled_from([52.0, 60.0]),
        "floor": st.sampled_from([None, 1, 2]),
        "floors_total": st.sampled_from([None, 5, 6, 8]),
        "year_built": st.sampled_from([None, 1980, 1996]),
        "family_id": st.sampled_from([None, "1a"]),
        "description": st.sampled_from([None, OWN_WORDS, "Реф. № 123456", "Реф. № 654321"]),
        "neighbourhood": st.sampled_from(["Лозенец", "Люлин 8", None]),
    },
)


@settings(deadline=None)
@given(flats, flats)
def test_a_comparison_is_the_same_both_ways(one: dict[str, object], two: dict[str, object]) -> None:
    first, second = advert("one", **one), advert("two", **two)
    there, back = pair(first, second), pair(second, first)
    assert there.vetoed[0] == back.vetoed[0]
    assert there.family[0] == back.family[0]
    for field in LEVELS:
        assert there.levels(field)[0] == back.levels(field)[0]
