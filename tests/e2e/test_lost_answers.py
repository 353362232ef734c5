"""What was typed is not lost where a page cannot take it: nobody is signed in, or nothing answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser_pages import PATIENCE_MS, Window, window
from dashboards import running_dashboard
from demo_worlds import copied

PASSWORD = "correct horse"  # noqa: S105 - of this test
NOTE = "светъл, но шумен"
FAILED = "chrome-error://chromewebdata/"
"""Where Chromium is when a page could not be had; who goes on before is called back to it."""
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def guarded(demo_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard with a password on the demo's world."""
    own = copied(demo_world, tmp_path_factory.mktemp("guarded") / "demo")
    with running_dashboard(own, DASHBOARD_PASSWORD=PASSWORD) as running:
        yield running.url


@pytest.fixture
def buyer(browser: Browser, guarded: str) -> Iterator[Window]:
    """Who has signed in, on a phone."""
    with window(browser, guarded, 390) as opened:
        opened.page.goto(guarded)
        _sign_in(opened)
        yield opened


def _sign_in(opened: Window) -> None:
    opened.page.get_by_label("Парола").fill(PASSWORD)
    opened.page.get_by_role("button", name="Влез").click()
    opened.settle()


def _open_flat(opened: Window) -> None:
    opened.open("search")
    opened.page.locator("article.card a.body").first.click()
    opened.settle()


def test_a_note_sent_after_the_sign_in_ended_comes_back_and_is_sent_once(buyer: Window) -> None:
    _open_flat(buyer)
    page, note = buyer.page, buyer.page.get_by_label("Нова бележка")
    note.fill(NOTE)
    page.context.clear_cookies(name="sale_sofia_login")
    buyer.press("Добави бележка")
    expect(page.get_by_role("alert")).to_contain_text("нищо не е записано")
    _sign_in(buyer)
    expect(page.locator("#snack")).to_contain_text("върнато, но още не е изпратено")
    expect(note).to_have_value(NOTE)
    expect(page.locator(".note-text")).to_have_count(0)
    buyer.press("Добави бележка")
    expect(page.locator(".note-text")).to_contain_text(NOTE)
    expect(note).to_have_value("")
    buyer.reload()
    expect(note).to_have_value("")
    assert buyer.errors == []


def test_what_was_typed_waits_for_its_form_behind_other_pages(buyer: Window) -> None:
    _open_flat(buyer)
    page, address = buyer.page, buyer.page.url
    page.get_by_label("Нова бележка").fill(NOTE)
    page.context.clear_cookies(name="sale_sofia_login")
    buyer.press("Добави бележка")
    page.goto(buyer.url)
    _sign_in(buyer)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.goto(address)
    expect(page.get_by_label("Нова бележка")).to_have_value(NOTE)


def test_a_search_comes_back_only_to_the_conditions_it_was_named_for(buyer: Window) -> None:
    page = buyer.page
    buyer.open("search", price_max=200000)
    page.locator("#save-name").fill("евтини")
    page.route("**/search/save", lambda route: route.abort())
    page.locator("#save button").click()
    page.wait_for_url(FAILED)
    buyer.open("search", price_max=300000)
    expect(page.locator("#save-name")).to_have_value("")
    expect(page.locator("#save input[name=price_max]")).to_have_value("300000")
    buyer.open("search", price_max=200000)
    expect(page.locator("#save-name")).to_have_value("евтини")


def test_a_click_without_a_sign_in_asks_for_one_and_keeps_what_was_typed(buyer: Window) -> None:
    _open_flat(buyer)
    buyer.page.get_by_label("Нова бележка").fill(NOTE)
    buyer.page.context.clear_cookies(name="sale_sofia_login")
    buyer.page.locator(".decisions .keep").first.click()
    _sign_in(buyer)
    expect(buyer.page.locator(".decisions .keep").first).to_be_visible()
    expect(buyer.page.get_by_label("Нова бележка")).to_have_value(NOTE)


def test_without_an_answer_the_page_stays_and_says_so(buyer: Window) -> None:
    _open_flat(buyer)
    page = buyer.page
    page.get_by_label("Нова бележка").fill(NOTE)
    page.context.set_offline(True)
    page.locator(".decisions .keep").first.click()
    expect(page.locator("#snack")).to_contain_text("Таблото не отговори.")
    expect(page.get_by_label("Нова бележка")).to_have_value(NOTE)
    page.context.set_offline(False)
    buyer.open("criteria")
    field = page.locator("form[data-keep] input[inputmode=decimal]").first
    page.context.set_offline(True)
    field.fill("77")
    field.press("Tab")
    expect(page.locator("#snack")).to_contain_text("Таблото не отговори.")
    expect(field).to_have_value("77")


@pytest.mark.parametrize("width", [390, 1440])
def test_filters_without_an_answer_keep_the_page_as_it_is(buyer: Window, width: int) -> None:
    page = buyer.page
    page.set_viewport_size({"width": width, "height": 900})
    buyer.open("search")
    count = page.locator(".found strong").inner_text()
    page.route(
        "**/search*", lambda route: route.fulfill(status=500, body="{}", content_type="application/json")
    )
    page.locator("form[data-live] details").first.evaluate("(one) => { one.open = true; }")
    page.locator("#f-price_max").fill("200000")
    expect(page.locator("#snack")).to_contain_text("Таблото не отговори.")
    expect(page.locator("#f-price_max")).to_have_value("200000")
    expect(page.locator(".found strong")).to_have_text(count)
    assert "undefined" not in page.locator("body").inner_text()
    assert page.locator("[data-count]").inner_text() != ""
