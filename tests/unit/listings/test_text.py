"""Texts that mix alphabets name the Latin letter by its escape, so that a reader can see it."""

import string

from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.listings.text import LOOKALIKES, fold_lookalikes, match_key, squeeze
from tables import each_row

BULGARIAN = "абвгдежзийклмнопрстуфхцчшщъьюя"
latin_only = st.text(string.ascii_letters + string.digits + " .,-€²")
cyrillic_only = st.text(BULGARIAN + BULGARIAN.upper() + " .,-€²0123456789", min_size=1)
mixed = st.text(BULGARIAN + BULGARIAN.upper() + string.ascii_letters + " .,-–„“\"'\u00a0\n")


@each_row(
    ("text", "expected"),
    [
        ("", ""),
        ("  \n ", ""),
        ("град София", "град София"),
        (" 120\u00a0000\u202f€\r\n без\tДДС ", "120 000 € без ДДС"),
        ("а\u2003\u3000б", "а б"),
    ],
)
def test_squeeze(text: str, expected: str) -> None:
    assert squeeze(text) == expected


@each_row(
    ("text", "expected"),
    [
        ("Т\u0045Ц", "ТЕЦ"),
        ("\u0045таж", "Етаж"),
        ("\u004dногостаен", "Многостаен"),
        ("Преди \u0041кт 14", "Преди Акт 14"),
        ("\u0042ход, \u0054ухла, \u0048адежда", "Вход, Тухла, Надежда"),
        ("\u0063тая", "стая"),
        ("ж\u006b", "жк"),
        ("Гара\u0058\u0059", "ГараХУ"),
    ],
)
def test_a_mixed_word_becomes_cyrillic(text: str, expected: str) -> None:
    assert text != expected
    assert fold_lookalikes(text) == expected


@each_row(
    "text",
    [
        "EUR",
        "m2",
        "BMW",
        "HOME",
        "120 000 EUR без ДДС",
        "65 m2, тухла",
        "ТЕЦ",
        "OKEY апартамент",
        "A и B",
        "PR-отдел",
        "USBта",
        "EURото",
        "Wi-Fi в цялата сграда",
        "",
    ],
)
def test_other_words_stay_as_they_are(text: str) -> None:
    assert fold_lookalikes(text) == text


def test_one_foreign_letter_keeps_the_whole_word() -> None:
    assert fold_lookalikes("\u0041ктw \u0041кт") == "\u0041ктw Акт"


def test_a_latin_word_beside_a_mixed_one_stays() -> None:
    assert fold_lookalikes("HOME TOP: Т\u0045Ц") == "HOME TOP: ТЕЦ"


def test_each_lookalike_has_its_own_twin() -> None:
    assert {chr(latin) for latin in LOOKALIKES} == set("ABCEHKMOPTXYacekopxy")
    assert all("а" <= chr(twin).lower() <= "я" for twin in LOOKALIKES.values())
    assert all(chr(latin).isupper() == chr(twin).isupper() for latin, twin in LOOKALIKES.items())
    assert len(set(LOOKALIKES.values())) == len(LOOKALIKES)


@each_row(
    ("text", "expected"),
    [
        ("  Т\u0045Ц:\u00a0ДА ", "тец: да"),
        ("„Младост“", '"младост"'),
        ("'Младост'", '"младост"'),
        ("«Младост»", '"младост"'),
        ("Люлин – център", "люлин - център"),
        ("Люлин—център", "люлин-център"),
        ("1970 − 1979 г.", "1970 - 1979 г."),
        ("соф\u00adия\u200b\ufeff", "софия"),
        ("и\u0306", "й"),
        ("3-СТАЕН", "3-стаен"),
        ("EUR", "eur"),
        ("м²", "м²"),
    ],
)
def test_match_key(text: str, expected: str) -> None:
    assert match_key(text) == expected


@given(st.text())
def test_squeeze_leaves_single_inner_spaces(text: str) -> None:
    squeezed = squeeze(text)
    assert squeezed == squeezed.strip()
    assert "  " not in squeezed
    assert squeezed.split(" ") == (text.split() or [""])


@given(st.one_of(latin_only, cyrillic_only))
def test_one_alphabet_is_never_folded(text: str) -> None:
    assert fold_lookalikes(text) == text


@given(st.text())
def test_folding_keeps_the_length_and_every_unmixed_character(text: str) -> None:
    folded = fold_lookalikes(text)
    assert len(folded) == len(text)
    assert all(
        new == old or LOOKALIKES.get(ord(old)) == ord(new) for old, new in zip(text, folded, strict=True)
    )
    assert fold_lookalikes(folded) == folded


@given(mixed)
def test_a_key_is_its_own_key(text: str) -> None:
    key = match_key(text)
    assert match_key(key) == key
    assert key == key.casefold() == squeeze(key)


@given(st.text(max_size=200))
def test_a_key_never_raises(text: str) -> None:
    assert isinstance(match_key(text), str)
