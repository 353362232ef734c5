"""Rents, plots, offices and shops by words, by numbers and by pieces of addresses; heating, phones."""

from sale_sofia.listings.model import RawField, RawListing
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.parsers import PARSERS
from tables import each_row


@each_row(
    ("texts", "facts"),
    [
        (("apartament-za-prodazhba",), {"deal": "sale", "property_type": "apartment", "rooms": None}),
        (("kyshta-pod-naem",), {"deal": "rent", "property_type": "house", "rooms": None}),
        (("prodava--v-stroej",), {"deal": "sale"}),
        (("garaj",), {"property_type": "garage", "rooms": None}),
        (("prodava", "dvustaen"), {"deal": "sale", "property_type": "apartment", "rooms": 2}),
        (("nothing-we-know",), {}),
    ],
)
def test_pieces_of_addresses(texts: tuple[str, ...], facts: dict[str, object]) -> None:
    assert PARSERS["offer_slug"]("offer", texts) == facts


@each_row(
    ("words", "kind", "rooms"),
    [
        ("2 - стаен", "apartment", 2),
        ("мезонет", "maisonette", None),
        ("Ателие/Студио", "studio", None),
        ("Гараж, паркомясто", "garage", None),
        ("Парцел", "plot", None),
        ("Магазин", "shop", None),
        ("Офиси", "office", None),
        ("Къщи, вили", "house", None),
        ("Земеделски имоти", "land", None),
        ("Едностаен апартамент", "apartment", 1),
    ],
)
def test_words(words: str, kind: str, rooms: int | None) -> None:
    assert PARSERS["property_type"]("x", (words,)) == {"property_type": kind, "rooms": rooms}


def test_numbers_of_categories() -> None:
    codes = {536: ["rent", "apartment"], 529: ["sale", "plot"]}
    assert PARSERS["offer_code"]("x", ("529",), codes=codes) == {"deal": "sale", "property_type": "plot"}
    assert PARSERS["offer_code"]("x", ("999",), codes=codes) == {}


@each_row(
    ("words", "heating"),
    [
        ("ТEЦ", ("district",)),
        ("Печка, камина", ("solid_fuel",)),
        ("Газ, Климатик", ("gas", "air_conditioner")),
        ("Прокарва се", ()),
        ("Без отопление", ("none",)),
    ],
)
def test_heating(words: str, heating: tuple[str, ...]) -> None:
    assert PARSERS["heating_words"]("heating", (words,)) == {"heating": heating}


def test_stages_of_a_building() -> None:
    assert PARSERS["building"]("x", ("Преди Aкт 14",)) == {
        "under_construction": True,
        "act_status": "before_act14",
    }
    assert PARSERS["building"]("x", ("Завършена",)) == {"under_construction": False, "act_status": None}


def test_a_slash_after_the_code_of_a_town_parts_no_number() -> None:
    facts = PARSERS["phones"]("x", ("02/465-19-50\r\n0899-032-036", "0888 123 456/0899 123456"))
    assert facts == {"phones": ("+35924651950", "+359899032036", "+359888123456", "+359899123456")}


def test_the_middle_of_the_city_is_no_place() -> None:
    assert PARSERS["coordinate"]("lat", ("42.6977",), unless=[42.6977]) == {}
    assert PARSERS["coordinate"]("lat", ("42.6978",), unless=[42.6977]) == {"lat": 42.6978}
    assert PARSERS["coordinate"]("lat", ("95.5",)) == {}


def test_what_cannot_be_is_dropped_and_named() -> None:
    fields = {
        "floors_total": RawField(("0",), 0, "number", {}),
        "title": RawField(("Двустаен",), 0, "text", {}),
    }
    listing = normalise(RawListing("olx.bg", "https://www.olx.bg/", "1", fields))
    assert (listing.floors_total, listing.title, listing.flags) == (
        None,
        "Двустаен",
        ("floors_total_impossible",),
    )
