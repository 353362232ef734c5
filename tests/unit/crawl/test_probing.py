"""What a probe means: the verdict of what was seen, and what of it may be shown or kept."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from large_portals import BASE_URL, answer_to, large_portal
from sale_sofia.cli.sites import sample
from sale_sofia.crawl import probe
from sale_sofia.crawl.fetch.base import Request, Response
from sale_sofia.crawl.probe import Look, Probe, ProbedAdvert, values_of, without_phones
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.websites.base import SearchCard, SearchPage
from sale_sofia_simulator.portal import Portal, PortalOptions
from tables import each_row

SITE, URL = "imot.bg", "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya"
ANSWER = Response(URL, 200, {}, b"", 0.1)
WHOLE = {"price_eur": 100_000.0, "area_sqm": 60.0, "city": "София", "property_type": "apartment"}


def results(*ids: str, total: int | None, following: bool = True) -> Look:
    cards = tuple(SearchCard(one, f"{URL}/{one}") for one in ids)
    page = SearchPage(SITE, URL, cards, f"{URL}/p-2" if following else None, total, False, not cards)  # noqa: FBT003
    return Look("results", URL, "search", answer=ANSWER, search=page)


def advert(*, on_request: bool = False, without: str = "", **more: object) -> Look:
    facts = {name: value for name, value in {**WHOLE, **more}.items() if name != without}
    listing = Listing.model_validate({"site": SITE, "url": URL, "external_id": "1", **facts})
    return Look("advert", URL, "listing", answer=ANSWER, advert=ProbedAdvert(listing, on_request))


def seen(first: Look, second: Look | None, *adverts: Look) -> Probe:
    return Probe(site=SITE, seconds_per_request=3.0, results=first, next_page=second, adverts=adverts)


FIRST, SECOND = results("1", "2", total=4), results("3", "4", total=4, following=False)


@each_row(
    ("adverts", "sentence"),
    [
        ([advert(), advert(), advert()], "reads well"),
        ([advert(), advert(), advert(without="price_eur")], "reads well"),
        ([advert(), advert(without="area_sqm"), advert(without="area_sqm")], "reads in part (area 1 of 3)"),
        ([advert(without="city"), advert(without="city"), advert()], "reads in part (place 1 of 3)"),
        ([advert(without="city", neighbourhood="Бояна")] * 3, "reads well"),
        ([advert(without="property_type")] * 3, "reads in part (type 0 of 3)"),
        ([advert(without="price_eur")] * 3, "reads in part (price 0 of 3)"),
        ([advert(without="price_eur", on_request=True)] * 3, "reads well"),
        ([advert(), advert(without="price_eur")], "reads in part (price 1 of 2)"),
        (
            [advert(), advert(), Look("advert 3", URL, "layout changed", "no price box")],
            "reads in part (1 of 3 adverts not read: no price box)",
        ),
        ([advert(), advert(), Look("advert 3", URL, "removed")], "reads well"),
        (
            [Look("advert", URL, "timeout", "no answer")] * 3,
            "does not read (no advert could be read: no answer)",
        ),
        ([], "does not read (no advert could be read: the results lead to none)"),
    ],
)
def test_two_of_three_adverts_must_have_what_matters(adverts: list[Look], sentence: str) -> None:
    assert seen(FIRST, SECOND, *adverts).sentence == sentence


@each_row(
    ("first", "second", "sentence"),
    [
        (results("1", "2", total=2, following=False), None, "reads well"),
        (
            results("1", "2", total=90, following=False),
            None,
            "reads in part (no next page, though 90 adverts are announced and 2 shown)",
        ),
        (
            results("1", "2", total=None, following=False),
            None,
            "reads in part (no next page and no announced total: nothing says whether there is more)",
        ),
        (results("1", "2", total=None), SECOND, "reads well"),
        (FIRST, results("2", "1", total=4), "reads in part (the next page repeats the first)"),
        (FIRST, results("2", "3", total=4), "reads well"),
        (
            FIRST,
            Look("next page", URL, "blocked", "blocked: HTTP 403"),
            "reads in part (next page: blocked: HTTP 403)",
        ),
    ],
)
def test_paging_must_lead_on(first: Look, second: Look | None, sentence: str) -> None:
    assert seen(first, second, advert(), advert(), advert()).sentence == sentence


@dataclass
class Copy:
    """A copy of a portal, which answers without a network."""

    portal: Portal[Any]
    robots: bytes = b""

    async def fetch(self, request: Request) -> Response:
        if request.url.endswith("/robots.txt"):
            return Response(request.url, 200, {}, self.robots, 0.0)
        answer = answer_to(self.portal, request.url)
        return Response(request.url, answer.status, {"content-type": answer.content_type}, answer.body, 0.0)

    async def close(self) -> None:
        pass


def test_an_index_of_sitemaps_is_followed_to_adverts(monkeypatch: pytest.MonkeyPatch) -> None:
    portal = large_portal("imoti.net", 30, PortalOptions(sitemap_rows=10), originals=30)
    monkeypatch.setattr(probe, "make_fetcher", lambda _: Copy(portal))
    settings = Settings(domain_rate_limits={"default": 10.0, "imoti.net": 60_000.0})
    start = f"{BASE_URL}/sitemap/sitemapindex.xml"
    [told] = probe.probe_sites(settings, ["imoti.net"], (start,), lambda *_: None)
    assert (told.sentence, told.requests, len(told.read)) == ("reads well", 6, 3)
    assert told.results is not None
    assert (told.results.url, told.start_url) == (f"{BASE_URL}/sitemap/sitemap3.xml", start)


def test_a_delay_of_a_day_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_sleep(seconds: float) -> None:
        assert seconds < 1

    portal = Copy(large_portal("imoti.net", 30, originals=30), b"User-agent: *\nCrawl-delay: 86400\n")
    monkeypatch.setattr(probe, "make_fetcher", lambda _: portal)
    monkeypatch.setattr(asyncio, "sleep", no_sleep)
    start = (f"{BASE_URL}/bg/obiavi/r/prodava/sofia/",)
    [told] = probe.probe_sites(Settings(), ["imoti.net"], start, lambda *_: None)
    refusal = "not asked: its Crawl-delay is 86400 s, a probe waits 120 s at most"
    assert (told.sentence, told.requests, told.crawl_delay) == (f"does not read ({refusal})", 1, 86_400.0)


@each_row(
    ("name", "value", "shown"),
    [
        ("phones", ("+359888123456",), "1 number"),
        ("phones", ("+359888123456", "+35921234567"), "2 numbers"),
        ("seller_name", "Иван Иванов", "a name"),
        ("title", "Продава, тел. 0888 123 456", "Продава, тел. [number]"),
        ("description", "тел. 0888123456", "15 characters"),
        ("price_eur", 126_600.0, "126600 EUR"),
        ("family_id", "1b177642241061849", "1b177642241061849"),
        ("features", ("Тухла", "Асансьор"), "Тухла, Асансьор"),
    ],
)
def test_a_sample_shows_nobodys_number(name: str, value: object, shown: str) -> None:
    assert sample(name, value) == shown


@each_row("number", ["0888123456", "+359 888 12 34 56", "02/987-65-43", "(02) 987 6543", "0888.123.456"])
def test_numbers_are_found_however_they_are_written(number: str) -> None:
    assert "3" not in without_phones(f"тел. {number}, Иван").replace("[number]", "")


@pytest.mark.parametrize("text", ["126 600 €", "3-стаен, 85.50 кв.м, ет. 3 от 8", "ул. Шипка 108, 2023 г."])
def test_other_numbers_stay(text: str) -> None:
    assert without_phones(text) == text


def test_what_is_kept_of_an_advert_holds_no_phone_and_no_name() -> None:
    look = advert(
        phones=("+359888123456",), seller_name="Иван", title="Обади се 0888123456",
        description="Светъл апартамент. Тел. 0888123456", street="ул. Шипка",
    )  # fmt: skip
    values = values_of(SITE, look) or {}
    assert {"phones", "seller_name", "title", "description"} & values.keys() == set()
    assert values["description_start"] == "Светъл апартамент. Тел."
    assert (values["street"], values["price_eur"], values["external_id"]) == ("ул. Шипка", 100_000.0, "1")
