"""Too little memory for all flats: each page says so in the reader's language, and the server lives on."""

import re
import resource
import sqlite3
from pathlib import Path

from playwright.sync_api import Browser

from app_runs import put_adverts
from browser_pages import Window, window
from dashboards import running_dashboard
from hostile_adverts import HOME

ADVERTS = 400
TITLE = "Brick " * 8_750 + "\N{HOUSE BUILDING}"
"""So long that all of them need 80 MB: by its last letter each of them takes four bytes, and on disk one."""
ROOM = 60_000_000
"""Bytes that the server may still have: enough for its pages, too little for the flats."""
SENTENCES = {"bg": "Паметта не стига за тази страница.", "en": "There is too little memory for this page."}


def test_a_page_says_that_memory_lacks_and_shows_the_flats_when_there_is_enough(
    browser: Browser, tmp_path: Path
) -> None:
    with running_dashboard(tmp_path) as dashboard, window(browser, dashboard.url) as opened:
        opened.open("today")
        opened.has("Още няма нито една обява.")
        _fill(tmp_path)
        most = _size(dashboard.pid) + ROOM
        resource.prlimit(dashboard.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        for name, (language, sentence) in zip(("today", "search"), SENTENCES.items(), strict=True):
            opened.page.goto(f"{dashboard.url}/{name}?lang={language}")
            opened.has(sentence)
        resource.prlimit(dashboard.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        opened.open("search", lang="bg")
        assert _count(opened) == ADVERTS
        assert (opened.wrong(), opened.errors) == ([], [])


def _size(process: int) -> int:
    """Bytes of its memory, as the limit counts them."""
    pages = Path(f"/proc/{process}/statm").read_text("ascii").split()[0]
    return int(pages) * resource.getpagesize()


def _count(opened: Window) -> int:
    found = re.search(r"Намерени: ([\d ]+) имота", opened.text())
    return int(found[1].replace(" ", "")) if found else 0


def _fill(data: Path) -> None:
    """Copies of one advert."""
    put_adverts(data, HOME)
    with sqlite3.connect(data / "sale_sofia.db") as database:
        names = [row[1] for row in database.execute("PRAGMA table_info(listings)")]
        (row,) = database.execute("SELECT * FROM listings").fetchall()
        first = dict(zip(names, row, strict=True))
        marks = ", ".join("?" * len(names))
        database.executemany(
            f"INSERT OR REPLACE INTO listings VALUES ({marks})",  # noqa: S608 - question marks
            ([*(first | _own(number)).values()] for number in range(1, ADVERTS + 1)),
        )


def _own(number: int) -> dict[str, object]:
    own = {"id": number, "external_id": f"1b{number}", "url": f"https://www.imot.bg/obiava-1b{number}"}
    return {**own, "title": TITLE}
