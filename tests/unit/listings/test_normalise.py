import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from sale_sofia.listings.model import RawField, RawListing
from sale_sofia.listings.normalise import normalise, read_facts
from sale_sofia.listings.page import LayoutChanged
from tables import each_row


def field(parser: str, *texts: str, agree: tuple[str, ...] = (), **arguments: Any) -> RawField:  # noqa: ANN401
    return RawField(texts, 0, parser, arguments, tuple((text,) for text in agree))


def listing(fields: Mapping[str, RawField]) -> dict[str, Any]:
    return read_alone({"views": field("number", "7"), **fields})


def read_alone(fields: Mapping[str, RawField]) -> dict[str, Any]:
    return normalise(RawListing("imot.bg", "https://www.imot.bg/obiava-x", "x", fields)).model_dump()


def test_a_price_that_the_page_confirms() -> None:
    read = listing({"price": field("price", "149 900 €", agree=("149900 EUR", "293 178.92 лв."))})
    assert (read["price_eur"], read["flags"]) == (149900, ())


def test_a_price_that_the_page_contradicts_is_none_and_named() -> None:
    read = listing({"price": field("price", "149 900 €", agree=("139900 EUR",))})
    assert (read["price_eur"], read["price_bgn"], read["flags"]) == (None, None, ("price_conflict",))


def test_a_confirmation_that_says_nothing_does_not_count() -> None:
    read = listing({"price": field("price", "149 900 €", agree=("0 EUR", "Договаряне"))})
    assert read["price_eur"] == 149900


def test_a_text_that_is_too_long_for_a_neighbourhood_is_none_and_named() -> None:
    names = {length: listing({"neighbourhood": field("text", "х" * length)}) for length in (120, 121)}
    assert (names[120]["neighbourhood"], names[120]["flags"]) == ("х" * 120, ())
    assert (names[121]["neighbourhood"], names[121]["flags"]) == (None, ("place_unknown",))


def test_two_room_counts_are_none() -> None:
    read = listing({"offer": field("offer", "Продава 3-СТАЕН"), "rooms": field("property_type", "4-стаен")})
    assert (read["rooms"], read["property_type"], read["flags"]) == (None, "apartment", ("rooms_conflict",))


def test_two_deals_are_none() -> None:
    read = listing(
        {"offer": field("offer", "Продава 3-СТАЕН"), "category": field("offer", "Дава под наем Апартамент")}
    )
    assert (read["deal"], read["rooms"], read["flags"]) == (None, 3, ("deal_conflict",))


def test_the_first_field_names_the_type() -> None:
    read = listing({"offer": field("offer", "Продава МЕЗОНЕТ"), "rooms": field("property_type", "3-стаен")})
    assert (read["property_type"], read["rooms"]) == ("maisonette", 3)


def test_a_maisonette_filed_under_many_rooms_has_no_count() -> None:
    read = listing(
        {"offer": field("offer", "Продава МЕЗОНЕТ"), "rooms": field("property_type", "Mногостаен")}
    )
    assert (read["property_type"], read["rooms"]) == ("maisonette", None)


def test_a_lone_number_counts_the_storeys_of_a_house_only() -> None:
    house = listing({"offer": field("offer", "Продава КЪЩА"), "floor": field("floor", "3")})
    flat = listing({"offer": field("offer", "Продава 2-СТАЕН"), "floor": field("floor", "3")})
    assert (house["floor"], house["floors_total"]) == (None, 3)
    assert (flat["floor"], flat["floors_total"]) == (None, None)


def test_a_floor_above_the_roof_is_kept_as_printed_and_named() -> None:
    read = listing({"floor": field("floor", "9", bare="floor"), "floors_total": field("number", "8")})
    assert (read["floor"], read["floors_total"], read["flags"]) == (9, 8, ("floor_conflict",))


def test_heating_is_collected_in_one_order() -> None:
    read = listing(
        {"gas": field("heating", "ДА", yes="gas"), "district": field("heating", "Лок.отопл.", yes="district")}
    )
    assert read["heating"] == ("gas", "local")


def test_a_year_in_place_of_the_storeys_is_none() -> None:
    read = listing({"floor": field("floor", "3", bare="floor"), "floors_total": field("number", "2025")})
    assert (read["floor"], read["floors_total"], read["flags"]) == (3, None, ("floors_total_conflict",))


def test_heating_beside_none_at_all_is_not_believed() -> None:
    read = listing({"heating": field("heating_words", "Без отопление, ТЕЦ")})
    assert (read["heating"], read["flags"]) == ((), ("heating_conflict",))
    assert listing({"heating": field("heating_words", "Без отопление")})["heating"] == ("none",)


