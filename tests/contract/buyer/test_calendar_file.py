"""A calendar file, read back by the rules of RFC 5545."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sale_sofia.buyer import agenda
from sale_sofia.buyer.agenda import Event, calendar_bytes, write_calendar

VIEWING = Event(
    uid="0a1b",
    revision=2,
    starts_at=1_795_181_400.0,
    ends_at=1_795_183_200.0,
    changed_at=1_795_000_000.0,
    cancelled=False,
    summary="Оглед: 3-стаен, 87 m², Лозенец",
    place="ул. Голо бърдо 4; вход Б, ет. 3",
    description="Агент: Иванова\nпитай\\виж",
    url="https://www.imot.bg/obiava-1b17",
)
TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n\t"), max_size=200)
_LINE = re.compile(r"(?P<name>[A-Z-]+):(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\([\\;,nN])")


def content_lines(data: bytes) -> list[tuple[str, str]]:
    """Name and value of each line: ends are CRLF, folds are undone (3.1), texts are UTF-8."""
    assert data.endswith(b"\r\n")
    physical = data[:-2].split(b"\r\n")
    for one in physical:
        assert len(one) <= 75, one
        assert b"\r" not in one, one
        assert b"\n" not in one, one
        one.decode("utf-8")  # no letter is cut in two
    unfolded = data[:-2].replace(b"\r\n ", b"").decode("utf-8").split("\r\n")
    found = [_LINE.fullmatch(line) for line in unfolded]
    return [(one["name"], one["value"]) for one in found if one is not None]


def text_of(value: str) -> str:
    """A value of the type TEXT (3.3.11)."""
    assert not re.search(r"(?<!\\)(?:\\\\)*[;,]", value)
    return _ESCAPE.sub(lambda found: "\n" if found[1] in "nN" else found[1], value)


def test_a_viewing_reads_back_as_it_was_written() -> None:
    lines = content_lines(calendar_bytes([VIEWING]))
    assert lines[:4] == [
        ("BEGIN", "VCALENDAR"),
        ("VERSION", "2.0"),
        ("PRODID", "-//sale-sofia//viewings//EN"),
        ("METHOD", "PUBLISH"),
    ]
    assert lines[4:6] == [("BEGIN", "VEVENT"), ("UID", "0a1b@sale-sofia")]
    assert lines[-2:] == [("END", "VEVENT"), ("END", "VCALENDAR")]
    told = dict(lines[5:-2])
    assert told["DTSTAMP"] == "20261118T110640Z"
    assert (told["DTSTART"], told["DTEND"]) == ("20261120T133000Z", "20261120T140000Z")
    assert (told["SEQUENCE"], told["STATUS"], told["URL"]) == ("2", "CONFIRMED", VIEWING.url)
    assert text_of(told["SUMMARY"]) == VIEWING.summary
    assert told["LOCATION"] == r"ул. Голо бърдо 4\; вход Б\, ет. 3"
    assert told["DESCRIPTION"] == r"Агент: Иванова\nпитай\\виж"


@pytest.mark.slow
@given(TEXTS, TEXTS)
@example("я" * 200, "x" * 74 + "🏠" * 30)
@example("a\\", ";,\\;\\,\n\\n")
def test_any_text_reads_back(summary: str, place: str) -> None:
    lines = content_lines(calendar_bytes([replace(VIEWING, summary=summary, place=place)]))
    told = dict(lines)
    assert text_of(told.get("SUMMARY", "")) == summary
    assert text_of(told.get("LOCATION", "")) == place
    assert [name for name, _ in lines].count("BEGIN") == 2


def test_the_same_viewings_give_the_same_bytes_and_keep_their_uid() -> None:
    assert calendar_bytes([VIEWING]) == calendar_bytes([VIEWING])
    moved = dict(content_lines(calendar_bytes([replace(VIEWING, revision=3, cancelled=True)])))
    assert (moved["UID"], moved["SEQUENCE"], moved["STATUS"]) == ("0a1b@sale-sofia", "3", "CANCELLED")


def test_no_viewing_is_a_calendar_too() -> None:
    assert content_lines(calendar_bytes([]))[-1] == ("END", "VCALENDAR")


def test_an_address_cannot_bring_lines_of_its_own() -> None:
    names = [name for name, _ in content_lines(calendar_bytes([replace(VIEWING, url="x\r\nATTACH:y")]))]
    assert "URL" not in names
    assert "ATTACH" not in names


def test_the_file_is_there_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "viewings.ics"
    write_calendar(path, [VIEWING])
    before = path.read_bytes()
    assert before == calendar_bytes([VIEWING])

    def torn(_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(agenda, "calendar_bytes", torn)
    with pytest.raises(OSError, match="No space left"):
        write_calendar(path, [])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
