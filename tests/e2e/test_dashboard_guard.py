"""What a portal can write into the dashboard; two windows beside a crawl."""

import json
import subprocess
import time
from pathlib import Path

from playwright.sync_api import Browser, Locator
from sqlalchemy import func, select

from app_runs import store
from browser_pages import Window, window
from crawls import crawl_arguments, start
from dashboards import Served
from hostile_adverts import MARKDOWN, SCRIPT, SCRIPT_PRICE, TEXTS, hostile_ids
from parallel_crawls import until
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.search.run import search
from sale_sofia.buyer.tables import property_notes
from sale_sofia.history.tables import listings
from sale_sofia_simulator.running import start_in_process
from sale_sofia_simulator.simulation import SimulatorConfig

SHOWN = {"script": SCRIPT[:30], "markdown": MARKDOWN[:30]}
"""What is to be read of a text, letter by letter."""
MOST_NOTES = 6
PORTAL = 12
"""Adverts of the portal that is crawled beside the windows, …"""
UNHURRIED = {"DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 240})}
"""… for as long as some notes are written."""


def test_texts_of_portals_are_shown_and_do_nothing(buyer: Window, data: Path) -> None:
    """Also beside the chart of prices."""
    ids = hostile_ids(data)
    assert set(ids) == set(TEXTS)
    for name, number in ids.items():
        buyer.open("property", id=number)
        assert (name, buyer.harm(), buyer.too_wide(), buyer.turned()) == (name, [], [], set())
        assert buyer.main.get_by_role("link", name="click").count() == 0
        if name in SHOWN:
            buyer.has(SHOWN[name])
        if name == "script":
            assert (buyer.title(), buyer.faults()) == ("Имот", [])
            _draw_prices(buyer)
            assert buyer.harm() == []


def _draw_prices(opened: Window) -> None:
    opened.page.get_by_role("tab", name="Обяви и цени").click()
    chart = "[data-testid=stVegaLiteChart]"
    opened.main.locator(f"{chart} canvas, {chart} svg").first.wait_for()


def test_texts_of_portals_do_nothing_in_tips_and_boxes(buyer: Window) -> None:
    """In the tip of a point of the map, and in boxes one chooses from."""
    buyer.open("search", view="map", price_min=SCRIPT_PRICE, price_max=SCRIPT_PRICE)
    canvas = buyer.main.locator("canvas").first
    canvas.wait_for()
    tip = buyer.page.locator(".deck-tooltip").first
    _point_at_the_middle(buyer, canvas, tip)
    assert "<script>alert('harm')</script>" in tip.inner_text()
    assert tip.locator("script, img, svg").count() == 0
    assert buyer.harm() == []
    buyer.open("market")
    buyer.main.get_by_role("combobox", name="Квартал").click()
    buyer.page.get_by_role("option").first.wait_for()
    assert (buyer.harm(), buyer.turned()) == ([], set())


def _point_at_the_middle(opened: Window, canvas: Locator, tip: Locator) -> None:
    """The only flat is in the middle of the map; its tip comes once the map is drawn and the mouse moves."""

    def shown() -> bool:
        box = canvas.bounding_box()
        assert box
        for away in (3, 0):
            opened.page.mouse.move(box["x"] + box["width"] / 2 + away, box["y"] + box["height"] / 2)
        return tip.is_visible()

    until(shown, "the tip of the point")


def test_two_windows_and_a_crawl_at_once(browser: Browser, dashboard: Served, data: Path) -> None:
    """Notes of both windows are written while adverts are; nothing is lost, locked or old after a reload."""
    chosen = next(iter(hostile_ids(data).values()))
    config = SimulatorConfig(sites=("imot.bg",), properties=PORTAL, seed=77, port=0)
    with (
        start_in_process(config) as portal,
        window(browser, dashboard.url) as one,
        window(browser, dashboard.url) as two,
    ):
        before = _stored(data)
        crawl = start(data, *crawl_arguments(portal, "imot.bg"), **UNHURRIED)
        written = _write_notes(crawl, (one, two), chosen)
        told, wrong = crawl.communicate()
        assert crawl.returncode == 0, told + wrong
        with store(data).read() as connection:
            kept = connection.scalars(select(property_notes.c.text).order_by(property_notes.c.id))
            assert list(kept) == written
        assert _stored(data) == before + PORTAL
        two.reload()
        _diary(two)
        for note in written:
            two.has(note)
        assert two.wrong() == []
        one.open("search")
        assert f"Намерени: {_found(data)} имота" in one.text()
        assert one.wrong() == []


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


def _found(data: Path) -> int:
    with store(data).read() as connection:
        return len(search(connection, SearchQuery(), now=time.time()).passed)


def _stored(data: Path) -> int:
    with store(data).read() as connection:
        return connection.execute(select(func.count()).select_from(listings)).scalar_one()
