from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.listings.dates import before_expiry, family_created, parse_iso, parse_moment
from tables import each_row


@each_row(
    ("printed", "iso"),
    [
        ("Публикувана в 17:03 на 16 април, 2026 год.", "2026-04-16T17:03:00+03:00"),
        ("Коригирана в 9:05 на 1 януари, 2026 год", "2026-01-01T09:05:00+02:00"),
        ("14:13 часа от 22.01.2026", "2026-01-22T14:13:00+02:00"),
        ("10:47 ч., 21.04.2026", None),
        ("21.04.2026 в 10:47 ч.", "2026-04-21T10:47:00+03:00"),
        ("на 20 август 2026 г. в 08:00", "2026-08-20T08:00:00+03:00"),
        ("днес в 14:42 ч.", None),
        ("на 05 април в 10:54", None),
        ("Публикувана в 17:03 на 31 април, 2026 год.", None),
        ("Публикувана в 25:03 на 16 април, 2026 год.", None),
        ("в 17:03 на 16 априлски, 2026 год.", None),
    ],
)
def test_a_moment(printed: str, iso: str | None) -> None:
    assert parse_moment(printed) == (iso and datetime.fromisoformat(iso))


def test_an_expiry_is_counted_back_on_the_wall_clock() -> None:
    found = before_expiry("2026-05-09T14:45:10+0300", 31)
    assert found is not None
    assert found.isoformat() == "2026-04-08T14:45:10+03:00"


def test_an_expiry_across_the_change_of_clocks_keeps_the_hour() -> None:
    found = before_expiry("2026-04-10T12:00:00+0300", 31)
    assert found is not None
    assert found.isoformat() == "2026-03-10T12:00:00+02:00"


@each_row("printed", ["", "soon", "2026-05-09", "2026-13-09T14:45:10+0300"])
def test_an_expiry_that_is_no_moment_is_none(printed: str) -> None:
    assert before_expiry(printed, 31) is None


@each_row(
    ("written", "iso"),
    [
        ("2026-01-30 17:16:33", "2026-01-30T17:16:33+02:00"),
        ("2026-07-30T17:16", "2026-07-30T17:16:00+03:00"),
        (" 2026-07-30T17:16:00Z ", "2026-07-30T20:16:00+03:00"),
        ("2026-07-30T17:16:00+01:00", "2026-07-30T19:16:00+03:00"),
    ],
)
def test_a_moment_without_its_offset_is_of_sofias_clock(written: str, iso: str) -> None:
    moment = parse_iso(written)
    assert moment is not None
    assert moment.isoformat() == iso


@each_row(
    "written", ["2026-01-30", "20260130", "2026-W05-5", "", "днес", "2026-01-32 10:00", "30.01.2026 17:16"]
)
def test_a_day_and_what_is_none_are_no_moment(written: str) -> None:
    assert parse_iso(written) is None


def test_a_family_id_holds_the_second_of_publication() -> None:
    created = family_created("1b177634821891002")
    assert created is not None
    assert created.isoformat() == "2026-04-16T17:03:38+03:00"
    assert family_created("50081876") is None
    assert family_created("1b000000000191002") is None, "the year 1970"


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    moment = parse_moment(text)
    assert moment is None or moment.tzinfo is not None
