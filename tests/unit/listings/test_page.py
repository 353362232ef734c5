from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.listings.page import (
    EmptyPage,
    HostilePage,
    Page,
    PageError,
    PageLimits,
    PageTooLarge,
    Spans,
    TruncatedPage,
    UndecodablePage,
    decode,
)
from tables import each_row

LIMITS = PageLimits(max_bytes=10_000, max_tags=500, max_options=50)
CP1251_META = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">'


def read(body: bytes, content_type: str | None = None) -> str:
    return Page("https://www.imot.bg/", body, content_type).text(LIMITS)


def test_valid_utf8_is_utf8_whatever_is_declared() -> None:
    body = f"<html>{CP1251_META}Белите брези</html>".encode()
    assert read(body) == f"<html>{CP1251_META}Белите брези</html>"


def test_windows_1251_by_meta() -> None:
    text = f"<html>{CP1251_META}Белите брези, 149 900 €</html>"
    assert read(text.encode("cp1251")) == text


def test_windows_1251_by_header() -> None:
    text = "<html>Белите брези</html>"
    assert read(text.encode("cp1251"), "text/html; charset=windows-1251") == text


def test_a_charset_is_declared_in_letters_of_any_size() -> None:
    text = f"<html>{CP1251_META.upper()}Продава</html>"
    assert read(text.encode("cp1251")) == text


def test_of_two_declared_charsets_the_one_that_fits() -> None:
    text = f'<html><meta charset="utf-8">{CP1251_META}Продава</html>'
    assert read(text.encode("cp1251")) == text


def test_one_strange_letter_is_no_mixed_encoding() -> None:
    assert decode("Продава ѕhop и Ðorđe".encode()) == "Продава ѕhop и Ðorđe"


def test_a_byte_order_mark_is_no_text() -> None:
    assert decode("\ufeffБелите".encode()) == "Белите"


@each_row(
    ("body", "error"),
    [
        (b"", EmptyPage),
        (b" \n\t", EmptyPage),
        (b"x" * 10_001, PageTooLarge),
        (b"\x00\x01\x02", UndecodablePage),
        (bytes(range(128, 256)) * 4, UndecodablePage),
        ("<html>цена\0</html>".encode(), UndecodablePage),
        ("<html>кв. Бел\ufffd\ufffd брези</html>".encode(), UndecodablePage),
        (b"<html>no letter of ours</html>", UndecodablePage),
        ("<html>Ïðîäàâà àïàðòàìåíò</html>".encode(), UndecodablePage),
        (b"<html>" + "Продава".encode("cp1251") + b"</html>", UndecodablePage),
        (
            f"<html>{CP1251_META}".encode() + "Двор".encode("cp1251") + "Продава".encode() + b"</html>",
            UndecodablePage,
        ),
        (
            "<html><meta charset='utf-8'>Продава".encode() + "двор".encode("cp1251") + b"</html>",
            UndecodablePage,
        ),
        (f"<html>{CP1251_META}Двор".encode("cp1251") + "цена".encode() + b"</html>", UndecodablePage),
        ("<html>Продава " + "Портал".encode().decode("cp1251") + "</html>", UndecodablePage),
        ("<html>Продава " + "Белите".encode().decode("cp1252") + "</html>", UndecodablePage),
        (b"<html><meta charset='undefined'>" + "двор".encode("cp1251") + b"</html>", UndecodablePage),
        (b"<html><meta charset='klingon'>" + "двор".encode("cp1251") + b"</html>", UndecodablePage),
        ("<html>Продава 2-СТАЕН".encode(), TruncatedPage),
        ("<html>Продава 2-СТАЕН".encode()[:-1], TruncatedPage),
        (("<html>а" + "<b>" * 500 + "</html>").encode(), HostilePage),
        (("<html>а" + "<option>" * 51 + "</html>").encode(), HostilePage),
    ],
)
def test_a_page_that_cannot_be_trusted_says_why(body: bytes | str, error: type[PageError]) -> None:
    with pytest.raises(error):
        read(body.encode() if isinstance(body, str) else body)


@pytest.mark.parametrize(
    ("skipped", "left"),
    [
        ((), "<i>а</i>1<b>б</b>2<i>в</i>3"),
        (((b"<i>", b"</i>"),), "</i>1<b>б</b>2<i>в</i>3"),
        (((b"<i>", b"</i>"), (b"<i>", b"</i>")), "</i>1<b>б</b>2</i>3"),
        (((b"<b>", b"2"), (b"<i>", b"</i>")), "<i>а</i>12</i>3"),
        (((b"<u>", b"</i>"), (b"<b>", b"<u>"), (b"1", b"3")), "<i>а</i>3"),
    ],
    ids=["nothing", "the first", "one behind the other", "what stands before is kept", "no mark, no cut"],
)
def test_what_is_skipped(skipped: Spans, left: str) -> None:
    """Each pair is looked for behind the one before it."""
    page = Page("https://x.bg", "<i>а</i>1<b>б</b>2<i>в</i>3</html>".encode())
    assert page.text(LIMITS, skipped) == f"{left}</html>"


def test_an_error_has_a_name_for_the_json() -> None:
    assert UndecodablePage("…").code == "undecodable_page"
    assert PageTooLarge("…").code == "page_too_large"


@given(st.binary(max_size=400))
def test_any_bytes_are_text_or_a_named_error(body: bytes) -> None:
    with suppress(PageError):
        assert "\ufffd" not in read(body)
