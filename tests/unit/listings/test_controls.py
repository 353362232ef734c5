"""Signs that terminals obey: gone, the words whole, and told; a text without them is the very same."""

import pytest

from sale_sofia.listings.model import RawField
from sale_sofia.listings.normalise import read_facts
from sale_sofia.listings.text import without_controls
from sale_sofia.settings.terminal import OBEYED
from tables import each_row


@each_row(
    ("written", "left"),
    [
        ("a\x1b[31mb", "a[31mb"),
        ("a\x00b\x7fc\x9bd", "abcd"),
        ("a\x0bb\x1cc\x85d", "a b c d"),
        ("\u202eobratno\u2066\u200f", "obratno"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("half \ud800 of a sign", "half  of a sign"),
    ],
)
def test_they_are_gone_and_words_stay_apart(written: str, left: str) -> None:
    assert without_controls(written) == left


@pytest.mark.parametrize("text", ["", "Лозенец,\tтух\u00adла\n2015 г. — 90 m² 🏠 \u200b\u00a0", "e\u0301"])
def test_any_other_text_is_left_as_it_is(text: str) -> None:
    assert without_controls(text) is text


def test_each_of_them_alone_is_found() -> None:
    left = {sign: without_controls(f"a{chr(sign)}b") for sign in OBEYED}
    assert set(left.values()) == {"ab", "a b", "a\nb"}


def test_an_advert_says_in_which_field_they_were() -> None:
    fields = {
        "title": RawField(("Хубав\x1b[5m дом",), 0, "text", {}),
        "street": RawField(("ул. Шипка\r\n 3",), 0, "text", {}),
        "place": RawField(("гр. София, кв. Лоз\x08енец",), 0, "place", {}, (("София, Лозенец\x07",),)),
    }
    facts = read_facts(fields)
    assert (facts["title"], facts["street"], facts["neighbourhood"]) == (
        "Хубав[5m дом", "ул. Шипка 3", "Лозенец"
    )  # fmt: skip
    assert facts["flags"] == ("title_controls", "place_controls")
