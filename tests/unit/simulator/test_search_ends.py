"""What large portals show of a search, and how it ends: as public scrapers of the real ones report it."""

import json
import re
from functools import cache
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from large_portals import BASE_URL, advert_ids, answer_to, large_portal
from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.portal import AS_REAL, Answer, Portal, PortalOptions
from tables import each_row

SIZES = {"homes.bg": 11_000, "bazar.bg": 17_500, "imoti.net": 11_000, "imot.bg": 33_500}
ORIGINALS = 600
HOMES = "/api/offers?typeId=ApartmentSell&locationId=1"
BAZAR = "/obiavi/prodazhba-apartamenti/sofia"
NET = "/bg/obiavi/r/prodava/sofia/"
IMOT = "/obiavi/prodazhbi/grad-sofiya"
OLX = "/api/v1/offers/?category_id=381&region_id=306&city_id=8771"
OLX_PAGES = "/nedvizhimi-imoti/prodazhbi/apartamenti/oblast-sofiya-grad/"
COM = "/prodazhbi/grad-sofiya"


@cache
def large(site: str, options: PortalOptions = AS_REAL) -> Portal[Any]:
    return large_portal(site, SIZES.get(site, 3200), options, originals=ORIGINALS)


def ask(site: str, address: str, options: PortalOptions = AS_REAL) -> Answer:
    return answer_to(large(site, options), BASE_URL + address)


def read(site: str, address: str, options: PortalOptions = AS_REAL) -> dict[str, Any]:
    answer = ask(site, address, options)
    assert answer.status == 200
    return read_page(get_scraper(site), Page(BASE_URL + address, answer.body))


def ids(site: str, address: str, options: PortalOptions = AS_REAL) -> list[str]:
    return [card["external_id"] for card in read(site, address, options)["cards"]]


def offers(window: str, options: PortalOptions = AS_REAL) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ask("homes.bg", f"{HOMES}&{window}", options).body)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("site", SIZES)
def test_a_large_portal_has_so_many_adverts_all_found_by_its_first_search(site: str) -> None:
    portal = large(site)
    assert len(advert_ids(portal)) == SIZES[site]
    start = urlsplit(portal.start_urls()[0])
    found = portal.search(start.path, parse_qs(start.query))
    assert found
    assert sorted(portal.matches(found)) == list(range(SIZES[site]))


@pytest.mark.slow
@each_row("site", ["homes.bg", "imoti.net", "imoti.com", "olx.bg", "alo.bg"])
def test_a_copy_is_an_advert_of_its_own(site: str) -> None:
    portal = large(site)
    for number in (ORIGINALS, 5 * ORIGINALS + 100):
        truth = next(islice(portal.truths(), number, None))
        original = portal.truth(portal.stock.originals[number % ORIGINALS])
        assert (truth["external_id"] != original["external_id"], truth["price_eur"]) == (
            True,
            original["price_eur"],
        )
        answer = read_page(get_scraper(site), Page(truth["url"], answer_to(portal, truth["url"]).body))
        assert {key: answer.get(key) for key in truth} == truth


def test_homes_gives_a_hundred_at_once_and_a_thousand_of_a_search() -> None:
    assert len(offers("startIndex=0&stopIndex=19")["result"]) == 20
    assert len(offers("startIndex=0&stopIndex=499")["result"]) == 100
    last = offers("startIndex=950&stopIndex=1049")
    assert (len(last["result"]), last["hasMoreItems"], last["offersCount"]) == (50, False, 11_000)
    behind = offers("startIndex=1000&stopIndex=1099")
    assert (behind["result"], behind["hasMoreItems"], behind["offersCount"]) == ([], False, 11_000)
    assert offers("startIndex=900&stopIndex=979")["hasMoreItems"] is True


def test_homes_pages_of_twenty_make_a_thousand_different_adverts() -> None:
    pages = [offers(f"startIndex={first}&stopIndex={first + 19}") for first in range(0, 1020, 20)]
    assert [page["hasMoreItems"] for page in pages] == [True] * 49 + [False, False]
    assert len({card["id"] for page in pages for card in page["result"]}) == 1000


def test_another_cap_is_an_option() -> None:
    last = offers("startIndex=20&stopIndex=39", PortalOptions(most_results=30))
    assert (len(last["result"]), last["hasMoreItems"], last["offersCount"]) == (10, False, 11_000)


def test_bazar_repeats_its_twenty_sixth_page_for_ever_and_links_on() -> None:
    last = ask("bazar.bg", f"{BAZAR}?page=26")
    for page in (27, 30, 50, 120):
        assert ask("bazar.bg", f"{BAZAR}?page={page}").body == last.body
    assert ask("bazar.bg", f"{BAZAR}?page=25").body != last.body
    told = read("bazar.bg", f"{BAZAR}?page=50")
    assert (told["total"], told["next_url"]) == (17_500, f"{BASE_URL}{BAZAR}?page=27")
    assert re.search(r'"AggregateOffer".*"offerCount": 17500', last.body.decode())


@pytest.mark.slow
def test_bazar_shows_1768_adverts_of_a_search() -> None:
    found = {number for page in range(1, 40) for number in ids("bazar.bg", f"{BAZAR}?page={page}")}
    assert len(found) == 26 * 68 == 1768


