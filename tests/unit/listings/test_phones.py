import phonenumbers

from sale_sofia.listings.parsers import parse_phone, parse_phones
from sale_sofia.listings.settings import PHONES_MOST_PARTS
from tables import each_row


@each_row(
    ("printed", "e164"),
    [
        ("0888 000 123", "+359888000123"),
        ("0888000123", "+359888000123"),
        ("+359 888 000 123", "+359888000123"),
        ("00359888000123", "+359888000123"),
        ("02 425 68 20", "+35924256820"),
        ("08XX XXX XXX", None),
        ("Вашия телефон:", None),
        ("12", None),
        ("441 23 45", None),  # of which town? Sofia has such numbers, and so have villages with their code
        ("0441 23 45", "+3594412345"),
        ("888 000 123", "+359888000123"),
        ("2 425 68 20", "+35924256820"),
        ("359 2 425 68 20", "+35924256820"),
        ("", None),
    ],
)
def test_a_phone(printed: str, e164: str | None) -> None:
    assert parse_phone(printed) == e164


def test_what_is_read_without_the_library_is_what_the_library_says() -> None:
    for prefix in range(700, 1000):
        for printed in (f"0{prefix}001234", f"0{prefix} 001 234", f"0{prefix}  00 12 34"):
            number = phonenumbers.parse(printed, "BG")
            said = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
            assert parse_phone(printed) == (said if phonenumbers.is_valid_number(number) else None), printed


def test_numbers_stand_once_in_the_order_printed() -> None:
    texts = ("0888 000 123, 02 425 68 20", "0888000123", "Изпрати запитване")
    assert parse_phones(texts) == ("+359888000123", "+35924256820")


@each_row(
    ("printed", "numbers"),
    [
        ("02/441 23 45", ("+35924412345",)),
        ("02/441 23 45 / 0888 000 123", ("+35924412345", "+359888000123")),
        ("0888000123/02/4256820/+359 888 000 124", ("+359888000123", "+35924256820", "+359888000124")),
        ("02/425 68 20/441 23 45", ()),
        ("0888 000 123 / 124", ("+359888000123",)),
        ("888 000 123 / 888 000 124", ("+359888000123", "+359888000124")),
    ],
)
def test_a_slash_follows_the_code_of_a_town_or_a_number(printed: str, numbers: tuple[str, ...]) -> None:
    assert parse_phones((printed,)) == numbers


def test_only_the_first_parts_of_a_text_are_tried() -> None:
    parts = ["x"] * (PHONES_MOST_PARTS - 1)
    assert parse_phones((", ".join([*parts, "0888 000 123"]),)) == ("+359888000123",)
    assert parse_phones((", ".join([*parts, "x", "0888 000 123"]),)) == ()
