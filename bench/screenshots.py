"""Pictures of the dashboard on the demo's world for docs/images: every page, wide and on a telephone.

`make screenshots` runs it in the environment of the tests. It crawls the demo (about a minute), starts the
dashboard and writes the pictures; look at each of them before you keep it. Given the folder of a demo that is
there, it takes that one.
"""

import io
import sys
import tempfile
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from PIL import Image
from sqlalchemy import func, select

from app_runs import store
from browser_pages import PAGES, Window, chromium, window
from crawls import run
from dashboards import commanded_dashboard
from demo_worlds import copied
from sale_sofia.advice.tables import scores
from sale_sofia.flats.tables import listing_sources

IMAGES = Path(__file__).parents[1] / "docs" / "images"
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
WIDTHS = {"wide": 1280, "phone": 390}
TALLEST = {"wide": 1400, "phone": 2200}
"""Pixels: what lies further down is cut, so that a picture can be looked at."""
LEAST = 800
ALERTS = """channels:
  mail: json://127.0.0.1:9/nowhere
quiet_hours: {from: "22:30", to: "08:00"}
buyer:
  - name: Моят апартамент
    profile: default
    channels: [mail]
operator:
  - name: Събиране
    incidents: [collapse, drift]
    channels: [mail]
"""
"""Rules to look at; nothing is sent."""
COLOURS = 128
"""Of a picture: enough for pages of few colours, and a fifth of the bytes."""
CHOSEN = 3
"""Flats that are starred, so that the page of one's own is not empty."""
DRAWN_MS = 1500
"""Charts and maps are drawn after the page says it is done."""


def main() -> None:
    """Crawl, show, and write the pictures; with a folder, on a copy of the demo that is there."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as folder:
        data = Path(folder) / "demo"
        if sys.argv[1:]:
            copied(Path(sys.argv[1]), data)
        elif (told := run(data.parent, "demo")).returncode:
            sys.exit(told.stderr)
        (data / "alerts.yaml").write_text(ALERTS, "utf-8")
        _pictures(data)


def _pictures(data: Path) -> None:
    with commanded_dashboard(data) as dashboard, chromium() as browser:
        flats = _twins(data)
        with window(browser, dashboard.url) as opened:
            opened.open("search")
            for place in range(CHOSEN):
                opened.main.locator(".keep").nth(place).click()
                opened.settle()
        for name, width in WIDTHS.items():
            with window(browser, dashboard.url, width) as opened:
                for page in (*PAGES, "flat"):
                    for theme in THEMES:
                        opened.page.emulate_media(color_scheme=theme)
                        _picture(opened, page, flats, name, theme)


def _twins(data: Path) -> list[int]:
    """Flats with adverts on both portals, the best for the buyer first."""
    several = (
        select(listing_sources.c.property_id)
        .join(scores, scores.c.property_id == listing_sources.c.property_id)
        .where(scores.c.verdict == "pass")
        .group_by(listing_sources.c.property_id, scores.c.points)
        .having(func.count() > 1)
        .order_by(scores.c.points.desc())
    )
    with store(data).read() as connection:
        return list(connection.scalars(several.limit(3)))


def _picture(opened: Window, page: str, flats: list[int], width: str, theme: Theme) -> None:
    two = ",".join(map(str, flats[:2]))
    asked: dict[str, dict[str, object]] = {"compare": {"ids": two}}
    opened.page.set_viewport_size({"width": WIDTHS[width], "height": LEAST})
    opened.open(f"flat/{flats[0]}" if page == "flat" else page, **asked.get(page, {}))
    opened.page.wait_for_timeout(DRAWN_MS)
    tall = int(opened.page.evaluate("document.documentElement.scrollHeight"))
    opened.page.set_viewport_size({"width": WIDTHS[width], "height": min(tall, TALLEST[width])})
    opened.settle()
    opened.page.wait_for_timeout(DRAWN_MS)
    drawn = Image.open(io.BytesIO(opened.page.screenshot())).convert("RGB").quantize(COLOURS)
    drawn.save(IMAGES / f"{page}-{width}{'-dark' if theme == 'dark' else ''}.png", optimize=True)
    print(f"{page} {width}: {opened.wrong() or 'drawn'}", flush=True)


if __name__ == "__main__":
    main()
