"""One dashboard on a copy of the demo's world, and one browser, for all tests of a module."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from browser_pages import DESK, Window, chromium, person, tab
from dashboards import Served, running_dashboard
from demo_worlds import copied
from hostile_adverts import put_hostile_adverts
from sale_sofia.app.guard import LANGUAGE


@pytest.fixture(scope="module")
def data(demo_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Adverts that mean harm are among the others."""
    own = copied(demo_world, tmp_path_factory.mktemp("dashboard") / "demo")
    put_hostile_adverts(own)
    return own


@pytest.fixture(scope="module")
def dashboard(data: Path) -> Iterator[Served]:
    with running_dashboard(data) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def reader(browser: Browser) -> Iterator[BrowserContext]:
    """The person whose tabs the tests of a module are."""
    with person(browser) as context:
        yield context


@pytest.fixture(scope="module")
def opened(reader: BrowserContext, dashboard: Served) -> Iterator[Window]:
    """Their tab: a new one for each test costs as much as what most tests do in it."""
    with tab(reader, dashboard.url) as window:
        yield window


@pytest.fixture
def buyer(reader: BrowserContext, opened: Window) -> Iterator[Window]:
    """A tab, empty and wide; whatever is done in it, nothing breaks and nothing goes out to the internet."""
    reader.clear_cookies(name=LANGUAGE)  # that a test before may have chosen, and failed
    opened.page.goto("about:blank")
    opened.page.set_viewport_size(DESK)
    opened.page.emulate_media(color_scheme="light")
    for told in (opened.errors, opened.outside, opened.dialogs):
        told.clear()
    yield opened
    assert (opened.wrong(), opened.errors, opened.outside, opened.dialogs) == ([], [], [], [])
