import re
from collections.abc import Sequence

import pytest

from sale_sofia_simulator.model import World
from sale_sofia_simulator.portals import bazar_bg, imot_bg
from sale_sofia_simulator.render import RenderedPage
from tables import each_row

IMOT = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya/dianabad"
BAZAR = "https://bazar.bg/obiavi/prodazhba-apartamenti/sofia"


def _searches(pages: Sequence[RenderedPage], site: str) -> list[RenderedPage]:
    return [page for page in pages if page.site == site and page.truth["kind"] == "search"]


def _text(page: RenderedPage) -> str:
    return page.body.decode("windows-1251" if page.site == "imot.bg" else "utf-8")


def test_every_advert_stands_on_one_search_page(pages: Sequence[RenderedPage], town: World) -> None:
    for site, adverts in (("imot.bg", town.imot), ("bazar.bg", town.bazar)):
        ids = [
            card["external_id"]
            for page in _searches(pages, site)
            if not page.truth["capped"]
            for card in page.truth["cards"]
        ]
        assert sorted(ids) == sorted(advert.external_id for advert in adverts)


def test_next_pages_lead_from_the_first_page_to_the_last(pages: Sequence[RenderedPage]) -> None:
    for site in ("imot.bg", "bazar.bg"):
        found = _searches(pages, site)
        addresses = {page.url for page in found}
        following = {page.truth["next_url"] for page in found} - {None}
        assert following
        assert following <= addresses


def test_imot_cards_are_ranked_and_carry_their_class(pages: Sequence[RenderedPage]) -> None:
    page = _searches(pages, "imot.bg")[0]
    cards = re.findall(r'<div class="item (\w*) " id="ida(\w+)"', _text(page))
    assert [number for _, number in cards] == [card["external_id"] for card in page.truth["cards"]]
    assert len(cards) == 40
    order = ["BEST", "TOP", "VIP", ""].index
    assert [tier for tier, _ in cards] == sorted((tier for tier, _ in cards), key=order)


def test_imot_pages_hold_projects_news_and_price_trends(pages: Sequence[RenderedPage]) -> None:
    text = "".join(_text(page) for page in _searches(pages, "imot.bg"))
    for quirk in ('class="nova-sgrada"', 'class="item fakti"', '"price UP"', '"price DOWN"', "НОВА ОБЯВА"):
        assert text.count(quirk) > 4
    assert "<span>Цената е без ДДС</span>" in text
    assert "<span>Не се начислява ДДС</span>" not in text


def test_bazar_pages_hold_news_a_hidden_card_and_a_template(pages: Sequence[RenderedPage]) -> None:
    page = _searches(pages, "bazar.bg")[0]
    text = _text(page)
    assert len(page.truth["cards"]) == 68
    assert text.count('<div class="listItemContainer listItemContainerV2') == 70
    assert text.count("newsLink") == 3
    assert 'id="cardTemplate" style="display:none"' in text
    assert "{{title}}" in text


def test_the_count_of_results_is_worded_as_the_portals_do(world: World) -> None:
    text = imot_bg.search_page(world.imot[:40], url=IMOT, page=1, total=53).decode("windows-1251")
    assert "> 1 - 40 от общо 53 обяви - Продава<" in text
    text = imot_bg.search_page(world.imot[:13], url=IMOT, page=2, total=53).decode("windows-1251")
    assert "> 41 - 53 от общо 53 обяви - Продава<" in text
    text = imot_bg.search_page(world.imot[:40], url=IMOT, page=1, total=1001).decode("windows-1251")
    assert "> 1 - 40 от общо 1000+ обяви - Продава<" in text
    text = bazar_bg.search_page(world.bazar[:68], url=BAZAR, page=1, total=17509).decode()
    assert "Над 17509 обяви в Bazar.bg" in text


def test_a_capped_search_ends_at_a_thousand(pages: Sequence[RenderedPage]) -> None:
    page = next(page for page in pages if page.truth.get("capped"))
    assert page.url == "https://www.imot.bg/obiavi/prodazhbi/p-25"
    assert (page.truth["total"], page.truth["next_url"], len(page.truth["cards"])) == (1000, None, 40)
    assert "961 - 1000 от общо 1000+ обяви" in _text(page)


@each_row(
    ("page", "total", "imot", "bazar"),
    [
        (1, 40, None, None),
        (1, 69, f"{IMOT}/p-2", f"{BAZAR}?page=2"),
        (2, 200, f"{IMOT}/p-3", f"{BAZAR}?page=3"),
        (25, 5000, None, f"{BAZAR}?page=26"),
    ],
)
def test_the_next_page(page: int, total: int, imot: str | None, bazar: str | None) -> None:
    assert imot_bg.next_url(IMOT, page, total) == imot
    assert bazar_bg.next_url(BAZAR, page, total) == bazar


def test_a_filtered_bazar_search_keeps_its_filter() -> None:
    assert bazar_bg.page_url(f"{BAZAR}?asize[]=2", 3) == f"{BAZAR}?asize[]=2&page=3"


@pytest.mark.parametrize("site", ["imot.bg", "bazar.bg"])
def test_an_empty_search_says_so_and_has_no_cards(pages: Sequence[RenderedPage], site: str) -> None:
    page = next(page for page in pages if page.path == f"{site}/search__empty.html")
    assert (page.truth["kind"], page.truth["total"], page.truth["capped"]) == ("search", 0, False)
    assert (page.truth["next_url"], page.truth["cards"]) == (None, [])
    assert "Няма намерени обяви" in _text(page)
    assert 'id="ida' not in _text(page)
    full = next(page for page in pages if page.path == f"{site}/search__0-1.html")
    assert "Няма намерени обяви" not in _text(full)


def test_a_removed_advert_answers_with_another_canonical_address(pages: Sequence[RenderedPage]) -> None:
    removed = [page for page in pages if page.truth["kind"] == "removed"]
    assert [page.site for page in removed] == ["imot.bg", "bazar.bg"]
    for page in removed:
        assert page.truth == {"site": page.site, "kind": "removed", "url": page.url}
        assert "/obiava-" in page.url
        assert page.url not in _text(page)
        assert re.search(r'rel="canonical" href="https://[^"]+/obiavi/', _text(page))


def test_a_project_has_a_four_digit_number_and_no_price(pages: Sequence[RenderedPage]) -> None:
    page = next(page for page in pages if page.truth["kind"] == "project")
    assert re.match(r"https://www\.imot\.bg/obiava-\d{4}-zhilisht", page.url)
    assert f'rel="canonical" href="{page.url}"' in _text(page)
    assert "advHeader" not in _text(page)
    assert 'class="cena"' not in _text(page)
