"""The eleven tasks of a buyer in a real Chromium, on a phone and at a desk: each in at most six taps.

Each begins at Today, the page that opens first. A tap is a press of a button or a link, a tick, a choice,
or the way into a field; what is typed there is not counted.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Locator, ViewportSize, expect
from sqlalchemy import func, select

from app_runs import store
from browser_pages import DESK, PATIENCE_MS, TELEPHONE, Window, person, tab
from dashboards import Served
from parallel_crawls import until
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.flats.tables import listing_sources
from sale_sofia.settings.model import Settings

MOST_TAPS = 6
TAPS = {
    1: (1, 1), 2: (4, 3), 3: (3, 3), 4: (5, 5), 5: (5, 5), 6: (5, 5), 7: (6, 6), 8: (3, 2), 9: (5, 4),
    10: (5, 5), 11: (3, 2),
}  # fmt: skip
"""Taps of each task on a phone and at a desk at most; the zoom of the map depends on the flats."""
BEYOND_THE_BAR = ("market", "cross_site", "criteria", "alerts", "health")
"""Pages that a phone has under "more"."""
TITLES = {
    "search": "Търсене", "map": "Карта", "compare": "Сравнение", "market": "Пазар", "criteria": "Критерии",
    "health": "Състояние на събирането", "cross_site": "Същият имот другаде",
}  # fmt: skip
expect.set_options(timeout=PATIENCE_MS)


class Buyer:
    """Somebody with a phone or at a desk, whose taps are counted."""

    def __init__(self, window: Window, *, on_phone: bool) -> None:
        self.window, self.page, self.on_phone = window, window.page, on_phone
        self.taps = 0

    def tap(self, what: Locator) -> None:
        self.taps += 1
        what.click()

    def type(self, what: Locator, text: str) -> None:
        self.tap(what)
        what.fill(text)

    def choose(self, what: Locator, value: str) -> None:
        self.taps += 1
        what.select_option(value)

    def go(self, name: str) -> None:
        """By the bar of a phone, and "more" where it has to be; at a desk by the menu."""
        if not self.on_phone:
            self.tap(self.page.locator(f'.menu a[href="/{name}"]'))
        elif name in BEYOND_THE_BAR:
            self.tap(self.page.locator('.bottom a[href="#more"]'))
            self.tap(self.page.locator(f'footer a[href="/{name}"]'))
        else:
            self.tap(self.page.locator(f'.bottom a[href="/{name}"]'))
        expect(self.page.get_by_role("heading", level=1).first).to_have_text(TITLES[name])

    def open_card(self, place: int = 0) -> None:
        """From Today to a flat of the search."""
        self.go("search")
        self.tap(self.page.locator("article.card a.body").nth(place))
        expect(self.page).to_have_url(re.compile(r"/flat/\d+$"))


@pytest.fixture(scope="module", autouse=True)
def channel(data: Path) -> None:
    """There is somebody to tell."""
    file = {"channels": {"phone": "json://127.0.0.1:9/nobody"}}
    (data / "alerts.yaml").write_text(yaml.safe_dump(file), "utf-8")


@pytest.fixture(scope="module")
def phone(browser: Browser, dashboard: Served) -> Iterator[Window]:
    with _window(browser, dashboard, TELEPHONE) as opened:
        yield opened


@pytest.fixture(scope="module")
def desk(browser: Browser, dashboard: Served) -> Iterator[Window]:
    with _window(browser, dashboard, DESK) as opened:
        yield opened


@contextmanager
def _window(browser: Browser, dashboard: Served, size: ViewportSize) -> Iterator[Window]:
    with person(browser, **size) as context, tab(context, dashboard.url) as opened:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield opened


@pytest.fixture(params=["phone", "desk"])
def buyer(request: pytest.FixtureRequest) -> Iterator[Buyer]:
    window: Window = request.getfixturevalue(request.param)
    window.open("")
    found = Buyer(window, on_phone=request.param == "phone")
    yield found
    assert (window.wrong(), window.errors, window.outside, window.dialogs) == ([], [], [], [])
    task = int(request.node.name.split("_")[1])
    assert found.taps <= TAPS[task][request.param == "desk"] <= MOST_TAPS


def test_1_what_is_new_is_decided_one_after_the_other(buyer: Buyer) -> None:
    queue = buyer.page.locator("#queue")
    before = int(re.sub(r"\D", "", queue.inner_text()))
    first = buyer.page.locator(".queue article.card").get_attribute("id")
    buyer.tap(buyer.page.locator(".thumb").get_by_role("button", name="По-късно"))
    expect(queue).not_to_have_text(re.compile(rf"\b{before}\b"))
    assert buyer.page.locator(".queue article.card").get_attribute("id") != first


def test_2_wishes_are_set_and_the_count_follows(buyer: Buyer) -> None:
    buyer.go("criteria")
    told = buyer.page.locator('[data-told="count"]')
    before = told.inner_text()
    buyer.type(buyer.page.locator("#c-budget_eur"), "100000" if buyer.on_phone else "900000")
    with buyer.page.expect_response(re.compile("/criteria")):
        buyer.tap(buyer.page.get_by_role("heading", level=1))
    expect(told).not_to_have_text(before)


def test_3_a_flat_is_judged(buyer: Buyer) -> None:
    buyer.open_card()
    summary = buyer.page.locator(".summary")
    for words in ("Оценка", "Всичко с разноските", "на пазара"):
        expect(summary).to_contain_text(words)
    buyer.tap(summary.locator('a[href="#costs"]'))
    expect(buyer.page.locator("#costs")).to_be_in_viewport()


def test_4_flats_are_shortlisted_and_compared(buyer: Buyer) -> None:
    buyer.go("search")
    cards = buyer.page.locator("article.card")
    new = buyer.page.locator("article:has(.decisions[data-status=new])").first.get_attribute("id")
    buyer.tap(buyer.page.locator(f"#{new} .keep"))
    expect(buyer.page.locator(f"#{new} .keep")).to_have_attribute("aria-pressed", "true")
    for place in range(2):
        buyer.tap(cards.nth(place).locator(".tick"))
        expect(cards.nth(place).locator(".tick")).to_have_attribute("aria-pressed", "true")
    buyer.go("compare")
    expect(buyer.page.locator(".compare thead th")).to_have_count(2)
    expect(buyer.page.locator(".compare tr.differs").first).to_be_visible()


def test_5_a_viewing_is_in_the_calendar(buyer: Buyer) -> None:
    buyer.open_card(3)
    buyer.tap(buyer.page.locator('.bar a[href="#diary"]'))
    buyer.tap(buyer.page.get_by_role("button", name="Добави оглед"))
    calendar = buyer.page.locator('a[href$="/viewings.ics"]')
    with buyer.page.expect_download() as download:
        buyer.tap(calendar)
    text = Path(download.value.path()).read_text("utf-8")
    assert text.startswith("BEGIN:VCALENDAR")
    assert "BEGIN:VEVENT" in text


def test_6_a_search_is_saved_and_tells(buyer: Buyer, data: Path) -> None:
    name = f"Светли {'от телефона' if buyer.on_phone else 'от бюрото'}"
    buyer.go("search")
    buyer.type(buyer.page.locator("#save-name"), name)
    buyer.tap(buyer.page.get_by_role("button", name="Запази търсенето"))
    buyer.tap(buyer.page.locator("li.row", has_text=name).locator('a[href^="/alerts"]'))
    buyer.tap(buyer.page.locator("form:has(#r-name) button"))
    expect(buyer.page.locator("main")).to_contain_text(name)
    until(lambda: name in _told_of(data), "the rule")


def _told_of(data: Path) -> set[str | None]:
    file = load_alerts(Settings(data_dir=data).data_dir)
    assert file is not None
    return {rule.search for rule in file.buyer}


def test_7_a_flat_is_found_on_the_map_with_its_walk_to_the_metro(buyer: Buyer) -> None:
    buyer.go("map")
    expect(buyer.page.locator(".map-place:not([hidden])").first).to_be_visible()
    for _ in range(MOST_TAPS - 2):
        pin = buyer.page.locator(".map-pin:not(.many)")
        if pin.count():
            break
        buyer.tap(buyer.page.locator(".leaflet-control-zoom-in"))
        buyer.page.wait_for_timeout(400)  # the map glides
    buyer.taps += 1
    pin.first.dispatch_event("click")  # pins may lie over each other
    expect(buyer.page.locator("#map-card article .place")).to_contain_text("Метро")


def test_8_prices_of_a_neighbourhood(buyer: Buyer) -> None:
    buyer.go("market")
    place = buyer.page.locator("#place")
    name = str(place.locator("option").nth(1).get_attribute("value"))
    buyer.choose(place, name)
    expect(buyer.page).to_have_url(re.compile("place="))
    expect(buyer.page.locator("section:has(#figures) .metrics")).to_contain_text("€")


def test_9_it_is_not_the_same_flat(buyer: Buyer, data: Path) -> None:
    buyer.go("cross_site")
    link = buyer.page.locator('main a[href^="/flat/"]').first
    chosen = int(str(link.get_attribute("href")).rpartition("/")[2])
    before = _adverts(data, chosen)
    buyer.tap(link)
    buyer.tap(buyer.page.locator("#split ~ form input[type=checkbox]").last)
    buyer.tap(buyer.page.get_by_role("button", name="Не е същият имот"))
    until(lambda: _adverts(data, chosen) == before - 1, "the split")


def _adverts(data: Path, number: int) -> int:
    of_it = select(func.count()).where(listing_sources.c.property_id == number)
    with store(data).read() as connection:
        return int(connection.scalar(of_it) or 0)


def test_10_a_flat_is_shared_with_who_has_no_login(buyer: Buyer, browser: Browser) -> None:
    buyer.open_card(1)
    buyer.tap(buyer.page.locator('.bar a[href="#share"]'))
    buyer.tap(buyer.page.get_by_role("button", name="Направи връзка"))
    buyer.tap(buyer.page.locator("[data-share]").first)
    expect(buyer.page.locator("#snack")).to_contain_text("Адресът е копиран.")
    link = buyer.page.evaluate("() => navigator.clipboard.readText()")
    title = buyer.page.get_by_role("heading", level=1).inner_text()
    with person(browser, **TELEPHONE) as other, tab(other, buyer.window.url) as bank:
        bank.page.goto(link)
        bank.settle()
        assert (bank.title(), bank.page.locator("a[href^='/'], form").count()) == (title, 0)
        assert bank.page.locator("img").first.evaluate("(one) => one.naturalWidth > 0")
        assert (bank.faults(), bank.errors, bank.outside) == ([], [], [])


def test_11_the_operator_sees_what_to_do_and_probes_a_portal(buyer: Buyer) -> None:
    buyer.go("health")
    expect(buyer.page.locator("main section").first.locator("h2")).to_have_text("Какво да се направи")
    buyer.tap(buyer.page.get_by_role("button", name="Провери: imot.bg").first)
    expect(buyer.page.locator("main")).to_contain_text("Това е демото")
