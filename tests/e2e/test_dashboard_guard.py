"""What a portal can write into the dashboard; two windows beside a crawl; people who do not point."""

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import func, select

from app_runs import store
from browser_pages import Window, window
from crawls import FAST, crawl_arguments, start
from dashboards import Dashboard
from hostile_adverts import MARKDOWN, SCRIPT, TEXTS, hostile_ids
from sale_sofia.data.evaluation_schema import property_notes
from sale_sofia.data.schema import listings
from sale_sofia.simulator.running import start_in_process
from sale_sofia.simulator.simulator_config import SimulatorConfig

MOST_NOTES = 6
MOST_TABS = 200
FOCUSED = "document.activeElement.tagName === 'BUTTON' && document.activeElement.innerText.trim()"
RING = """() => { const style = getComputedStyle(document.activeElement);
  return style.outlineStyle + " " + style.boxShadow; }"""
"""How the place of the keyboard is seen."""


def test_texts_of_portals_are_shown_and_do_nothing(buyer: Window, data: Path) -> None:
    ids = hostile_ids(data)
    assert set(ids) == set(TEXTS)
    for name, number in ids.items():
        buyer.open("property", id=number)
        assert (name, buyer.harm(), buyer.too_wide()) == (name, [], [])
    buyer.open("property", id=ids["script"])
    buyer.has(SCRIPT[:30])
    buyer.open("property", id=ids["markdown"])
    buyer.has(MARKDOWN[:30])
    assert buyer.main.get_by_role("link", name="click").count() == 0
    buyer.open("property", id=ids["turned"])
    assert not {"\u202e", "\u2066", "\u200f"} & set(buyer.main.inner_text())


def test_two_windows_and_a_crawl_at_once(browser: Browser, dashboard: Dashboard, data: Path) -> None:
    """Notes of both windows are written while adverts are; nothing is lost, locked or old after a reload."""
    chosen = next(iter(hostile_ids(data).values()))
    config = SimulatorConfig(sites=("imot.bg",), properties=40, seed=77, port=0)
    with (
        start_in_process(config) as portal,
        window(browser, dashboard.url) as one,
        window(browser, dashboard.url) as two,
    ):
        before = _stored(data)
        crawl = start(data, *crawl_arguments(portal, "imot.bg"), **FAST)
        written = _write_notes(crawl, (one, two), chosen)
        told, wrong = crawl.communicate()
        assert crawl.returncode == 0, told + wrong
        with store(data).read() as connection:
            kept = connection.scalars(select(property_notes.c.text).order_by(property_notes.c.id))
            assert list(kept) == written
        assert _stored(data) == before + 40
        for opened in (one, two):
            opened.reload()
            _diary(opened)
            for note in written:
                opened.has(note)
            opened.open("health")
            opened.has("imot.bg")
            assert opened.wrong() == []


def _write_notes(crawl: subprocess.Popen[str], windows: tuple[Window, Window], property_id: int) -> list[str]:
    """By turns, until the crawl is over; two of each at least."""
    written: list[str] = []
    for opened in windows:
        opened.open("property", id=property_id)
    while len(written) < 2 * len(windows) or (crawl.poll() is None and len(written) < MOST_NOTES):
        note = f"Бележка {len(written) + 1}"
        opened = windows[len(written) % 2]
        _diary(opened)
        opened.main.get_by_label("Нова бележка").fill(note)
        opened.press("Добави бележка")
        _diary(opened)
        opened.has(note)
        written.append(note)
    return written


def _diary(opened: Window) -> None:
    opened.page.get_by_role("tab", name="Решение, огледи, бележки").click()


def _stored(data: Path) -> int:
    with store(data).read() as connection:
        return connection.execute(select(func.count()).select_from(listings)).scalar_one()


def test_a_flat_is_decided_on_by_keyboard_alone(buyer: Window) -> None:
    buyer.open("today")
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