def test_half_a_coordinate_is_none() -> None:
    assert listing({"lat": field("coordinate", "42.65")})["lat"] is None
    both = listing({"lat": field("coordinate", "42.65"), "lon": field("coordinate", "23.34")})
    assert (both["lat"], both["lon"]) == (42.65, 23.34)


def test_publication_comes_from_the_family_id() -> None:
    read = listing({"family_id": field("family_id", "1b177634821891002")})
    assert read["posted_at"].isoformat() == "2026-04-16T17:03:38+03:00"


def test_nothing_said_is_nothing_known() -> None:
    read = listing({})
    stated = {key for key, value in read.items() if value not in (None, ())}
    assert stated == {"site", "kind", "url", "external_id", "views"}


NAMED = {
    "title": field("text", "Продава 2-СТАЕН, Лозенец"),
    "offer": field("offer_slug", "prodava", "dvustaen"),
    "family_id": field("family_id", "1b177634821891002"),
}


@each_row(
    "more",
    [{}, {"price": field("price", "Цена")}, {"floor": field("floor", "Етаж")}, {"lat": field("text", "")}],
)
def test_an_advert_that_only_says_who_it_is_has_another_layout(more: dict[str, RawField]) -> None:
    with pytest.raises(LayoutChanged, match="nothing is found but its id and its title"):
        read_alone({**NAMED, **more})


@each_row(
    "more",
    [
        {"price": field("price", "1 €")},
        {"description": field("text", "Светъл")},
        {"photo_urls": field("urls", "https://x/1.jpg")},
        {"elevator": field("features", "Асансьор")},
        {"place": field("place", "София")},
    ],
)
def test_one_fact_makes_it_an_advert(more: dict[str, RawField]) -> None:
    assert read_alone({**NAMED, **more})["title"] == "Продава 2-СТАЕН, Лозенец"


@each_row(
    ("fields", "city", "quarter"),
    [
        ({"city": field("text", "с. Енина")}, "Енина", None),
        ({"city": field("text", "Енина"), "neighbourhood": field("text", "кв. Горна махала")},
         "Енина", "Горна Махала"),
        ({"place": field("place", "гр. БУРГАС, ж.к. Меден рудник")}, "Бургас", "Меден Рудник"),
        ({"place": field("place", "Меден Рудник, Burgas")}, "Бургас", "Меден Рудник"),
        ({"city": field("text", "гр. София"), "neighbourhood": field("text", "в.з.Бояна")},
         "София", "в.з.Бояна"),
        ({"neighbourhood": field("text", "жк. Изток")}, None, "жк. Изток"),  # nobody says of which town
    ],
)  # fmt: skip
def test_a_place_outside_sofia_has_one_name_however_it_is_read(
    fields: dict[str, RawField], city: str | None, quarter: str | None
) -> None:
    read = listing(fields)
    assert (read["city"], read["neighbourhood"]) == (city, quarter)
    card = read_facts(fields)
    assert (card.get("city"), card.get("neighbourhood")) == (city, quarter)


def test_another_writing_of_the_same_town_is_no_other_town() -> None:
    read = listing({"city": field("text", "Свети Влас"), "title": field("text", "Студио в Св. Влас")})
    assert read["flags"] == ()
    other = listing({"city": field("text", "София"), "title": field("text", "Студио в Св. Влас")})
    assert other["flags"] == ("place_conflict",)


def test_what_was_read_before_is_read_the_same_and_not_mixed_up() -> None:
    """Short words are remembered: by their field, their parser and what must agree with them."""
    for _ in range(2):
        assert read_facts({"area_sqm": field("area", "80 кв.м")}) == {"area_sqm": 80}
        assert read_facts({"yard_sqm": field("area", "80 кв.м")}) == {"yard_sqm": 80}
        assert read_facts({"floor": field("floor", "3")}) == {"storeys": 3}
        assert read_facts({"floor": field("floor", "3", bare="floor")}) == {"floor": 3}
        price = read_facts({"price": field("price", "90 000 €", agree=("90 000 EUR",))})
        assert price == {"price_eur": 90000}
        price["price_eur"] = 1
        assert read_facts({"price": field("price", "90 000 €", agree=("80 000 EUR",))}) == {
            "flags": ("price_conflict",)
        }


def test_a_listing_goes_whole_from_process_to_process() -> None:
    read = normalise(
        RawListing(
            "imot.bg",
            "https://www.imot.bg/obiava-x",
            "x",
            {
                "family_id": field("family_id", "1c177322990495362"),
                "price": field("price", "149 900 €"),
                "photo_urls": field("urls", "//x.bg/1.jpg", "//x.bg/2.jpg"),
            },
        )
    )
    again = pickle.loads(pickle.dumps(read))  # noqa: S301 - our own
    assert again == read
    assert again.model_dump() == read.model_dump()
    assert again.model_copy(update={"views": 3}).views == 3
