from typing import Any

import pytest

from sale_sofia.listings.parsers import PARSERS, Facts
from tables import each_row


def read(parser: str, *texts: str, **arguments: Any) -> Facts:  # noqa: ANN401 - as the table gives them
    return PARSERS[parser]("field", texts, **arguments)


@each_row(
    ("printed", "facts"),
    [
        ("Продава 1-СТАЕН", {"deal": "sale", "property_type": "apartment", "rooms": 1}),
        ("Продава 2 - стаен", {"deal": "sale", "property_type": "apartment", "rooms": 2}),
        ("Дава под Наем 4-СТАЕН", {"deal": "rent", "property_type": "apartment", "rooms": 4}),
        ("Продава МНОГОСТАЕН", {"deal": "sale", "property_type": "apartment", "rooms": 5}),
        ("Продава МЕЗОНЕТ", {"deal": "sale", "property_type": "maisonette", "rooms": None}),
        ("Продава АТЕЛИЕ, ТАВАН", {"deal": "sale", "property_type": "studio", "rooms": None}),
        ("Продава ЕТАЖ ОТ КЪЩА", {"deal": "sale", "property_type": "house_floor", "rooms": None}),
        ("Продава ПРОМ. ПОМЕЩЕНИЕ", {"deal": "sale", "property_type": "industrial", "rooms": None}),
        ("Продава ГАРАЖ, ПАРКОМЯСТО", {"deal": "sale", "property_type": "garage", "rooms": None}),
        ("Продава Апартамент", {"deal": "sale", "property_type": "apartment", "rooms": None}),
        ("Продава 2-СТАЕН град София", {}),
        ("Купува 2-СТАЕН", {}),
        ("Продава", {}),
    ],
)
def test_offer(printed: str, facts: Facts) -> None:
    assert read("offer", printed) == facts


@each_row(
    ("printed", "facts"),
    [
        ("Mногостаен", {"property_type": "apartment", "rooms": 5}),  # with a Latin M, as bazar.bg prints it
        ("3-стаен", {"property_type": "apartment", "rooms": 3}),
        ("Тристаен апартамент", {"property_type": "apartment", "rooms": 3}),
        ("нещо", {}),
    ],
)
def test_property_type(printed: str, facts: Facts) -> None:
    assert read("property_type", printed) == facts


@each_row(
    ("printed", "facts"),
    [
        (
            "Тухла,\nВъведен в експлоатация\n2003 г.",
            {
                "construction": "brick",
                "under_construction": False,
                "act_status": "commissioned",
                "year_built": 2003,
            },
        ),
        (
            "Панел, Ще бъде въведен в експлоатация 2027 г.",
            {"construction": "panel", "under_construction": True, "act_status": None, "year_built": 2027},
        ),
        (
            "ЕПК, Въведен в експлоатация 1970 - 1979 г.",
            {"construction": "epk", "under_construction": False, "act_status": "commissioned"},
        ),
        (
            "Тухла, Въведен в експлоатация",
            {"construction": "brick", "under_construction": False, "act_status": "commissioned"},
        ),
        ("Гредоред", {"construction": "beam"}),
        ("Тухла,", {"construction": "brick"}),
        ("ПК, 1985 г.", {"construction": "pk", "year_built": 1985}),
        ("Нещо друго 1985 г.", {}),
        ("1234", {}),
        ("В строеж, Преди Акт 16", {"under_construction": True, "act_status": "before_act16"}),
        ("Преди Акт 16, В строеж", {"under_construction": True, "act_status": "before_act16"}),
        ("Тухла, Панел", {"flags": ("field_conflict",)}),
        ("Тухла, В строеж, Акт 16", {"flags": ("field_conflict",)}),
        ("Тухла, 2008 г., 2010 г.", {"flags": ("field_conflict",)}),
    ],
)
def test_building(printed: str, facts: Facts) -> None:
    assert read("building", printed) == facts


def test_price() -> None:
    assert read("price", "149 900 €\n293 178.92 лв.") == {"price_eur": 149900, "price_bgn": 293178.92}
    assert read("price", "215 621,67\n€", "421 719,33\nлв") == {
        "price_eur": 215621.67,
        "price_bgn": 421719.33,
    }
    assert read("price", "Договаряне\nДоговаряне") == {}
    assert read("price", "486 €\n469 €") == {"flags": ("price_unreadable",)}
    assert read("price", "149 900 €\n100 лв.") == {"flags": ("currency_conflict",)}


