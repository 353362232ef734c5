"""The dashboard in a real Chromium on the demo's world: every page, and that what a buyer does is kept."""

import re
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import func, select

from app_runs import store
from browser_pages import DESK, PAGES, PATIENCE_MS, TELEPHONE, Window
from dashboards import Served
from hostile_adverts import hostile_ids
from parallel_crawls import until
from sale_sofia.buyer.evaluations import evaluation_of
from sale_sofia.flats.tables import listing_sources
from tables import each_row

TITLES = {
    "today": "Днес", "search": "Търсене", "map": "Карта", "compare": "Сравнение", "criteria": "Критерии",
    "alerts": "Известия", "market": "Пазар", "cross_site": "Същият имот другаде",
    "health": "Състояние на събирането", "people": "Хора", "mine": "Моите", "channels": "Канали",
    "agenda": "Огледи",
}  # fmt: skip
WIDTHS = (320, 390, 768, 1440)
SEEN: tuple[tuple[str, Literal["light", "dark"]], ...] = (("en", "dark"), ("bg", "light"))
"""Each language and each theme; what is wrong with one is so beside either of the other. The last is the
usual one, in which a page is told by its name and goes through all rules of axe."""
MOST_TABS = 200
FOCUSED = "document.activeElement.tagName === 'BUTTON' && document.activeElement.innerText.trim()"
RING = "getComputedStyle(document.activeElement).outlineStyle"
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


@each_row("name", TITLES)
def test_a_page_opens_under_its_name_and_nothing_is_wrong_with_it(buyer: Window, name: str) -> None:
    """Light and dark, in both languages, narrow and wide; adverts that mean harm are among those shown."""
    _look_over(buyer, name)
    assert buyer.title() == TITLES[name]


def test_nothing_is_wrong_with_the_page_of_a_flat(buyer: Window, twins: tuple[int, ...]) -> None:
    buyer.open(f"flat/{twins[0]}")
    _look_over(buyer, f"flat/{twins[0]}")


def _look_over(window: Window, name: str) -> None:
    """In both languages and themes; no text cut or broken at any width, no complaint, nobody else asked."""
    for language, theme in SEEN:
        window.page.emulate_media(color_scheme=theme)
        window.open(name, lang=language)
        assert window.page.locator("html").get_attribute("lang") == language
        for width in WIDTHS:
            window.page.set_viewport_size({"width": width, "height": 900})
            assert (width, window.too_wide(), window.broken()) == (width, [], [])
        found = [*window.wrong(), *window.harm(), *window.serious(colours_alone=language != "bg")]
        assert (language, found) == (language, [])
    assert (window.errors, window.outside) == ([], [])


def test_what_to_ask_the_agent_is_copied_also_where_a_browser_gives_no_clipboard(
    buyer: Window, twins: tuple[int, ...]
) -> None:
    buyer.open(f"flat/{twins[0]}")
    buyer.page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    text = buyer.page.locator("p:has(+ [data-copy])").first
    buyer.page.locator("[data-copy]").first.click()
    expect(buyer.page.locator("#snack")).to_contain_text("✓")
    note = buyer.page.locator("#text")
    note.focus()
    buyer.page.keyboard.press("Control+V")
    expect(note).to_have_value(text.inner_text())
    assert buyer.errors == []


def test_no_page_is_left_out() -> None:
    assert set(PAGES) == set(TITLES)


def test_a_flat_is_decided_on_by_keyboard_alone_and_taken_back(buyer: Window) -> None:
    buyer.open("")
    heading = buyer.main.get_by_role("heading", name="За решаване").first
    before = heading.inner_text()
    for _ in range(MOST_TABS):
        buyer.page.keyboard.press("Tab")
        if buyer.page.evaluate(FOCUSED) == "★ Избери":
            break
    else:
        pytest.fail("no way there with the keyboard")
    assert buyer.page.evaluate(RING) != "none"
    buyer.page.keyboard.press("Enter")
    expect(buyer.main.get_by_role("heading", name="За решаване").first).not_to_have_text(before)


def test_a_card_is_kept_rejected_with_a_reason_and_undone_without_a_reload(buyer: Window, data: Path) -> None:
    buyer.open("search")
    buyer.page.evaluate("window.stayed = true")
    card = buyer.main.locator("article:has(.decisions[data-status=new])").nth(2)
    card = buyer.main.locator(f"#{card.get_attribute('id')}")
    number = int((card.get_attribute("id") or "").removeprefix("flat-"))
    card.get_by_role("button", name="Избери").click()
    expect(card.get_by_role("button", name="Избери")).to_have_attribute("aria-pressed", "true")
    card.locator("summary").click()
    card.get_by_role("button", name="шумна улица").click()
    expect(card.locator("summary")).to_have_class("on")
    assert _said(data, number) == ("rejected", "шумна улица")
    buyer.page.get_by_role("button", name="Отмени").click()
    expect(card.get_by_role("button", name="Избери")).to_have_attribute("aria-pressed", "true")
    assert _said(data, number)[0] == "shortlist"
    card.get_by_role("button", name="Сравни").click()
    expect(card.get_by_role("button", name="Сравни")).to_have_attribute("aria-pressed", "true")
    assert buyer.page.evaluate("window.stayed")


