"""Filters of the portals' searches: what they find, what they announce, and what links keep of them."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import unquote

import pytest

from large_portals import BASE_URL, answer_to, large_portal
from sale_sofia.listings.page import Page
from sale_sofia.listings.places import neighbourhoods
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.model import Advert
from sale_sofia_simulator.portal import AS_REAL, Answer, Portal, PortalOptions

ADVERTS = 2400
HOMES = "/api/offers?typeId=ApartmentSell&locationId=1&startIndex=0&stopIndex=99"
BAZAR = "/obiavi/prodazhba-apartamenti/sofia"
NET = "/bg/obiavi/r/prodava/sofia/"
IMOT = "/obiavi/prodazhbi/grad-sofiya"
OLX = "/api/v1/offers/?category_id=381&offset=0&limit=40"
COM = "/prodazhbi/grad-sofiya"
NO_CAP = 1_000_000


@cache
def large(site: str, options: PortalOptions = AS_REAL) -> Portal[Any]:
    return large_portal(site, ADVERTS, options, originals=800, flats=False)


def ask(site: str, address: str, options: PortalOptions = AS_REAL) -> Answer:
    return answer_to(large(site, options), BASE_URL + address)


def read(site: str, address: str, options: PortalOptions = AS_REAL) -> dict[str, Any]:
    return read_page(get_scraper(site), Page(BASE_URL + address, ask(site, address, options).body))


def all_ids(site: str, address: str) -> list[str]:
    """What the search gives when one follows its links."""
    url: str | None = BASE_URL + address
    found: list[str] = []
    while url:
        told = read_page(get_scraper(site), Page(url, answer_to(large(site), url).body))
        found += [card["external_id"] for card in told["cards"]]
        url = told["next_url"]
    return found


def expected(site: str, wanted: Callable[[Advert], bool]) -> list[str]:
    stock = large(site).stock
    adverts = [stock.advert(number) for number in range(len(stock))]
    return sorted(advert.external_id for advert in adverts if wanted(advert))


def in_hoods(*names: str) -> Callable[[Advert], bool]:
    return lambda advert: advert.home.place.neighbourhood in names


def of_kinds(*slugs: str) -> Callable[[Advert], bool]:
    return lambda advert: advert.home.kind.slug in slugs


def test_homes_neighbourhoods_are_told_by_number() -> None:
    answer = ask("homes.bg", "/api/neighbourhoods?locationId=1&agencyId=&typeId=ApartmentSell")
    pairs = json.loads(answer.body)
    assert (answer.status, answer.content_type, len(pairs)) == (200, "application/json", 193)
    assert len({number for number, _ in pairs}) == 193
    assert {(487, "Оборище"), (526, "Хиподрума"), (437, "Медицинска академия")} <= {
        tuple(pair) for pair in pairs
    }


def test_homes_finds_any_of_the_neighbourhoods_and_names_them() -> None:
    pairs = json.loads(ask("homes.bg", "/api/neighbourhoods").body)
    number = next(number for number, name in pairs if name == "Център")
    told = json.loads(ask("homes.bg", f"{HOMES}&neighbourhoods[]=487&neighbourhoods[]={number}").body)
    wanted = expected("homes.bg", in_hoods("Оборище", "Център"))
    assert told["offersCount"] == len(wanted)
    assert sorted(told["searchCriteria"]["neighbourhoods"]) == ["Оборище", "Център"]
    assert {card["type"] + card["id"] for card in told["result"]} <= set(wanted)
    one = json.loads(ask("homes.bg", f"{HOMES}&neighbourhoods[]={number}").body)
    assert one["offersCount"] == len(expected("homes.bg", in_hoods("Център")))
    assert 0 < one["offersCount"] < ADVERTS
    assert json.loads(ask("homes.bg", f"{HOMES}&neighbourhoods[]=999999").body)["offersCount"] == 0


def test_filters_may_be_without_effect_and_totals_may_ignore_them() -> None:
    address = f"{HOMES}&neighbourhoods[]=487"
    assert (
        json.loads(ask("homes.bg", address, PortalOptions(filters_ignored=True)).body)["offersCount"]
        == ADVERTS
    )
    address = f"{BAZAR}?district_id[]=413"
    few = len(expected("bazar.bg", in_hoods("Младост 4")))
    assert few > 0
    assert read("bazar.bg", address)["total"] == few
    assert read("bazar.bg", address, PortalOptions(filters_ignored=True))["total"] == ADVERTS
    told = read("bazar.bg", address, PortalOptions(total_follows_filter=False))
    assert (told["total"], len(told["cards"])) == (ADVERTS, min(few, 68))


def test_bazar_names_its_districts_and_finds_any_of_them() -> None:
    text = ask("bazar.bg", BAZAR).body.decode()
    box = (
        '<span class="item-name">Банишора</span>\n'
        '    <input type="checkbox" name="district_id[]"  value="345" >\n'
    )
    assert box in text
    assert text.count('name="district_id[]"') == 193
    address = f"{BAZAR}?district_id[]=354&district_id[]=460"
    assert sorted(all_ids("bazar.bg", address)) == expected("bazar.bg", in_hoods("Витоша", "Център"))
    assert read("bazar.bg", address)["next_url"] == f"{BASE_URL}{address}&page=2"
    assert read("bazar.bg", f"{BAZAR}?district_id[]=1")["total"] == 0


def test_bazar_filters_by_the_size_of_a_flat_too() -> None:
    address = f"{BAZAR}?district_id[]=460&asize[]=2&asize[]=3"
    wanted = expected(
        "bazar.bg", lambda one: in_hoods("Център")(one) and of_kinds("dvustaen", "tristaen")(one)
    )
    assert sorted(all_ids("bazar.bg", address)) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "kinds"),
    [("dvustaen", ("dvustaen",)), ("magazin", ("magazin",)), ("sklad", ("sklad", "promishleno-pomeshtenie"))],
)
def test_imoti_net_finds_a_type_named_in_the_path(word: str, kinds: tuple[str, ...]) -> None:
    wanted = expected("imoti.net", of_kinds(*kinds))
    assert wanted
    assert sorted(all_ids("imoti.net", f"{NET}{word}/")) == wanted
    assert ask("imoti.net", f"{NET}dvorets/").status == 404


@pytest.mark.slow
def test_imot_adds_types_to_the_type_of_the_path() -> None:
    address = f"{IMOT}/ednostaen?type_home=5~6~"
    wanted = expected("imot.bg", of_kinds("ednostaen", "mnogostaen", "mezonet"))
    assert sorted(all_ids("imot.bg", address)) == wanted
    assert read("imot.bg", address)["next_url"] == f"{BASE_URL}{IMOT}/ednostaen/p-2?type_home=5~6~"
    address = f"{IMOT}/tsentar/dvustaen?type_home=3~"
    wanted = expected(
        "imot.bg", lambda one: in_hoods("Център")(one) and of_kinds("dvustaen", "tristaen")(one)
    )
    assert sorted(all_ids("imot.bg", address)) == wanted


def test_words_that_are_no_numbers_are_no_filter() -> None:
    address = f"{IMOT}/ednostaen?type_home=%F0%9F%8F%A0~%22%3E~"
    assert sorted(all_ids("imot.bg", address)) == expected("imot.bg", of_kinds("ednostaen"))
    assert read("bazar.bg", f"{BAZAR}?district_id[]=%22%3E")["total"] == ADVERTS


def test_imot_has_one_search_for_all_flats() -> None:
    portal = large("imot.bg", PortalOptions(most_results=NO_CAP))
    flats_url = f"{BASE_URL}{IMOT}/ednostaen?type_home=2~3~4~5~6~"
    answer = read_page(get_scraper("imot.bg"), Page(flats_url, answer_to(portal, flats_url).body))
    assert answer["total"] == len(expected("imot.bg", lambda one: one.home.kind.flat))


def test_imot_adds_neighbourhoods_to_the_one_of_the_path() -> None:
    centre = "/obiavi/prodazhbi/grad-sofiya/tsentar"
    numbers = "".join(f"{number}~" for number in _family_numbers("Оборище", "Изток"))
    wanted = expected("imot.bg", in_hoods("Център", "Оборище", "Изток"))
    assert sorted(all_ids("imot.bg", f"{centre}?raioni={numbers}")) == wanted


@pytest.mark.slow
def test_imoti_com_finds_types_and_neighbourhoods() -> None:
    assert sorted(all_ids("imoti.com", f"{COM}/dvustaini")) == expected("imoti.com", of_kinds("dvustaen"))
    numbers = "".join(f"{number}~" for number in _family_numbers("Център", "Витоша"))
    wanted = expected("imoti.com", in_hoods("Център", "Витоша"))
    assert read("imoti.com", f"{COM}?sraion={numbers}")["total"] == len(wanted)
    assert sorted(all_ids("imoti.com", f"{COM}/tsentar/dvustaini")) == expected(
        "imoti.com", lambda one: in_hoods("Център")(one) and of_kinds("dvustaen")(one)
    )
    assert read("imoti.com", f"{COM}?pubtype=2~")["total"] == len(expected("imoti.com", of_kinds("dvustaen")))
    assert ask("imoti.com", f"{COM}/m-t-yaladzha").status == 404


def test_olx_finds_within_prices_and_links_keep_them() -> None:
    address = f"{OLX}&filter_float_price:from=100000&filter_float_price:to=150000"
    wanted = expected("olx.bg", lambda one: 100_000 <= one.money.amount_eur <= 150_000)
    told = json.loads(ask("olx.bg", address).body)
    assert 40 < told["metadata"]["visible_total_count"] == len(wanted) < ADVERTS
    following = unquote(told["links"]["next"]["href"])
    assert following.endswith(
        "/offers/?offset=40&limit=40&category_id=381&filter_float_price:from=100000&filter_float_price:to=150000"
    )
    assert sorted(all_ids("olx.bg", address)) == wanted


def test_olx_bands_of_prices_make_up_the_whole() -> None:
    totals = [
        json.loads(ask("olx.bg", f"{OLX}&{band}").body)["metadata"]["visible_total_count"]
        for band in (
            "filter_float_price:to=120000",
            "filter_float_price:from=120001&filter_float_price:to=200000",
            "filter_float_price:from=200001",
        )
    ]
    assert sum(totals) == ADVERTS
    assert min(totals) > 0


def test_olx_category_of_flats_holds_flats() -> None:
    told = json.loads(ask("olx.bg", "/api/v1/offers/?category_id=524&offset=0&limit=40").body)
    flats = expected(
        "olx.bg", lambda one: one.home.kind.property_type in {"apartment", "maisonette", "studio"}
    )
    assert told["metadata"]["visible_total_count"] == len(flats) < ADVERTS
    pages = "/nedvizhimi-imoti/prodazhbi/apartamenti/oblast-sofiya-grad/?search[filter_float_price:to]=90000"
    cheap = expected(
        "olx.bg",
        lambda one: (
            one.money.amount_eur <= 90_000
            and one.home.kind.property_type in {"apartment", "maisonette", "studio"}
        ),
    )
    assert read("olx.bg", pages)["total"] == len(cheap)


def _family_numbers(*names: str) -> list[int]:
    return [hood.id for hood in neighbourhoods() if hood.name in names]
