"""Portals on the command line: how often each is asked, and one page asked for as a crawl would ask."""

import asyncio
from dataclasses import dataclass, field

import pytest

from sale_sofia.cli import sites
from sale_sofia.crawl.fetch.base import Request, Response
from sale_sofia.listings.page import Page
from sale_sofia.settings.model import Settings
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.registry import get_scraper, page_limits
from sale_sofia.websites.site_file import ProxyTable
from tables import each_row

HOST = "https://www.imot.bg"
URL = f"{HOST}/obiava-1b177634821891002"
SECRET = f"{HOST}/tainik"
ROBOTS = b"User-agent: *\nDisallow: /tainik\n"
CHALLENGE = "<html><head><title>Just a moment...</title></head><body>Имот</body></html>".encode()


@dataclass
class Portal:
    """Answers of a portal by address: status, headers and body."""

    answers: dict[str, tuple[int, dict[str, str], bytes]]
    asked: list[str] = field(default_factory=list)

    async def fetch(self, request: Request) -> Response:
        self.asked.append(request.url)
        return Response(request.url, *self.answers[request.url], 0.0)

    async def close(self) -> None:
        pass


def look(monkeypatch: pytest.MonkeyPatch, portal: Portal, site: TableSite | None = None) -> Page:
    settings = Settings(domain_rate_limits={"default": 10.0, "imot.bg": 6000.0})
    monkeypatch.setattr(sites, "get_settings", lambda: settings)
    monkeypatch.setattr(sites, "make_fetcher", lambda _: portal)
    return asyncio.run(sites._fetch_page(site or get_scraper("imot.bg"), URL))  # noqa: SLF001


@each_row(
    ("status", "body", "sentence"),
    [
        (404, b"<html>404</html>", "removed: HTTP 404"),
        (403, CHALLENGE, "blocked: HTTP 403"),
        (200, CHALLENGE, "blocked: HTTP 200"),
    ],
)
def test_an_answer_that_is_not_the_page_is_called_what_it_is(
    monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, sentence: str
) -> None:
    portal = Portal({f"{HOST}/robots.txt": (200, {}, ROBOTS), URL: (status, {}, body)})
    with pytest.raises(ValueError, match=rf"^{URL}: {sentence}"):
        look(monkeypatch, portal)


def test_a_redirect_to_what_robots_txt_forbids_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = (302, {"location": SECRET}, b"")
    portal = Portal(
        {f"{HOST}/robots.txt": (200, {}, ROBOTS), URL: moved, SECRET: (200, {}, b"<html></html>")}
    )
    with pytest.raises(ValueError, match=rf"redirected to {SECRET}, which robots.txt forbids"):
        look(monkeypatch, portal)
    assert portal.asked == [f"{HOST}/robots.txt", URL]


def test_a_crawl_delay_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    robots = b"User-agent: *\nCrawl-delay: 86400\n"
    portal = Portal({f"{HOST}/robots.txt": (200, {}, robots), URL: (200, {}, CHALLENGE)})
    with pytest.raises(ValueError, match=r"not asked, the portal is to be left alone"):
        look(monkeypatch, portal)
    assert portal.asked == [f"{HOST}/robots.txt"]


def test_a_portal_that_is_asked_through_proxies_is_not_asked_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = get_scraper("imot.bg").config.model_copy(update={"proxies": ProxyTable(use=True)})
    portal = Portal({})
    with pytest.raises(ValueError, match=r"^imot\.bg is asked through proxies alone"):
        look(monkeypatch, portal, TableSite(config, page_limits()))
    assert portal.asked == []


def test_the_list_says_how_often_a_crawl_asks() -> None:
    settings = Settings(domain_rate_limits={"default": 10.0, "imot.bg": 5.0})
    paces = {row["site"]: row["delay_seconds"] for row in sites._site_rows(settings)}  # noqa: SLF001
    assert (paces["imot.bg"], paces["bazar.bg"], paces["olx.bg"]) == (12.0, 3.0, 6.5)
