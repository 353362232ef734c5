"""suprimmo.bg and luximmo.bg: captured pages, and what no capture shows."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.render import render_twin
from sale_sofia_simulator.world import make_world
from shared import SHARED
from tables import each_row

SITES = ("suprimmo.bg", "luximmo.bg")
PAGES = SHARED / "pages2"
needs_pages = pytest.mark.skipif(not PAGES.exists(), reason="the real pages (../shared/pages2) are not here")


@pytest.mark.slow
@needs_pages
def test_every_value_of_the_captured_pages() -> None:
    command: list[str | Path] = [
        sys.executable, SHARED / "tools" / "check_pages.py", f"{sys.prefix}/bin/sale-sofia",
        PAGES, PAGES / "truth.json", "--sites", ",".join(SITES), "--min", "1.0", "--max-wrong", "0",
    ]  # fmt: skip
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout[-3000:] + judged.stderr[-1000:]
    assert "real pages: 1.0000 right, 0.0000 wrong of 461 values; kinds 14/14" in judged.stdout


@needs_pages
def test_the_captured_pages_as_they_are_served() -> None:
    """They were saved as UTF-8; on the wire they are windows-1251 under a <meta> that says utf-8."""
    truth = json.loads((PAGES / "truth.json").read_text("utf-8"))
    own = {name: row for name, row in truth.items() if row["site"] in SITES}
    assert len(own) == 14
    for name, row in own.items():
        saved = (PAGES / name).read_bytes()
        served = saved.decode().encode("cp1251", "xmlcharrefreplace")
        scraper = get_scraper(row["site"])
        assert read_page(scraper, Page(row["url"], served)) == read_page(scraper, Page(row["url"], saved))


def rendered(site: str, kind: str = "listing") -> tuple[str, str]:
    """The address and the text of a simulated page."""
    pages = [page for page in render_twin(make_world(30, 5), site) if page.truth["kind"] == kind]
    chosen = next(page for page in pages if kind == "search" or page.truth["price_bgn"])
    return chosen.url, chosen.body.decode("cp1251")


def answer(site: str, url: str, text: str) -> dict[str, Any]:
    return read_page(get_scraper(site), Page(url, text.encode("cp1251", "xmlcharrefreplace")))


@pytest.mark.parametrize("site", SITES)
def test_a_quarter_that_is_not_known_is_no_neighbourhood(site: str) -> None:
    url, text = rendered(site)
    place = read_page(get_scraper(site), Page(url, text.encode("cp1251")))
    strange = text.replace(f"quart:'{place['neighbourhood']}'", "quart:'Никъде'")
    read = answer(site, url, strange)
    assert place["neighbourhood"]
    assert (read["city"], read["neighbourhood"], read["district"]) == ("София", None, None)


@pytest.mark.parametrize("site", SITES)
def test_a_quarter_of_another_town_is_as_printed(site: str) -> None:
    url, text = rendered(site)
    moved = text.replace("town:'София'", "town:'Варна'").replace('fb_city = "София"', 'fb_city = "Варна"')
    moved = moved.replace(">гр. София<", ">гр. Варна<")
    read = answer(site, url, moved)
    stated = answer(site, url, text)
    assert (read["city"], read["district"], read["neighbourhood"]) == ("Варна", None, stated["neighbourhood"])


@pytest.mark.parametrize("site", SITES)
def test_a_count_of_none_is_nothing_found(site: str) -> None:
    empty = list(render_twin(make_world(3, 5), site))[-1]
    read = read_page(get_scraper(site), Page(empty.url, empty.body))
    assert (read["kind"], read["cards"], read["total"]) == ("search", [], 0)
    other = empty.body.replace(b" 0 ", b" 5 ")
    assert other != empty.body
    assert read_page(get_scraper(site), Page(empty.url, other))["error"]["type"] == "layout_changed"


@each_row(
    ("site", "path", "kind"),
    [
        ("suprimmo.bg", "/imot-132801-poluobzaveden/", "listing"),
        ("suprimmo.bg", "/prodajba/bulgaria/oblast-sofiya/sofiya-imoti/po-tip-apartamenti/page/2/", "search"),
        ("suprimmo.bg", "/contacts.html", None),
        (
            "luximmo.bg",
            "/bulgaria/oblast-sofia/sofiya/a/luksozen-imot-45320-b-pod-naem-v-sofiya.html",
            "listing",
        ),
        ("luximmo.bg", "/naem/bulgaria/oblast-sofiya/sofiya-luksozni-imoti/index12.html", "search"),
        ("luximmo.bg", "/bulgaria/faq.html", None),
    ],
)
def test_kinds_of_addresses(site: str, path: str, kind: str | None) -> None:
    assert get_scraper(site).kind_of(f"https://www.{site}{path}") == kind
