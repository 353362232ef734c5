"""Without the network the pages seen last are there, and nothing else: in a real Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page
from pydantic import SecretStr

import web_pages
from browser_pages import person, tab
from dashboards import Served
from parallel_crawls import until
from sale_sofia.app import application

READY = "() => navigator.serviceWorker.ready.then((one) => new URL(one.active.scriptURL).pathname)"
CONTROLLED = """() => navigator.serviceWorker.controller ? true : new Promise((done) =>
    navigator.serviceWorker.addEventListener("controllerchange", () => done(true)))"""
KEPT = """async () => {
    const found = [];
    for (const name of await caches.keys())
        for (const one of await (await caches.open(name)).keys()) found.push(new URL(one.url).pathname);
    return found;
}"""


@pytest.fixture
def walker(browser: Browser) -> Iterator[BrowserContext]:
    with person(browser) as context:
        yield context


def kept(page: Page) -> set[str]:
    found: list[str] = page.evaluate(KEPT)
    return set(found)


def pages(page: Page) -> list[str]:
    """The pages among them, the one seen last at the end."""
    found: list[str] = page.evaluate(KEPT)
    return [one for one in found if not one.startswith(("/static/", "/leaflet/"))]


def test_pages_seen_last_are_readable_without_the_network(walker: BrowserContext, dashboard: Served) -> None:
    with tab(walker, dashboard.url) as buyer:
        page = buyer.page
        buyer.open("search")
        assert page.evaluate(READY) == "/worker.js"
        assert page.evaluate(CONTROLLED) is True
        buyer.open("search")
        link = page.locator("article.card a.body").first
        number = str(link.get_attribute("href"))
        link.click()
        buyer.settle()
        title, price = buyer.title(), page.locator(".summary .price").inner_text()
        assert page.locator("#offline").is_hidden()
        page.goto(f"{dashboard.url}/search.json")
        page.goto(f"{dashboard.url}/search?lang=bg")
        buyer.settle()
        page.locator(".decisions .keep").first.click()
        page.locator("#snack .snack").wait_for()
        page.wait_for_load_state("networkidle")
        addresses = kept(page)
        assert {"/search", number} <= addresses
        assert not {one for one in addresses if one.endswith((".json", "/status"))}
        walker.set_offline(True)
        page.goto(dashboard.url + number)
        assert buyer.title() == title
        assert page.locator(".summary .price").inner_text() == price
        assert page.locator("#offline").is_visible()
        assert (
            page.locator("#offline").inner_text().startswith("Без връзка. Страницата е такава, каквато беше")
        )
        assert page.locator("header.top").evaluate("(one) => getComputedStyle(one).display") == "flex"
        with pytest.raises(Error, match="ERR_"):
            page.goto(f"{dashboard.url}/market")
        walker.set_offline(False)
        page.goto(dashboard.url + number)
        assert page.locator("#offline").is_hidden()


def test_only_the_last_pages_are_kept_and_none_once_the_login_ended(
    walker: BrowserContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "PAGES_KEPT_OFFLINE", 2)
    secret = "correct horse"  # noqa: S105 - of this test alone
    with web_pages.browser(tmp_path, dashboard_password=SecretStr(secret)) as served:
        url = str(served.base_url).rstrip("/")
        with tab(walker, url) as buyer:
            page = buyer.page
            page.goto(f"{url}/health")
            page.locator("#password").fill(secret)
            page.keyboard.press("Enter")
            page.locator("header.top").wait_for()
            page.evaluate(READY)
            page.evaluate(CONTROLLED)
            for name in ("health", "search", "market", "criteria"):
                buyer.open(name)
            until(lambda: pages(page) == ["/market", "/criteria"], "the last two pages")
            walker.clear_cookies()
            page.goto(f"{url}/market")
            assert page.locator("#password").is_visible()
            until(lambda: pages(page) == [], "no page left")
