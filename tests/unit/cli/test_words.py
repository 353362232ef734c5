"""What commands say where a number alone would mislead."""

from pathlib import Path
from typing import Any

import pytest

from commands_here import commands
from sale_sofia.cli.properties import _value
from sale_sofia.cli.search import _unknown
from sale_sofia.history.sweeps import Sweep
from unit.advice.scored import empty_flat, trap


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
    ("facts", "said"),
    [
        ({"price_eur": 99_000.0}, ("VAT of the price", "eur_sqm")),
        ({"price_eur": 99_000.0, "area_sqm": 50.0}, ("VAT of the price", "VAT of the price")),
        ({"price_eur": 99_000.0, "traps": {"price_from": trap("цени от")}}, ("price", "eur_sqm")),
        ({"price_eur": 99_000.0, "vat": "excluded"}, ("price", "eur_sqm")),
        ({"price_eur": None, "area_sqm": 50.0}, ("price", "eur_sqm")),
    ],
)
def test_a_price_that_is_shown_lacks_its_vat(facts: dict[str, Any], said: tuple[str, str]) -> None:
    flat = empty_flat(under_construction=True, **facts)
    assert (_unknown("price", flat), _unknown("eur_sqm", flat)) == said
    assert _unknown("floor", flat) == "floor"


@pytest.mark.parametrize(
    ("value", "said"),
    [(1_234_567.0, "1234567"), (42.69803, "42.69803"), (64.5, "64.5"), (["S", 0.1], "S, 0.1")],
)
def test_a_fact_of_a_property_is_told_in_full(value: object, said: str) -> None:
    assert _value(value) == said