def _said(data: Path, number: int) -> tuple[str, str | None]:
    with store(data).read() as connection:
        found = evaluation_of(connection, number)
    return found.status, found.reason


def test_a_flat_is_found_opened_shortlisted_and_viewed(buyer: Window) -> None:
    """The filter stands in the address, so that a reload keeps it; the count is told before one asks."""
    buyer.page.set_viewport_size(TELEPHONE)
    buyer.open("search")
    every = _found(buyer)
    buyer.page.locator("summary", has_text="Филтри").click()
    buyer.page.get_by_label("Цена до, €", exact=True).fill("150000")
    show = buyer.page.locator("button[data-count]")
    expect(show).to_have_text(re.compile("Намерени"))
    told = int(re.sub(r"\D", "", show.inner_text().partition("имот")[0]))
    show.click()
    expect(buyer.page).to_have_url(re.compile("price_max=150000"))
    buyer.settle()
    few = _found(buyer)
    assert 0 < few < every
    assert few == told
    buyer.reload()
    assert _found(buyer) == few
    link = buyer.main.locator("article a.body").nth(3)
    link.click()
    expect(buyer.page).to_have_url(re.compile(r"/flat/\d+$"))
    buyer.settle()
    assert buyer.faults() == []
    _decide_and_view(buyer)
    buyer.reload()
    buyer.has("Агент: Г-жа Иванова")
    expect(buyer.main.locator(".summary")).to_contain_text("оглед")


def test_back_returns_to_the_same_card(buyer: Window) -> None:
    buyer.open("search", sort="price")
    card = buyer.main.locator("article").nth(14)
    card.scroll_into_view_if_needed()
    before = buyer.page.evaluate("scrollY")
    assert before > 500
    card.locator("a.body").click()
    expect(buyer.page).to_have_url(re.compile(r"/flat/\d+$"))
    buyer.page.go_back()
    expect(buyer.page).to_have_url(re.compile("sort=price"))
    until(lambda: abs(buyer.page.evaluate("scrollY") - before) < 200, "the same place of the page")


def _found(window: Window) -> int:
    line = window.main.locator(".found").first
    line.wait_for()
    return int(re.sub(r"\D", "", line.inner_text().partition("имот")[0]))


def _decide_and_view(window: Window) -> None:
    window.main.locator("#status").select_option(label="избран")
    window.press("Запази")
    window.has("Последна промяна")
    window.main.get_by_label("Агент", exact=True).fill("Г-жа Иванова")
    window.press("Добави оглед")
    window.has("Агент: Г-жа Иванова")


def test_those_that_an_address_names_are_compared(buyer: Window, data: Path, twins: tuple[int, ...]) -> None:
    hostile = hostile_ids(data)
    buyer.open("compare", ids=f"{twins[0]},{twins[1]},{hostile['script']},{hostile['turned']}")
    expect(buyer.main.locator("thead th")).to_have_count(4)
    assert buyer.main.locator("table").first.inner_text().count("≠") >= 1
    assert (buyer.title(), buyer.faults(), buyer.turned()) == (TITLES["compare"], [], set())


_CUT_LABELS = """() => {
  const edge = document.getElementById("map").getBoundingClientRect();
  const share = (from, to, least, most) => (Math.min(to, most) - Math.max(from, least)) / (to - from);
  return [...document.querySelectorAll(".map-place:not([hidden]) button")].filter((one) => {
    const box = one.getBoundingClientRect();
    const across = share(box.left, box.right, edge.left, edge.right);
    const seen = Math.min(across, share(box.top, box.bottom, edge.top, edge.bottom));
    return seen > 0 && seen < 1;
  }).map((one) => one.textContent);
}"""


def test_the_map_draws_the_city_without_the_internet_and_opens_a_card(buyer: Window) -> None:
    buyer.open("map", at="42.69,23.32,12")
    expect(buyer.main.locator(".map-place:not([hidden])").first).to_be_visible()
    assert buyer.page.evaluate(_CUT_LABELS) == []
    assert (
        "© сътрудниците на OpenStreetMap (ODbL)"
        in buyer.main.locator(".leaflet-control-attribution").inner_text()
    )
    buyer.open("map", at="42.69,23.32,13")
    pin = buyer.main.locator(".map-pin:not(.many)").first
    pin.dispatch_event("click")
    expect(buyer.main.locator("#map-card article")).to_have_count(1)


