"""What commands say where a number alone would mislead."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from commands_here import commands
from sale_sofia.cli.properties import _value
from sale_sofia.cli.search import _unknown
from sale_sofia.flats.flat import Flat
from sale_sofia.history.sweeps import Sweep


def test_an_error_log_without_errors_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = commands(tmp_path, monkeypatch, capsys)("errors")
    assert told == (0, "", "no failed requests in the error log")


@pytest.mark.parametrize(
    ("announced", "reachable", "said"),
    [(None, 0, "of an unknown number seen"), (40, 30, "of 40 seen (30 can be)"), (40, 40, "of 40 seen")],
)
def test_how_much_can_be_seen_is_said_only_beside_what_there_is(
    announced: int | None, reachable: int, said: str
) -> None:
    sweep = Sweep(
        "j", "imot.bg", (), 1.0, 2.0, None, None, announced, reachable, 10, 9, 8, None, None, everything=False
    )
    assert sweep.figures == f"10 {said}, 9 opened, 8 with price and area"


@pytest.mark.parametrize(
    ("price", "vat", "said"),
    [(99_000.0, None, "VAT of the price"), (99_000.0, "excluded", "price"), (None, None, "price")],
)
def test_a_price_that_is_shown_lacks_its_vat(price: float | None, vat: str | None, said: str) -> None:
    flat = cast("Flat", SimpleNamespace(price_eur=price, vat=vat))
    assert (_unknown("price", flat), _unknown("floor", flat)) == (said, "floor")


@pytest.mark.parametrize(
    ("value", "said"),
    [(1_234_567.0, "1234567"), (42.69803, "42.69803"), (64.5, "64.5"), (["S", 0.1], "S, 0.1")],
)
def test_a_fact_of_a_property_is_told_in_full(value: object, said: str) -> None:
    assert _value(value) == said
