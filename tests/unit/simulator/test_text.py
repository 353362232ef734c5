from datetime import datetime

from sale_sofia_simulator import text
from sale_sofia_simulator.homes import glued, plain
from sale_sofia_simulator.model import NOW, SOFIA
from sale_sofia_simulator.text import grouped, handle
from tables import each_row


def test_numbers_are_spelled_as_the_portals_do() -> None:
    assert text.spaced(1349900) == "1 349 900"
    assert text.decimals(782332, ".") == "782 332.00"
    assert text.brief(782332.0) == "782 332"
    assert text.brief(855675.63) == "855 675,63"
    assert text.leva(149900) == 293178.92
    assert text.leva(350000) == 684540.5


@each_row(
    ("number", "words"),
    [
        (1, "1-ви"),
        (2, "2-ри"),
        (3, "3-ти"),
        (5, "5-ти"),
        (7, "7-ми"),
        (8, "8-ми"),
        (11, "11-ти"),
        (12, "12-ти"),
    ],
)
def test_floors_have_their_endings(number: int, words: str) -> None:
    assert text.ordinal(number) == words


@each_row(
    ("words", "imot", "bazar"),
    [
        ("Белите брези", "belite-brezi", "belite-brezi"),
        ("Кръстова вада", "krastova-vada", "krastowa-wada"),
        ("в.з.Малинова долина", "v-z-malinova-dolina", "w-z-malinowa-dolina"),
        ("Медицинска академия", "meditsinska-akademiya", "meditsinska-akademiia"),
        ("Люлин 4", "lyulin-4", "lyulin-4"),
    ],
)
def test_addresses_use_each_portals_letters(words: str, imot: str, bazar: str) -> None:
    assert text.slug(words) == imot
    assert text.slug(words, bazar=True) == bazar


def test_moments_are_worded_as_the_portals_do() -> None:
    early = datetime(2026, 4, 5, 7, 47, tzinfo=SOFIA)
    assert text.imot_moment(early) == "7:47 на 5 април, 2026 год."
    assert text.bazar_moment(early, NOW) == "на 05 април в 07:47 ч."
    assert text.bazar_moment(datetime(2026, 4, 21, 15, 31, tzinfo=SOFIA), NOW) == "днес в 15:31 ч."
    assert text.bazar_moment(datetime(2026, 4, 20, 15, 31, tzinfo=SOFIA), NOW) == "вчера в 15:31 ч."


def test_the_text_of_a_description_keeps_lines_and_bazar_glues_them() -> None:
    html = "Едно &amp; две.<br><br>  Три m&sup2;.<br />Четири&nbsp;"
    assert plain(html) == "Едно & две.\nТри m².\nЧетири"
    assert glued(html) == "Едно & две. Три m².Четири"


def test_names_have_their_short_forms() -> None:
    assert handle("ДОБЪР ПРАГ ДОМ") == "dobarpragdom"
    assert grouped("0888000123") == "0888 000 123"