def test_neighbourhoods_are_tapped_and_an_area_is_drawn_on_the_map_and_back_returns(buyer: Window) -> None:
    buyer.page.set_viewport_size(TELEPHONE)
    buyer.open("map", at="42.69,23.32,12")
    place = buyer.main.locator(".map-place:not([hidden]) button").first
    name = place.inner_text().splitlines()[0]
    chips = buyer.main.locator("#map-chips")
    place.dispatch_event("click")
    expect(chips.get_by_role("button")).to_contain_text(name)
    expect(buyer.main.locator(".map-place button[aria-pressed=true]")).to_contain_text(name)
    chips.get_by_role("button").click()
    expect(chips.get_by_role("button")).to_have_count(0)
    buyer.page.go_back()
    expect(chips.get_by_role("button")).to_contain_text(name)
    buyer.page.go_back()
    expect(chips.get_by_role("button")).to_have_count(0)
    _draw(buyer, (0.2, 0.2), (0.8, 0.7), (0.8, 0.2), (0.2, 0.7))
    expect(buyer.main.locator("#map-wrong")).to_contain_text("страните на областта се пресичат")
    buyer.main.get_by_role("button", name="Откажи").click()
    _draw(buyer, (0.2, 0.2), (0.8, 0.2), (0.8, 0.7), (0.2, 0.7))
    expect(chips).to_contain_text("Начертана област (4 върха)")
    expect(buyer.page).to_have_url(re.compile("polygon=42"))
    told = buyer.main.locator("#map-count").inner_text()
    buyer.reload()
    expect(buyer.main.locator("#map-count")).to_have_text(told)
    assert buyer.faults() == []


def _draw(window: Window, *corners: tuple[float, float]) -> None:
    """Tap these places of the map, as shares of its width and height."""
    window.main.get_by_role("button", name="Начертай област").click()
    surface = window.main.locator("#map")
    box = surface.bounding_box()
    assert box is not None
    for across, down in corners:
        surface.click(position={"x": box["width"] * across, "y": box["height"] * down})
    window.main.get_by_role("button", name="Готово").click()


def test_on_a_phone_a_search_is_narrowed_on_a_sheet_with_the_map_and_its_count(buyer: Window) -> None:
    buyer.page.set_viewport_size(TELEPHONE)
    buyer.open("search")
    buyer.main.get_by_text("Филтри").first.click()
    buyer.page.get_by_role("link", name="Избери на картата").click()
    sheet = buyer.page.locator("#map-sheet")
    place = sheet.locator(".map-place:not([hidden]) button").first
    name = place.inner_text().splitlines()[0]
    place.dispatch_event("click")
    expect(sheet.locator("#map-chips")).to_contain_text(name)
    told = sheet.locator("#map-count").inner_text()
    expect(buyer.page.locator("button[data-count]")).to_have_text(told)
    sheet.get_by_role("button", name="Покажи").click()
    expect(buyer.page).to_have_url(re.compile("neighbourhood="))
    buyer.settle()
    expect(buyer.main.locator(".found strong")).to_have_text(told)
    assert f"Квартали: {name}" in buyer.text()


def test_on_a_desk_the_list_stands_beside_the_map_and_both_follow(buyer: Window) -> None:
    buyer.page.set_viewport_size(DESK)
    buyer.open("search")
    before = _found(buyer)
    chart, first = buyer.main.locator("#map"), buyer.main.locator(".results article").first
    expect(chart).to_be_in_viewport()
    expect(first).to_be_in_viewport()
    place = buyer.main.locator("#map-sheet .map-place:not([hidden]) button").first
    name, _, count = place.inner_text().partition("\n")
    place.dispatch_event("click")
    expect(buyer.main.locator(".results .chips")).to_contain_text(f"Квартали: {name}")
    assert _found(buyer) == int(re.findall(r"\((\d+)\)", count)[0]) < before
    expect(buyer.page).to_have_url(re.compile("neighbourhood="))
    buyer.reload()
    expect(buyer.main.locator(".results .chips")).to_contain_text(f"Квартали: {name}")
    expect(buyer.main.locator("#map-chips")).to_contain_text(name)
    buyer.page.set_viewport_size(TELEPHONE)
    expect(chart).to_be_hidden()


def test_without_scripts_the_list_works_alone(browser: Browser, dashboard: Served) -> None:
    context = browser.new_context(viewport=DESK, locale="bg-BG", java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{dashboard.url}/search")
    list_, filters = page.locator(".results").bounding_box(), page.locator("#filters").bounding_box()
    assert list_ is not None
    assert filters is not None
    assert list_["width"] + filters["width"] > DESK["width"] * 0.85, "no room is left for a map"
    page.locator("#filters summary").first.click()
    page.locator("#f-price_max").fill("987654")
    page.get_by_role("button", name="Покажи").click()
    expect(page.locator(".results .chips")).to_contain_text("987654")
    expect(page.locator("article.card").first).to_be_visible()
    context.close()


def test_a_match_is_split(buyer: Window, data: Path, twins: tuple[int, ...]) -> None:
    chosen = twins[-1]
    before = adverts_of(data, chosen)
    assert len(before) == 2
    buyer.open(f"flat/{chosen}")
    buyer.main.locator("#split ~ form input[type=checkbox]").last.check()
    buyer.press("Не е същият имот")
    until(lambda: len(adverts_of(data, chosen)) == 1, "the split")
