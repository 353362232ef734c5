"""The dashboard in a real Chromium on the demo's world: every page, and that what a buyer does is kept."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlalchemy import func, select

from app_runs import store
from browser_pages import PAGES, PATIENCE_MS, TELEPHONE, Window
from hostile_adverts import hostile_ids
from parallel_crawls import until
from sale_sofia.advice.scoring.profile import load_profile
from sale_sofia.flats.tables import listing_sources

TITLES = {
    "today": "Днес", "search": "Търсене", "map": "Карта", "compare": "Сравнение", "property": "Имот",
    "criteria": "Критерии", "alerts": "Известия", "market": "Пазар", "cross_site": "Същият имот другаде",
    "health": "Състояние на събирането",
}  # fmt: skip
ALONE = ("map", "alerts", "market", "cross_site", "health")
IN_STORIES = ("today", "search", "compare", "criteria", "property")
"""Pages of which a test here, or the one of hostile texts, looks for faults while it does more."""
GROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
MOST_TABS = 200
FOCUSED = "document.activeElement.tagName === 'BUTTON' && document.activeElement.innerText.trim()"
RING = """() => { const style = getComputedStyle(document.activeElement);
  return style.outlineStyle + " " + style.boxShadow; }"""
"""How the place of the keyboard is seen."""
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


@pytest.mark.parametrize("name", ALONE)
def test_a_page_opens_on_a_telephone_under_its_name_and_nothing_is_wrong_with_it(
    buyer: Window, name: str
) -> None:
    """Adverts that mean harm are among those shown."""
    buyer.page.set_viewport_size(TELEPHONE)
    buyer.open(name)
    assert (buyer.title(), buyer.faults()) == (TITLES[name], [])


def test_no_page_is_left_out() -> None:
    assert set(PAGES) == set(TITLES) == {*ALONE, *IN_STORIES}


def test_a_flat_is_decided_on_by_keyboard_alone(buyer: Window) -> None:
    """By somebody who likes it dark: the colours are for a light ground, which stays light."""
    buyer.page.emulate_media(color_scheme="dark")
    buyer.open("")
    assert (buyer.title(), buyer.faults()) == (TITLES["today"], [])
    assert buyer.page.evaluate(GROUND) == "rgb(255, 255, 255)"
    heading = buyer.main.get_by_role("heading", name="За решаване").first
    before = heading.inner_text()
    for _ in range(MOST_TABS):
        buyer.page.keyboard.press("Tab")
        if buyer.page.evaluate(FOCUSED) == "★ Избери":
            break
    else:
        pytest.fail("no way there with the keyboard")
    assert buyer.page.evaluate(RING) != "none none"
    buyer.page.keyboard.press("Enter")
    expect(buyer.main.get_by_role("heading", name="За решаване").first).not_to_have_text(before)


def test_a_flat_is_found_opened_shortlisted_and_viewed(buyer: Window) -> None:
    """The filter stands in the address, so that a reload keeps it."""
    buyer.open("search")
    assert (buyer.title(), buyer.faults()) == (TITLES["search"], [])
    every = _found(buyer)
    buyer.page.get_by_label("Цена до, €", exact=True).fill("150000")
    buyer.page.keyboard.press("Enter")
    expect(buyer.page).to_have_url(re.compile("price_max=150000"))
    buyer.settle()
    few = _found(buyer)
    assert 0 < few < every
    buyer.reload()
    assert _found(buyer) == few
    buyer.main.get_by_role("link", name="Отвори").first.click()
    expect(buyer.page).to_have_url(re.compile(r"/property\?.*id=\d+"))
    buyer.settle()
    _decide_and_view(buyer)
    buyer.reload()
    _diary(buyer)
    buyer.has("Агент: Г-жа Иванова")
    expect(buyer.main.locator("article").first).to_contain_text("избран")


def _found(window: Window) -> int:
    line = window.main.get_by_text(re.compile("^Намерени:")).first
    line.wait_for()
    return int(re.sub(r"\D", "", line.inner_text().partition("имот")[0]))


def _decide_and_view(window: Window) -> None:
    _diary(window)
    window.main.get_by_label("Решение", exact=True).first.click()
    window.page.get_by_role("option", name="избран").click()
    window.main.get_by_role("button", name="Запази", exact=True).click()
    window.has("Последна промяна")
    window.main.get_by_label("Агент", exact=True).fill("Г-жа Иванова")
    window.press("Добави оглед")
    window.has("Агент: Г-жа Иванова")


def _diary(window: Window) -> None:
    window.page.get_by_role("tab", name="Решение, огледи, бележки").click()


def test_those_that_an_address_names_are_compared(buyer: Window, data: Path, twins: tuple[int, ...]) -> None:
    """Texts of portals do nothing in the box one chooses from either."""
    hostile = hostile_ids(data)
    buyer.open("compare", ids=f"{twins[0]},{twins[1]},{hostile['script']},{hostile['turned']}")
    expect(buyer.main.locator("article")).to_have_count(4)
    buyer.has("≠ различава се")
    assert buyer.main.locator("table").first.inner_text().count("≠") >= 1
    assert "<script>alert" in buyer.main.get_by_test_id("stMultiSelect").inner_text()
    assert (buyer.title(), buyer.faults(), buyer.turned()) == (TITLES["compare"], [], set())


def test_a_match_is_split(buyer: Window, data: Path, twins: tuple[int, ...]) -> None:
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


def test_a_criterion_is_changed_and_kept(buyer: Window, data: Path) -> None:
    buyer.open("criteria")
    assert (buyer.title(), buyer.faults()) == (TITLES["criteria"], [])
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