def test_previous_price_prefers_the_euros() -> None:
    assert read("previous_price", "917,28 лв", "469 €") == {"previous_price_eur": 469}
    assert read("previous_price", "917,28 лв") == {"previous_price_eur": 469.0}
    assert read("previous_price", "469 € 950,53 лв") == {}


@each_row(
    ("printed", "vat"),
    [
        ("Не се начислява ДДС", "none"),
        ("Цената е без ДДС", "excluded"),
        ("Цената е с включено ДДС", "included"),
        ("Цената е с включен ДДС", "included"),
        ("ДДС", None),
    ],
)
def test_vat(printed: str, vat: str | None) -> None:
    assert read("vat", printed) == {"vat": vat}


def test_floor_by_what_a_lone_number_means() -> None:
    assert read("floor", "5-ти от 8") == {"floor": 5, "floors_total": 8}
    assert read("floor", "3") == {"storeys": 3}
    assert read("floor", "3", bare="floor") == {"floor": 3, "floors_total": None}
    assert read("floor", "последен") == {}


@each_row(
    ("printed", "facts"),
    [
        ("ДА", {"heating": ("district",)}),
        ("НЕ", {}),
        ("Лок.отопл.", {"heating": ("local",)}),
        ("Прокарва се", {}),
        ("може би", {}),
    ],
)
def test_heating(printed: str, facts: Facts) -> None:
    assert read("heating", printed, yes="district") == facts


def test_features_are_kept_as_printed_and_read() -> None:
    assert read("features", "Тухла", "Асансьор", "Обзаведен", "С гараж", "С паркинг") == {
        "field": ("Тухла", "Асансьор", "Обзаведен", "С гараж", "С паркинг"),
        "elevator": True,
        "furnishing": "furnished",
        "parking": ["garage"],
    }


def test_place() -> None:
    assert read("place", "град София,\nБелите брези") == {
        "city": "София",
        "district": "Красно село",
        "neighbourhood": "Белите брези",
    }
    assert read("place", "гр. Търговище, Вароша")["neighbourhood"] == "Вароша"
    assert read("place", "гр. София, с. Рударци") == {"flags": ("place_conflict",)}


def test_seller_kind() -> None:
    assert read("seller_kind", "Брокер:", "Инвеститор:") == {"seller_kind": "developer"}
    assert read("seller_kind", "Площ: 56 кв.м, Агенция, Етаж: 1-ви от 5") == {"seller_kind": "agency"}
    assert read("seller_kind", "Брокер:") == {"seller_kind": None}


def test_family_id_from_an_id_or_from_photos_that_agree() -> None:
    photo = "//imotstatic2.focus.bg/imot/photosimotbg/1/259/big/1c174592757523259_aW.jpg"
    other = "//imotstatic2.focus.bg/imot/photosimotbg/1/111/big/1c174592757523111_aW.jpg"
    assert read("family_id", "1c174592757523259") == {"field": "1c174592757523259"}
    assert read("family_id", photo, photo) == {"field": "1c174592757523259"}
    assert read("family_id", photo, other) == {}
    assert read("family_id", "//cdn7.focus.bg/bazar/11/pics/118dda56.webp") == {}


def test_simple_ones() -> None:
    assert read("text", " a \n b ") == {"field": "a b"}
    assert read("text", " ") == {"field": None}
    assert read("lines", "a\nb") == {"field": "a\nb"}
    assert read("number", "1 625") == {"field": 1625}
    assert read("number", "many") == {"field": None}
    assert read("year", "2011") == {"field": 2011}
    assert read("year", "11") == {}
    assert read("year", "1066") == {}
    assert read("coordinate", "42.65351095271") == {"field": 42.65351095271}
    assert read("coordinate", "42") == {}
    assert read("names", "a", " a", "b") == {"field": ("a", "b")}
    assert read("urls", "//a.bg/1.jpg", "https://a.bg/2.jpg", "/3.jpg", "//a.bg/1.jpg") == {
        "field": ("https://a.bg/1.jpg", "https://a.bg/2.jpg")
    }
    assert read("area", "56 кв.м") == {"field": 56}
    assert read("phones", "0888 000 123") == {"phones": ("+359888000123",)}


