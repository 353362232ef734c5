"""Pages rendered here, read back, beside their truth."""

from dataclasses import dataclass
from typing import Any

from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import Answer, read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.render import RenderedPage, render_world
from sale_sofia_simulator.world import make_world


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