def test_a_short_bazar_search_ends_without_a_link_and_is_repeated_too() -> None:
    address = f"{BAZAR}?district_id[]=413"
    total = read("bazar.bg", address)["total"]
    last = -(-total // 68)
    assert 1 <= last < 26
    page = ask("bazar.bg", f"{address}&page={last}")
    assert read("bazar.bg", f"{address}&page={last}")["next_url"] is None
    assert ask("bazar.bg", f"{address}&page={last + 5}").body == page.body


def test_imoti_net_counts_to_999_and_names_every_page() -> None:
    text = ask("imoti.net", NET).body.decode()
    assert '<span id="number-of-estates">/999+ имота/</span>' in text
    assert f'<a class="last-page " href="{BASE_URL}{NET}?page=367">367</a>' in text
    assert f'<a href="{BASE_URL}{NET}?page=2" title="Следваща" class="next-page-btn"></a></nav>' in text


def test_imoti_net_lets_nobody_in_at_page_200_whatever_the_search() -> None:
    assert len(ids("imoti.net", f"{NET}?page=199")) == 30
    for address in (NET, f"{NET}mezonet/", "/bg/obiavi/r/dava-pod-naem/sofia/"):
        assert [ask("imoti.net", f"{address}?page={page}").status for page in (200, 201, 363)] == [403] * 3
    assert f"{NET}?page=200" in ask("imoti.net", f"{NET}?page=199").body.decode()


def test_imoti_net_says_the_number_of_fewer_than_a_thousand_and_its_last_page_leads_nowhere() -> None:
    told = read("imoti.net", f"{NET}mnogostaen/")
    last = -(-told["total"] // 30)
    assert 100 < told["total"] < 1000
    end = read("imoti.net", f"{NET}mnogostaen/?page={last}")
    assert (end["next_url"], len(end["cards"])) == (None, told["total"] - 30 * (last - 1))


@pytest.mark.parametrize(("adverts", "count"), [(999, "999"), (1000, "999+")])
def test_imoti_net_stops_counting_before_a_thousand(adverts: int, count: str) -> None:
    portal = large_portal("imoti.net", adverts, originals=1500)
    assert f">/{count} имота/<" in answer_to(portal, BASE_URL + NET).body.decode()


def test_imot_shows_a_thousand_and_says_that_there_are_more() -> None:
    told = read("imot.bg", f"{IMOT}/p-25")
    assert (told["total"], told["capped"], told["next_url"], len(told["cards"])) == (1000, True, None, 40)


@pytest.mark.slow
@pytest.mark.parametrize("slug", ["m-t-batareyata", "m-t-yubileyna-gora", "m-t-yaladzha"])
def test_imot_does_not_have_three_neighbourhoods_of_the_list(slug: str) -> None:
    for address in (f"{IMOT}/{slug}", f"{IMOT}/{slug}/dvustaen", f"{IMOT}/{slug}/dvustaen/p-2"):
        assert ask("imot.bg", address).status == 404
        moved = ask("imot.bg", address, PortalOptions(parts_redirect=True))
        assert (moved.status, moved.location) == (302, BASE_URL + IMOT)
    assert ask("imot.bg", "/obiavi/nothing/grad-sofiya", PortalOptions(parts_redirect=True)).status == 404


def test_imoti_com_shows_two_thousand_in_a_hundred_pages() -> None:
    last = read("imoti.com", f"{COM}/page-100")
    assert (last["total"], len(last["cards"]), last["next_url"]) == (3200, 20, None)
    assert read("imoti.com", f"{COM}/page-99")["next_url"] == f"{BASE_URL}{COM}/page-100"
    assert (
        '"adverts": [], "page": "101", "advfind": 3200' in ask("imoti.com", f"{COM}/page-101").body.decode()
    )
    assert '"advmaximum": 2000' in ask("imoti.com", COM).body.decode()


def test_olx_interface_ends_at_a_thousand_and_tells_the_whole_number() -> None:
    last = json.loads(ask("olx.bg", f"{OLX}&offset=960&limit=40").body)
    assert (len(last["data"]), "next" in last["links"]) == (40, False)
    assert last["metadata"]["visible_total_count"] == 3200
    behind = json.loads(ask("olx.bg", f"{OLX}&offset=1000&limit=40").body)
    assert (behind["data"], "next" in behind["links"]) == ([], False)
    before = json.loads(ask("olx.bg", f"{OLX}&offset=920&limit=40").body)
    assert "offset=960&limit=40&category_id=381" in before["links"]["next"]["href"]


@pytest.mark.slow
def test_olx_pages_are_twenty_five_and_past_the_end_one_advert_is_left() -> None:
    first = ask("olx.bg", OLX_PAGES)
    assert (first.status, first.content_type) == (200, "text/html; charset=utf-8")
    told = read("olx.bg", OLX_PAGES)
    assert (told["total"], len(told["cards"])) == (1000, 40)
    assert told["next_url"] == f"{BASE_URL}{OLX_PAGES}?page=2"
    assert read("olx.bg", f"{OLX_PAGES}?page=25")["next_url"] is None
    assert len(ids("olx.bg", f"{OLX_PAGES}?page=26")) == 1
    seen = {number for page in range(1, 26) for number in ids("olx.bg", f"{OLX_PAGES}?page={page}")}
    assert len(seen) == 1000


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"most_results": 0}, "most_results is at least 1"),
        ({"sitemap_rows": 0}, "a shard has at least one row, and some of its own"),
        ({"sitemap_overlap": 1.0}, "a shard has at least one row, and some of its own"),
    ],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        PortalOptions(**wrong)