@each_row(
    ("printed", "sqm"),
    [("63", 63), ("1 200", 1200), ("63 м2", 63), ("2 дка", 2000), ("63 стаи", None), ("", None)],
)
def test_a_lone_number_has_the_unit_of_its_label(printed: str, sqm: float | None) -> None:
    assert read("area", printed, unit="кв.м") == {"field": sqm}


def test_without_a_unit_a_lone_number_is_no_area() -> None:
    assert read("area", "63") == {"field": None}


def test_farmland_is_an_area() -> None:
    assert read("farmland", "9.769 кв. м") == {"area_sqm": 9769}


def test_a_portals_own_words_for_a_building() -> None:
    assert read("building", "Да", words={"Да": "Акт 16"}) == {
        "under_construction": False,
        "act_status": "act16",
    }
    assert read("building", "Не", words={"Да": "Акт 16"}) == {}
    assert read("building", "Тухла", words={"Да": "Акт 16"}) == {}


def test_kinds_of_heating_of_several_texts() -> None:
    assert read("heating_words", "ТЕЦ", "Асансьор", "Газ", "ТЕЦ") == {"heating": ("district", "gas")}


@each_row(
    ("address", "whole"),
    [
        ("user_files/a/1_big.jpg", "https://www.alo.bg/user_files/a/1_big.jpg"),
        ("/a.jpg", "https://www.alo.bg/a.jpg"),
        ("//cdn/a.jpg", "https://cdn/a.jpg"),
        ("https://x/a.jpg", "https://x/a.jpg"),
    ],
)
def test_an_address_is_made_whole(address: str, whole: str) -> None:
    assert read("urls", address, base="https://www.alo.bg") == {"field": (whole,)}


@pytest.mark.parametrize("address", ["javascript:;", "http://x/a.jpg", "data:image/png;base64,x"])
def test_what_is_no_safe_address_is_none(address: str) -> None:
    assert read("urls", address, base="https://www.alo.bg") == {"field": ()}


def test_an_address_without_its_beginning_needs_a_base() -> None:
    assert read("urls", "user_files/1.jpg") == {"field": ()}


def test_words_of_a_place_that_are_not_known_are_flagged() -> None:
    assert read("place", "София, Център, НДК") == {
        "city": "София", "district": None, "neighbourhood": "Център", "flags": ("place_unknown",),
    }  # fmt: skip
    assert "flags" not in read("place", "София, Център, бул. Евлоги Георгиев")
    assert read("place", "до парка")["flags"] == ("place_unknown",)


@each_row(
    ("texts", "construction"),
    [
        (("Панел",), "panel"),
        (("Високи тавани (над 2.85 м)\nСтоманобетонна конструкция",), "concrete"),
        (("Тухла / Цялостно ремонтиран имот",), "brick"),
        (("Стоманобетонна конструкция\nТухла",), None),
    ],
)
def test_construction_from_a_list(texts: tuple[str, ...], construction: str | None) -> None:
    assert read("building", *texts).get("construction") == construction


def test_heating_from_a_list() -> None:
    assert read("heating_words", "Климатици / ТЕЦ") == {"heating": ("air_conditioner", "district")}
    assert read("heating_words", "Парно на газ / Термопомпа") == {"heating": ("gas",)}
    electric = "Уреди на ел. ток (духалки, ел. радиатори и др.)"
    assert read("heating_words", f"{electric} / Камина") == {"heating": ("electric", "solid_fuel")}


def test_condition_and_yes_or_no() -> None:
    assert read("condition", "БДС (на шпакловка и замазка)") == {"field": "bare"}
    assert read("condition", "отлично") == {"field": None}
    assert [read("yes_no", word)["field"] for word in ("да", "Не", "1")] == [True, False, None]


def test_a_place_whose_town_the_portal_leaves_out() -> None:
    facts = read("place", "кв. Лозенец", town="София")
    assert facts == {"city": "София", "district": "Лозенец", "neighbourhood": "Лозенец"}
    assert read("place", "кв. Няма такъв", town="София")["neighbourhood"] is None
    assert read("place", "кв. Лозенец")["city"] is None


def test_lines_of_several_texts() -> None:
    assert read("lines", "Светъл имот.", "С мазе.") == {"field": "Светъл имот.\nС мазе."}
