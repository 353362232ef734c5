from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.listings.numbers import FloorNumbers, parse_area, parse_count, parse_farmland, parse_floor
from tables import each_row


@each_row(
    ("printed", "sqm"),
    [
        ("56 m\n2", 56),
        ("56 кв.м", 56),
        ("37 кв. м.", 37),
        ("61,09 кв.м", 61.09),
        ("68m²", 68),
        ("68 м2", 68),
        ("1 200 кв.м", 1200),
        ("1.2 дка", 1200),
        ("12.345 дка", 12345),
        ("1 200,125 кв.м", 1200.125),
        ("2 дка", 2000),
    ],
)
def test_an_area(printed: str, sqm: float) -> None:
    assert parse_area(printed) == sqm


@each_row(
    "printed",
    ["1,200 кв.м", "80,125 кв.м", "1.200 кв.м", "1,200 дка"],
)
def test_thousands_that_may_be_parts_are_no_area(printed: str) -> None:
    assert parse_area(printed) is None


def test_a_number_without_end_is_none() -> None:
    assert parse_area("9" * 400 + " кв.м") is None
    assert parse_area("9" * 3 + " 999" * 100 + " кв.м") is None
    assert parse_count("9" * 5000) is None
    assert parse_count("1 625\xa0000") == 1_625_000


@each_row("printed", ["", "56", "0 кв.м", "56 m2 Етаж: 1", "от 56 кв.м", "5-ти от 8", "13 €/кв. м."])
def test_what_is_not_one_area_is_no_area(printed: str) -> None:
    assert parse_area(printed) is None


@each_row(
    ("printed", "floor", "total"),
    [
        ("1-ви от 5", 1, 5),
        ("2-ри от 8", 2, 8),
        ("5-ти ет. от 8", 5, 8),
        ("8-ми от 8", 8, 8),
        ("Партер от 4", 0, 4),
        ("ПАРТЕР", 0, None),
        ("Сутерен от 5", -1, 5),
        ("3 от 5", 3, 5),
        ("Етаж: 3 от 5", 3, 5),
        ("4 етаж", 4, None),
        ("2-ри", 2, None),
        ("12-ти от 16", 12, 16),
    ],
)
def test_a_floor(printed: str, floor: int, total: int | None) -> None:
    assert parse_floor(printed) == FloorNumbers(floor, total)


def test_a_lone_number_is_marked_as_bare() -> None:
    assert parse_floor("3") == FloorNumbers(3, None, bare=True)


@each_row("printed", ["", "последен", "Мансарда", "8-ми от 5", "1-ви от 0", "1-ви от 5 ТEЦ: ДА", "ДА"])
def test_what_is_not_one_floor_is_no_floor(printed: str) -> None:
    assert parse_floor(printed) is None


@given(st.text(max_size=40))
def test_any_text_is_read_without_an_error(text: str) -> None:
    area, floor = parse_area(text), parse_floor(text)
    assert area is None or area > 0
    assert floor is None or floor.floor is None or floor.floor >= -1


@each_row(
    ("printed", "floor"),
    [
        ("от 6", FloorNumbers(None, 6)),
        (" от 6", FloorNumbers(None, 6)),
        ("2 от", FloorNumbers(2, None)),
        ("0 от 5", FloorNumbers(0, 5)),
        ("от", None),
        ("от 0", None),
        ("5 от 2", None),
    ],
)
def test_half_a_floor(printed: str, floor: FloorNumbers | None) -> None:
    """imoti.net leaves out what it does not know, and prints the word between."""
    assert parse_floor(printed) == floor


@each_row(
    ("printed", "sqm"),
    [
        ("9.769 кв. м", 9769),
        ("9,769 кв. м", 9769),
        ("0.800 кв.м", 800),
        ("123.456 кв.м", 123456),
        ("1.5 кв.м", 1500),
        ("4333 кв. м", 4333),
        ("4333.5 кв. м", 4333.5),
        ("12 500 кв.м", 12500),
        ("9.769 дка", 9769),
        ("12 дка", 12000),
    ],
)
def test_farmland_that_can_be_known(printed: str, sqm: float) -> None:
    assert parse_farmland(printed) == sqm


@each_row("printed", ["12 кв. м", "850 кв. м", "560.25 кв. м", "0.000 кв. м", "", "9.769", "от 5 дка"])
def test_farmland_that_may_be_either_is_none(printed: str) -> None:
    assert parse_farmland(printed) is None
