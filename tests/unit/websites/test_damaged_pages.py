"""A damaged page never gives a wrong value: the right one, none, or a named error."""

import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import Answer, read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.render import TWIN_PORTALS, render_twin, render_world
from sale_sofia_simulator.simulation import FAMILY
from sale_sofia_simulator.truth import REAL
from sale_sofia_simulator.world import make_world
from seeds import SEED
from shared import needs_real_pages, real_pages
from tables import each_row

DAMAGES = 25
GUARDED = (
    "external_id", "deal", "property_type", "rooms", "price_eur", "price_bgn", "previous_price_eur",
    "area_sqm", "yard_sqm", "floor", "floors_total", "city", "neighbourhood", "street", "lat", "lon",
)  # fmt: skip
TAG = re.compile(rb"<[a-zA-Z/][^<>]*>")
# around these stands what is guarded: most tags of a page are far from any of it
HEART = re.compile(
    rb"adPrice|adParam|advHeader|obTitle|classifiedTitle|see_on_map|productInfo|canonical|current-price|=.ida"
    rb"|listItemLink|adrows_|ads-params|real-estate|js-ad-container|box-link|div class=.item|notepad_"
    rb"|ng-state|_STATE__|viewHref|info-sidebar|big-price|simple-table|estate-map|re-offer-info"
    rb"|title_of_the_property|scroll|price--lg|panel_wrap|card-url|shadow offer|<br"
)
SITES = sorted(REAL)

Whole = tuple[str, Page, dict[str, Any]]


@cache
def rendered(site: str) -> list[Whole]:
    world = make_world(40, SEED)
    pages = render_twin(world, site) if site in TWIN_PORTALS else render_world(world)
    return [
        (site, Page(page.url, page.body), page.truth)
        for page in pages
        if is_readable(page.site, site, page.truth)
    ]


@cache
def real(site: str) -> list[Whole]:
    pages = [
        (site, Page(truth["url"], path.read_bytes()))
        for path, truth in real_pages(site)
        if is_readable(truth["site"], site, truth)
    ]
    return [(site, page, read_page(get_scraper(site), page)) for site, page in pages]


def is_readable(site: str, wanted: str, truth: dict[str, Any]) -> bool:
    return site == wanted and truth["kind"] in ("listing", "search")


def cut(body: bytes, rng: random.Random) -> bytes:
    return body[: rng.randrange(len(body) - len(b"</html>\n\n<!-- FOOTER: END    -->\n"))]


def without_a_tag(body: bytes, rng: random.Random) -> bytes:
    start, end = rng.choice([tag.span() for tag in TAG.finditer(body)] or [(0, 0)])
    return body[:start] + body[end:]


def without_a_tag_that_matters(body: bytes, rng: random.Random) -> bytes:
    middle = rng.choice([heart.start() for heart in HEART.finditer(body)] or [0])
    near = [tag.span() for tag in TAG.finditer(body, max(0, middle - 300), middle + 900)]
    start, end = rng.choice(near or [(0, 0)])
    return body[:start] + body[end:]


def wrong_values(answer: Answer, truth: dict[str, Any]) -> Iterator[str]:
    if answer["kind"] == "listing":
        # What a whole page contradicts, one that lost half of it states.
        guarded = [key for key in GUARDED if f"{key}_conflict" not in truth.get("flags", ())]
        yield from (key for key in guarded if answer[key] is not None and answer[key] != truth[key])
    elif answer["kind"] == "search":
        cards = {card["external_id"]: card for card in truth["cards"]}
        for card in answer["cards"]:
            true = cards.get(card["external_id"], {"external_id": "no such card"})
            shared = card.keys() & true.keys() - {"flags"}
            yield from (key for key in shared if card[key] != true[key])
    elif answer["kind"] != "error":
        yield f"kind {answer['kind']}"


DAMAGED_BY = [cut, without_a_tag, without_a_tag_that_matters]


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGED_BY)
@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("pages", [rendered, pytest.param(real, marks=needs_real_pages)])
def test_a_damaged_page_never_lies(pages: Any, site: str, damage: Any) -> None:  # noqa: ANN401
    rng = random.Random(SEED)
    lies = []
    for _ in range(DAMAGES if site in FAMILY else DAMAGES // 4):
        name, page, truth = rng.choice(pages(site))
        answer = read_page(get_scraper(name), Page(page.url, damage(page.body, rng)))
        lies += [(page.url, key) for key in wrong_values(answer, truth)]
    assert lies == [], f"seed {SEED}"


@each_row("site", SITES)
def test_a_cut_page_gives_nothing_at_all(site: str) -> None:
    rng = random.Random(SEED)
    pages = [rng.choice(rendered(site)) for _ in range(DAMAGES)]
    answers = [read_page(get_scraper(site), Page(page.url, cut(page.body, rng))) for _, page, _ in pages]
    codes = {answer["error"]["type"] for answer in answers if answer["kind"] == "error"}
    assert len([answer for answer in answers if answer["kind"] == "error"]) == DAMAGES, f"seed {SEED}"
    assert codes <= {"truncated_page", "empty_page", "undecodable_page"}, f"seed {SEED}"


def test_most_damages_still_leave_a_listing() -> None:
    """Refusing every damaged page would be no art."""
    rng = random.Random(SEED)
    pages = [row for row in rendered("imot.bg") if row[2]["kind"] == "listing"]
    answers = [
        read_page(get_scraper("imot.bg"), Page(page.url, without_a_tag(page.body, rng)))
        for _, page, _ in pages
    ]
    assert len([answer for answer in answers if answer["kind"] == "listing"]) >= len(pages) * 3 // 4, (
        f"seed {SEED}"
    )
