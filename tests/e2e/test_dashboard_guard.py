"""What a portal can write into the dashboard; two windows beside a crawl."""

import json
import subprocess
import time
from pathlib import Path

from playwright.sync_api import Browser
from sqlalchemy import func, select

from app_runs import store
from browser_pages import Window, window
from crawls import crawl_arguments, start
from dashboards import Served
from forked_simulators import start_forked
from hostile_adverts import MARKDOWN, SCRIPT, SCRIPT_PRICE, TEXTS, hostile_ids
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.search.run import search
from sale_sofia.buyer.tables import property_notes
from sale_sofia.history.tables import listings
from sale_sofia_simulator.simulation import SimulatorConfig

SHOWN = {"script": SCRIPT[:30], "markdown": MARKDOWN[:30]}
"""What is to be read of a text, letter by letter."""
MOST_NOTES = 6
PORTAL = 12
"""Adverts of the portal that is crawled beside the windows, …"""
UNHURRIED = {"DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 240})}
"""… for as long as some notes are written."""


def test_texts_of_portals_are_shown_and_do_nothing(buyer: Window, data: Path) -> None:
    """On its page, on a card, and in the sheet of the map."""
    ids = hostile_ids(data)
    assert set(ids) == set(TEXTS)
    for name, number in ids.items():
        buyer.open(f"flat/{number}")
        assert (name, buyer.harm(), buyer.too_wide(), buyer.turned()) == (name, [], [], set())
        assert buyer.main.get_by_role("link", name="click").count() == 0
        if name in SHOWN:
            buyer.has(SHOWN[name])
        if name == "script":
            assert buyer.faults() == []
    buyer.open("search", price_min=SCRIPT_PRICE, price_max=SCRIPT_PRICE)
    assert "<script>alert('harm')</script>" in buyer.text()
    assert (buyer.harm(), buyer.turned()) == ([], set())


def test_two_windows_and_a_crawl_at_once(browser: Browser, dashboard: Served, data: Path) -> None:
    """Notes of both windows are written while adverts are; nothing is lost, locked or old after a reload."""
    chosen = next(iter(hostile_ids(data).values()))
    config = SimulatorConfig(sites=("imot.bg",), properties=PORTAL, seed=77, port=0)
    with (
        start_forked(config) as portal,
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
        opened.open(f"flat/{property_id}")
    while len(written) < 2 * len(windows) or (crawl.poll() is None and len(written) < MOST_NOTES):
        note = f"Бележка {len(written) + 1}"
        opened = windows[len(written) % 2]
        opened.main.get_by_label("Нова бележка").fill(note)
        opened.press("Добави бележка")
        opened.has(note)
        written.append(note)
    return written


def _found(data: Path) -> int:
    return search(store(data), SearchQuery(), now=time.time()).total


def _stored(data: Path) -> int:
    with store(data).read() as connection:
        return connection.execute(select(func.count()).select_from(listings)).scalar_one()
