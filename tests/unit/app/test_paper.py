"""A sheet holds what fits, whatever the flat's texts are."""

from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from sale_sofia.app.pages.shared import (
    PublicFlat,
    _font,
    _lines,
    as_pdf,
    draw_sheet,
    offer_line,
    public_values,
)
from unit.advice.scored import empty_flat

FONT = _font(10, bold=False)
WIDE = FONT.getlength("едно две")
LONG = "дълга" * 2_000


@pytest.mark.parametrize(
    ("text", "most", "lines"),
    [
        ("едно две", 1, ["едно две"]),
        ("едно две три", 5, ["едно две", "три"]),
        ("едно две три", 1, ["едно д…"]),
        ("едно две три четири", 2, ["едно две", "три…"]),
        ("", 3, []),
        ("x" * 29, 1, ["x" * 8 + "…"]),
    ],
)
def test_lines_are_as_long_as_there_is_room(text: str, most: int, lines: list[str]) -> None:
    found = list(_lines(text, FONT, WIDE, most))
    assert all(FONT.getlength(line) <= WIDE for line in found), found
    assert [line[:3] for line in found] == [line[:3] for line in lines]
    assert [line.endswith("…") for line in found] == [line.endswith("…") for line in lines]


@pytest.mark.parametrize("text", ["", "Къс текст.", LONG, "дума " * 5_000, "\N{HOUSE BUILDING}" * 50])
def test_whatever_is_written_there_is_one_sheet(text: str) -> None:
    fact = SimpleNamespace(name=text, value=text)
    offer = {"price": "€ 1", "vat": "", "gone": False, "site": text, "seller": text, "phones": ["+359"]}
    values: dict[str, Any] = {
        "title": text, "price": "€ 1", "vat": "", "line": [text], "metro": text, "days": text,
        "flat": SimpleNamespace(offered=False), "facts": [fact] * 34, "offers": [offer] * 20,
        "texts": [[text]], "day": "1.1.2026",
    }  # fmt: skip
    sheet = draw_sheet(values)
    edge = sheet.crop((0, sheet.height - 60, sheet.width, sheet.height))
    assert edge.getextrema() == (255, 255), "nothing is written into the margin"
    assert sheet.crop((sheet.width - 60, 0, sheet.width, sheet.height)).getextrema() == (255, 255)
    assert len(as_pdf(sheet, text[:100])) < 2_000_000
    assert isinstance(sheet, Image.Image)


def test_an_offer_says_its_vat_and_that_it_is_gone() -> None:
    unknown = dict.fromkeys(("url", "seller_kind", "seller_name", "description"))
    row: dict[str, Any] = {"site": "imot.bg", "phones": [], **unknown}
    offers: list[dict[str, Any]] = [
        {"listing_id": 1, "price_eur": 100_000.0, "vat_state": "excluded", "offered": True},
        {"listing_id": 2, "price_eur": 90_000.0, "vat_state": None, "offered": False},
    ]
    values = public_values(PublicFlat(empty_flat(), {1: row, 2: row}, offers), 0.0)
    lines = [offer_line(offer).replace("\N{NO-BREAK SPACE}", " ") for offer in values["offers"]]
    assert lines == ["€ 100 000 без ДДС · imot.bg", "€ 90 000 · imot.bg · Свалена"]
