"""`sale-sofia demo`: pages rendered here, read back, shown beside their truth."""

from dataclasses import dataclass
from typing import Any, Literal

from rich import box
from rich.table import Table

from sale_sofia.listings.page import Page
from sale_sofia.simulator.render import RenderedPage, render_world
from sale_sofia.simulator.world import make_world
from sale_sofia.websites.reading import Answer, read_page
from sale_sofia.websites.registry import get_scraper

_NUMBERS = frozenset({"m²", "floor", "€", "€/m²"})
_WIDEST_COLUMN = 20  # the whole table fits a terminal of 80 columns


@dataclass(frozen=True, slots=True)
class ReadPage:
    """One rendered page, what we read from it and what is true."""

    page: RenderedPage
    answer: Answer

    @property
    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Field → (truth, read) wherever they are not equal."""
        truth, answer = self.page.truth, _as_told(self.answer, self.page.truth)
        return {key: (truth[key], answer.get(key)) for key in truth if truth[key] != answer.get(key)}


def _as_told(answer: Answer, truth: dict[str, Any]) -> Answer:
    """The answer, its cards cut to what the truth tells of each: a card may say more."""
    if "cards" not in truth or "cards" not in answer:
        return answer
    told = truth["cards"][0].keys() if truth["cards"] else ()
    return {**answer, "cards": [{key: card.get(key) for key in told} for card in answer["cards"]]}


def read_world(properties: int, seed: int) -> list[ReadPage]:
    """Every page of a simulated world, read by the adapter of its portal."""
    return [
        ReadPage(page, read_page(get_scraper(page.site), Page(page.url, page.body)))
        for page in render_world(make_world(properties, seed))
    ]


def differences(read: list[ReadPage]) -> list[ReadPage]:
    """The pages that were not read exactly."""
    return [one for one in read if one.differences]


def adverts_table(read: list[ReadPage]) -> Table:
    """The adverts as a buyer wants to see them; what a page does not say is a question mark."""
    table = Table(title="Adverts read", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for heading in ("portal", "type", "neighbourhood", "m²", "floor", "€", "€/m²", "VAT"):
        justify: Literal["left", "right"] = "right" if heading in _NUMBERS else "left"
        table.add_column(heading, no_wrap=True, justify=justify, max_width=_WIDEST_COLUMN)
    for answer in (one.answer for one in read if one.answer["kind"] == "listing"):
        table.add_row(*_cells(answer))
    return table


def _cells(answer: Answer) -> tuple[str, ...]:
    price, area = answer["price_eur"], answer["area_sqm"]
    return (
        answer["site"],
        f"{answer['rooms']}-room" if answer["rooms"] else answer["property_type"] or "?",
        answer["neighbourhood"] or answer["city"] or "?",
        _number(area),
        f"{_number(answer['floor'])}/{_number(answer['floors_total'])}",
        _number(price) + (" /mo" if price and answer["deal"] == "rent" else ""),
        _number(price / area if price and area else None),
        answer["vat"] or "?",
    )


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}".replace(",", " ")


def verdict(read: list[ReadPage]) -> str:
    """One line: how many pages were read, and whether every field is what it should be."""
    wrong = differences(read)
    kinds = [one.answer["kind"] for one in read]
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    if wrong:
        names = ", ".join(f"{one.page.path} ({', '.join(one.differences)})" for one in wrong)
        return f"{len(read)} pages ({counted}); NOT equal to their truth: {names}"
    return f"{len(read)} pages ({counted}); every field equal to its truth"
