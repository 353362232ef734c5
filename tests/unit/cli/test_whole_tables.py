"""No number and no name of a table is cut off, however narrow the screen."""

import pytest

from sale_sofia.cli.console import PlainConsole, plain_table

LONG = (
    "as many words as the last column likes to have, and then some more of them, until the line is full " * 2
)


def lines(capsys: pytest.CaptureFixture[str], last: str) -> list[str]:
    table = plain_table("Flats", ("advert", "neighbourhood"), ("€", "€/m²"), "change")
    table.add_row("imot.bg/1j176881466676683", "7-ми 11-ти километър", "1 746 067", "3 222", last)
    PlainConsole().print(table)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", ["40", "80", "300"])
def test_what_may_not_be_broken_is_whole(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    (row,) = [line for line in lines(capsys, "1 711 830 → 1 746 067 €") if "imot" in line]
    cells = [cell for cell in row.strip().split("  ") if cell.strip()]
    assert cells == [
        "imot.bg/1j176881466676683", "7-ми 11-ти километър", "1 746 067", "3 222", "1 711 830 → 1 746 067 €",
    ]  # fmt: skip


def test_what_may_be_broken_is_broken_into_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    told = lines(capsys, LONG)
    assert max(map(len, told)) <= 160
    assert " ".join(" ".join(told).split()).count("until the") == 2
