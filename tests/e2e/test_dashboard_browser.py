"""The dashboard in a real Chromium on the demo's world: every page, and that what a buyer does is kept."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlalchemy import func, select

from app_runs import store
from browser_pages import PAGES, PATIENCE_MS, Window
from hostile_adverts import hostile_ids
from parallel_crawls import until
from sale_sofia.data.property_schema import listing_sources
from sale_sofia.insights.profiles import load_profile

TITLES = {
    "today": "Днес", "search": "Търсене", "map": "Карта", "compare": "Сравнение", "property": "Имот",
    "criteria": "Критерии", "alerts": "Известия", "market": "Пазар", "cross_site": "Същият имот другаде",
    "health": "Състояние на събирането",
}  # fmt: skip
GROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def twins(data: Path) -> tuple[int, ...]:
    """Properties that have adverts on two portals, the oldest first."""
    several = (
        select(listing_sources.c.property_id)
        .group_by(listing_sources.c.property_id)
        .having(func.count() > 1)
        .order_by(listing_sources.c.property_id)
    )
    with store(data).read() as connection:
        return tuple(connection.scalars(several))


def adverts_of(data: Path, property_id: int) -> list[int]:
    found = select(listing_sources.c.listing_id).where(listing_sources.c.property_id == property_id)
    with store(data).read() as connection:
        return sorted(connection.scalars(found))


def test_every_page_opens_under_its_name_and_axe_finds_nothing(buyer: Window, data: Path) -> None:
    """First on a telephone, then the same window wide; adverts that mean harm are among those shown."""
    assert set(TITLES) == set(PAGES)
    for name, title in TITLES.items():
        buyer.page.set_viewport_size({"width": 390, "height": 900})
        buyer.open(name, **_asked(name, data))
        assert buyer.page.get_by_role("heading", level=1).first.inner_text() == title
        assert (name, buyer.wrong(), buyer.too_wide()) == (name, [], [])
        buyer.page.set_viewport_size({"width": 1280, "height": 900})
        found = (buyer.too_wide(), buyer.harm(), buyer.serious())
        assert (name, *found) == (name, [], [], [])


def test_who_likes_it_dark_can_read_it_too(buyer: Window) -> None:
    """The colours are chosen for a light ground, which stays light; the first page is at the root too."""
    buyer.page.emulate_media(color_scheme="dark")
    buyer.open("")
    assert buyer.page.get_by_role("heading", level=1).first.inner_text() == TITLES["today"]
    assert buyer.page.evaluate(GROUND) == "rgb(255, 255, 255)"
    assert buyer.serious() == []


def _asked(name: str, data: Path) -> dict[str, object]:
    return {"id": hostile_ids(data)["script"]} if name == "property" else {}


def test_a_filter_stands_in_the_address_and_a_reload_keeps_it(buyer: Window) -> None:
    buyer.open("search")
    every = _found(buyer)
    buyer.page.get_by_label("Цена до, €", exact=True).fill("150000")
    buyer.page.keyboard.press("Enter")
    expect(buyer.page).to_have_url(re.compile("price_max=150000"))
    buyer.settle()
    few = _found(buyer)
    assert 0 < few < every
    buyer.reload()
    assert _found(buyer) == few


def _found(window: Window) -> int:
    line = window.main.get_by_text(re.compile("^Намерени:")).first
    line.wait_for()
    return int(re.sub(r"\D", "", line.inner_text().partition("имот")[0]))


def test_a_flat_is_opened_shortlisted_and_viewed(buyer: Window) -> None:
    buyer.open("search")
    buyer.main.get_by_role("link", name="Отвори").first.click()
    expect(buyer.page).to_have_url(re.compile(r"/property\?.*id=\d+"))
    buyer.settle()
    _diary(buyer)
    buyer.main.get_by_label("Решение", exact=True).first.click()
    buyer.page.get_by_role("option", name="избран").click()
    buyer.main.get_by_role("button", name="Запази", exact=True).click()
    buyer.has("Последна промяна")
    buyer.main.get_by_label("Агент", exact=True).fill("Г-жа Иванова")
    buyer.press("Добави оглед")
    buyer.has("Агент: Г-жа Иванова")
    buyer.reload()
    _diary(buyer)
    buyer.has("Агент: Г-жа Иванова")
    expect(buyer.main.locator("article").first).to_contain_text("избран")


def _diary(window: Window) -> None:
    window.page.get_by_role("tab", name="Решение, огледи, бележки").click()


def test_two_are_compared(buyer: Window, twins: tuple[int, ...]) -> None:
    buyer.open("compare", ids=f"{twins[0]},{twins[1]}")
    expect(buyer.main.locator("article")).to_have_count(2)
    buyer.has("≠ различава се")
    assert buyer.main.locator("table").first.inner_text().count("≠") >= 1
    buyer.reload()
    expect(buyer.main.locator("article")).to_have_count(2)


def test_a_match_is_split_for_ever(buyer: Window, data: Path, twins: tuple[int, ...]) -> None:
    chosen = twins[-1]
    before = adverts_of(data, chosen)
    assert len(before) == 2
    buyer.open("property", id=chosen)
    buyer.page.get_by_role("tab", name="Не е същият имот?").click()
    buyer.main.get_by_label("Обяви за друг имот").click()
    buyer.page.get_by_role("option").last.click()
    buyer.page.keyboard.press("Escape")
    buyer.press("Не е същият имот")
    until(lambda: len(adverts_of(data, chosen)) == 1, "the split")
    buyer.reload()
    assert len(adverts_of(data, chosen)) == 1


def test_a_criterion_is_changed_and_kept(buyer: Window, data: Path) -> None:
    buyer.open("criteria")
    budget = buyer.main.get_by_label("Бюджет с всичко (€)", exact=True)
    before = _passing(buyer)
    budget.fill("90000")
    budget.press("Enter")
    buyer.has("Непазени промени: 1")
    assert _passing(buyer) < before
    buyer.press("Запази промените")
    buyer.has("Профилът „default“ е запазен.")
    buyer.reload()
    expect(buyer.main.get_by_label("Бюджет с всичко (€)", exact=True)).to_have_value("90000")
    assert load_profile(data, "default").budget_eur == 90_000


def _passing(window: Window) -> int:
    line = window.main.get_by_text(re.compile("→ .* минават")).first
    line.wait_for()
    found = re.search(r"→ ([\d ]+) минават", line.inner_text().replace("\u00a0", " "))
    assert found
    return int(found[1].replace(" ", ""))
