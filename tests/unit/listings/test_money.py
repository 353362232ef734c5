import pytest
from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.listings.numbers import BGN_PER_EUR, Money, parse_money, parse_number, says_no_price
from tables import each_row


@each_row(
    ("printed", "eur", "bgn"),
    [
        ("149 900 €\n293 178.92 лв.", 149900, 293178.92),
        ("684 540,50 лв\n350 000 €", 350000, 684540.5),
        ("99 702 EUR", 99702, None),
        (" 130 000 EUR", 130000, None),
        ("210 332 €", 210332, None),
        ("215 621,67\n€\n421 719,33\nлв", 215621.67, 421719.33),
        ("40 000 € 78 233 BGN", 40000, 78233),
        ("243 882 € ( 476 991.73 лв. )", 243882, 476991.73),
        ("320,000 EUR", 320000, None),
        ("€340 000", 340000, None),
        ("486 €", 486, None),
        ("99 702 евро", 99702, None),
        ("500 € / месец", 500, None),
        ("149900 EUR", 149900, None),
        ("195 583 лв.", 100000, 195583),
        ("400 000\n€\n(без ДДС)\n782 332\nлв.\n(без ДДС)", 400000, 782332),
        ("Наем 2 308 € /месец 4 514 лв. /месец (без ДДС)", 2308, 4514),
    ],
)
def test_a_printed_price(printed: str, eur: float, bgn: float | None) -> None:
    assert parse_money(printed) == Money(eur, bgn, agrees=True)


@each_row(
    "printed",
    [
        "486 €\n469 €",  # the new price and the old one
        "2 677 €/кв.м",
        "от 1 550 до 1 900 EUR",
        "от 99 000 €",
        "149 900",
        "€",
        "",
        "0 EUR",
        "9" * 400 + " €",
        "999" + " 999" * 100 + " €",
        "149 9 €0",
        "149 900 € 293 178.92 лв. Не се начислява ДДС",
        "149 900 € без мебели",
        "(2 677 €, 5 235.76 лв./m2)",
    ],
)
def test_what_is_not_one_price_is_no_price(printed: str) -> None:
    assert parse_money(printed) is None


def test_two_currencies_that_are_two_sums_do_not_agree() -> None:
    assert parse_money("149 900 € 293 17 лв.") is None
    assert parse_money("149 900 € 150 000 лв.") == Money(149900, 150000, agrees=False)


def test_whole_leva_agree_within_one_lev() -> None:
    assert parse_money("143 562 €\n280 783 лв.") == Money(143562, 280783, agrees=True)
    assert parse_money("143 562 €\n280 784 лв.") == Money(143562, 280784, agrees=False)


@each_row("printed", ["при запитване", "Договаряне", "Договаряне\nДоговаряне", "ДОГОВАРЯНЕ"])
def test_the_portals_words_for_no_price(printed: str) -> None:
    assert says_no_price(printed)


@pytest.mark.parametrize("printed", ["", "149 900 €", "Договаряне 5 €"])
def test_other_words_do_not_say_that_there_is_no_price(printed: str) -> None:
    assert not says_no_price(printed)


@each_row(
    ("printed", "number"),
    [("1 059 070,54", 1059070.54), ("320,000", 320000), ("293 178.92", 293178.92), ("12,5", 12.5)],
)
def test_a_printed_number(printed: str, number: float) -> None:
    assert parse_number(printed) == number


@given(st.integers(1, 99_999_999))
def test_every_whole_price_reads_back_from_every_layout(eur: int) -> None:
    spaced = f"{eur:,}".replace(",", " ")
    leva = round(eur * BGN_PER_EUR, 2)
    both = f"{spaced} €\n{leva:,.2f} лв.".replace(",", " ")
    assert parse_money(f"{spaced} €") == Money(eur, None, agrees=True)
    assert parse_money(both) == Money(eur, leva, agrees=True)


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    money = parse_money(text)
    assert money is None or money.eur > 0
