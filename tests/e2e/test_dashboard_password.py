"""The password in a real browser: asked once, kept for the browser's session, and out of reach of scripts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser_pages import PATIENCE_MS, Window, window
from dashboards import Dashboard, running_dashboard

PASSWORD = "correct horse"  # noqa: S105 - of this test
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A dashboard with a password on an empty database."""
    data: Path = tmp_path_factory.mktemp("guarded")
    with running_dashboard(data, DASHBOARD_PASSWORD=PASSWORD) as running:
        yield running


def test_a_login_is_kept_over_reloads_and_in_new_tabs(browser: Browser, guarded: Dashboard) -> None:
    with window(browser, guarded.url) as opened:
        opened.page.goto(f"{guarded.url}/search?price_max=150000")
        assert _is_asked(opened)
        assert opened.serious() == []
        _give(opened, "wrong horse")
        expect(opened.page.get_by_role("alert")).to_have_text("Паролата не е вярна.")
        opened.page.wait_for_timeout(1100)  # a wrong try costs a second
        _give(opened, PASSWORD)
        opened.settle()
        expect(opened.page).to_have_url(re.compile(r"/search\?.*price_max=150000"))
        opened.reload()
        assert not _is_asked(opened)
        tab = Window(opened.page.context.new_page(), guarded.url)
        tab.open("today")
        tab.has("Още няма нито една обява.")
        assert "login" not in opened.page.evaluate("document.cookie")
        kept = {one["name"]: one for one in opened.page.context.cookies()}["sale_sofia_login"]
        assert (kept["httpOnly"], kept["sameSite"], kept["expires"]) == (True, "Strict", -1)
        assert opened.errors == []
    with window(browser, guarded.url) as stranger:
        stranger.page.goto(guarded.url)
        assert _is_asked(stranger)


def _is_asked(opened: Window) -> bool:
    return opened.page.get_by_label("Парола").count() == 1


def _give(opened: Window, password: str) -> None:
    opened.page.get_by_label("Парола").fill(password)
    opened.page.get_by_role("button", name="Влез").click()
