"""Addresses as portals write them: the next page, the advert's number, smaller searches."""

from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import pytest

from sale_sofia.listings.places import Neighbourhood, neighbourhoods
from sale_sofia.listings.vocabulary import meaning
from sale_sofia.websites.addresses import absolute, following, is_of
from sale_sofia.websites.narrowing import Kind, SearchFilter, narrow_search
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.site_file import PagingTable, load_start_urls
from sale_sofia.websites.splitting import Hints, Parts
from tables import each_row

MORE = {"css": "x"}


@each_row(
    ("base", "address", "expected"),
    [
        ("https://x.bg/a/b?c", "/d/e", "https://x.bg/d/e"),
        ("https://x.bg/a", "//y.bg/z", "https://y.bg/z"),
        ("https://x.bg/a/b", "c", "https://x.bg/a/c"),
        ("https://x.bg/a", "/a/../b", "https://x.bg/b"),
        ("http://127.0.0.1:81/a", "/q?x=1", "http://127.0.0.1:81/q?x=1"),
        ("https://x.bg/", "https://www.x.bg:443/bg/?page=2", "https://www.x.bg/bg/?page=2"),
        ("https://x.bg/", "http://127.0.0.1:8080/d/e", "http://127.0.0.1:8080/d/e"),
        ("https://x.bg/", "http://y.bg:80/d/e", "http://y.bg/d/e"),
        ("https://x.bg/", "http://[", ""),
    ],
)
def test_an_address_as_a_browser_follows_it(base: str, address: str, expected: str) -> None:
    assert absolute(base, address) == expected


def test_whose_host_it_is() -> None:
    hosts = ("www.imot.bg", "imot.bg")
    assert [
        is_of(host, hosts, "imot.bg") for host in ("imot.bg", "firma.imot.bg", "127.0.0.1", "localhost")
    ] == [
        True,
        True,
        True,
        True,
    ]
    assert [is_of(host, hosts, "imot.bg") for host in ("bazar.bg", "notimot.bg", "imot.bg.evil.com")] == [
        False
    ] * 3


@each_row(
    ("paging", "url", "last", "expected"),
    [
        ({"last": MORE, "path": "/page-"}, "https://x.bg/a?s=1~", 3, "https://x.bg/a/page-2?s=1~"),
        ({"last": MORE, "path": "/page-"}, "https://x.bg/a/page-2", 3, "https://x.bg/a/page-3"),
        ({"last": MORE, "path": "/page-"}, "https://x.bg/a/page-3", 3, None),
        (
            {"last": MORE, "query": {"page": [1, 1]}},
            "https://x.bg/a?q=2&page=2",
            3,
            "https://x.bg/a?q=2&page=3",
        ),
        ({"last": MORE, "query": {"page": [1, 1]}}, "https://x.bg/a", 1, None),
        ({"last": MORE, "query": {"offset": [0, 40]}}, "https://x.bg/a", 3, "https://x.bg/a?offset=40"),
        (
            {"last": MORE, "query": {"offset": [0, 40]}},
            "https://x.bg/a?offset=40",
            3,
            "https://x.bg/a?offset=80",
        ),
        ({"last": MORE, "query": {"offset": [0, 40]}}, "https://x.bg/a?offset=80", 3, None),
        (
            {"more": MORE, "query": {"startIndex": [0, 20], "stopIndex": [19, 20]}},
            "https://x.bg/api?n[]=487",
            None,
            "https://x.bg/api?n[]=487&startIndex=20&stopIndex=39",
        ),
    ],
)
def test_the_next_page(paging: dict[str, object], url: str, last: int | None, expected: str | None) -> None:
    assert following(url, PagingTable.model_validate(paging), last) == expected


@each_row(
    ("code", "number"),
    [("9TEbg", "146249522"), ("9Y603", "147309771"), ("9iudW", "137393111"), ("9Z5Ks", "147547132")],
)
def test_the_number_in_an_olx_address(code: str, number: str) -> None:
    site = get_scraper("olx.bg")
    assert site.listing_id(f"https://www.olx.bg/d/ad/apartament-CID368-ID{code}.html") == number
    assert site.listing_id(f"https://www.olx.bg/d/ad/ID{code}.html?x=1") == number
    assert site.listing_id("https://www.olx.bg/d/ad/apartament.html") is None


@each_row(
    ("url", "number"),
    [
        ("https://www.alo.bg/prodava-apartament-10218634", "10218634"),
        ("https://www.alo.bg/prodava-apartament-1021863412", "1021863412"),
        ("https://www.alo.bg/1021863412/", "1021863412"),
        ("https://www.alo.bg/prodava-apartament-1021863412345", None),
        ("https://www.alo.bg/obiava-1b177634821891002", None),
    ],
)
def test_the_number_in_an_alo_address_is_never_cut(url: str, number: str | None) -> None:
    assert get_scraper("alo.bg").listing_id(url) == number


def ids_of(url: str) -> list[str]:
    return [number for number in parse_qs(urlsplit(url).query)["sraion"][0].split("~") if number]


def test_imoti_com_is_cut_by_groups_of_neighbourhoods_and_by_type() -> None:
    site, base = get_scraper("imoti.com"), "https://www.imoti.com/prodazhbi/grad-sofiya"
    parts = site.parts(f"{base}/dvustaini/page-2", Hints()).urls
    assert {urlsplit(part).path for part in parts} == {"/prodazhbi/grad-sofiya/dvustaini"}
    assert [number for part in parts for number in ids_of(part)] == [
        str(place.id) for place in neighbourhoods()
    ]
    smaller = site.parts(parts[0], Hints()).urls
    assert [number for part in smaller for number in ids_of(part)] == ids_of(parts[0])
    assert site.parts(f"{base}/dvustaini?sraion=10~", Hints()).urls == ()
    assert len(site.parts(f"{base}/lozenets", Hints()).urls) == 19
    assert site.parts(f"{base}/lozenets/dvustaini", Hints()).urls == ()
    assert {site.kind_of(part) for part in parts} == {"search"}


def test_so_many_groups_that_each_fits_under_the_cap() -> None:
    hints = Hints(total=12_000, most=2000)
    parts = get_scraper("imoti.com").parts("https://www.imoti.com/prodazhbi/grad-sofiya/dvustaini", hints)
    assert (parts.way, len(parts.urls)) == ("sraion", 8)
    sizes = {len(ids_of(part)) for part in parts.urls}
    assert sizes <= {24, 25}


def test_ids_that_are_not_known_are_asked_for_first() -> None:
    site, search = (
        get_scraper("homes.bg"),
        "https://www.homes.bg/api/offers?typeId=ApartmentSell&stopIndex=99",
    )
    before = site.parts(search, Hints())
    assert before.urls == ()
    assert before.ids_page == (
        "https://www.homes.bg/api/neighbourhoods?locationId=1&agencyId=&typeId=ApartmentSell"
    )
    after = site.parts(search, Hints(ids={"neighbourhoods[]": ("487", "526", "421")}, total=2000, most=1000))
    assert after.urls == (
        f"{search}&neighbourhoods[]=487",
        f"{search}&neighbourhoods[]=526",
        f"{search}&neighbourhoods[]=421",
    )
    assert site.parts(search, Hints(useless=frozenset({"neighbourhoods[]"}))) == Parts()


def test_imot_bg_is_cut_by_neighbourhood_and_then_by_the_types_it_asks_for() -> None:
    site = get_scraper("imot.bg")
    base = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya"
    parts = site.parts(f"{base}/ednostaen?type_home=2~3~4~5~6~", Hints()).urls
    assert len(parts) == 193
    assert f"{base}/lozenets/ednostaen?type_home=2~3~4~5~6~" in parts
    assert site.parts(f"{base}/lozenets/ednostaen?type_home=2~6~", Hints()).urls == tuple(
        f"{base}/lozenets/{kind}" for kind in ("ednostaen", "dvustaen", "mezonet")
    )
    assert len(site.parts(f"{base}/lozenets", Hints()).urls) == 20
    assert site.parts(f"{base}/lozenets/dvustaen", Hints()).urls == ()


def test_imoti_net_is_cut_by_type_alone() -> None:
    site, base = get_scraper("imoti.net"), "https://www.imoti.net/bg/obiavi/r/prodava/sofia"
    parts = site.parts(f"{base}/", Hints()).urls
    assert f"{base}/dvustaen" in parts
    assert site.parts(f"{base}/dvustaen", Hints()).urls == ()
    assert {site.kind_of(part) for part in parts} == {"search"}


def test_pages_and_interface_of_olx_take_other_filters() -> None:
    pages = (
        get_scraper("olx.bg")
        .parts("https://www.olx.bg/nedvizhimi-imoti/prodazhbi/apartamenti/", Hints())
        .urls
    )
    assert all("search[filter_float_price:from]=" in part for part in pages)


def test_a_window_moves_by_its_own_size() -> None:
    table = get_scraper("homes.bg").config.search
    paging = table.paging if table else None
    assert paging is not None
    url = "https://www.homes.bg/api/offers?typeId=A&startIndex=40&stopIndex=59"
    assert (
        following(url, paging, None) == "https://www.homes.bg/api/offers?typeId=A&startIndex=60&stopIndex=79"
    )
    assert following("https://www.homes.bg/api/offers?typeId=A", paging, None) is None


def test_olx_is_cut_by_price_until_nothing_is_left_to_cut() -> None:
    site, start = (
        get_scraper("olx.bg"),
        "https://www.olx.bg/api/v1/offers/?offset=40&limit=40&category_id=524",
    )
    parts = site.parts(start, Hints()).urls
    ranges = [price_range(part) for part in parts]
    assert ranges[0] == (0, 50_000)
    assert ranges[-1] == (600_000, None)
    assert all(lower[1] == other[0] for lower, other in pairwise(ranges)), "no price stands between two"
    assert {parse_qs(urlsplit(part).query)["offset"][0] for part in parts} == {"0"}
    assert [price_range(part) for part in site.parts(parts[0], Hints()).urls] == [
        (0, 25_000),
        (25_000, 50_000),
    ]
    assert [price_range(part) for part in site.parts(parts[-1], Hints()).urls] == [
        (600_000, 1_200_000),
        (1_200_000, None),
    ]
    assert site.parts(parts[0].replace("to=50000", "to=1"), Hints()).urls == ()


def test_a_search_from_nothing_on_is_cut_like_one_without_prices() -> None:
    site, start = get_scraper("olx.bg"), "https://www.olx.bg/api/v1/offers/?limit=40&f[]=1&f[]=2"
    whole = site.parts(start, Hints()).urls
    assert site.parts(f"{start}&filter_float_price:from=0", Hints()).urls == whole
    assert all("&f[]=1&f[]=2&" in part for part in whole)


@pytest.mark.parametrize("price", ["abc", "10.5", "-1"])
def test_a_price_that_is_no_whole_number_cannot_be_cut(price: str) -> None:
    start = "https://www.olx.bg/api/v1/offers/?filter_float_price:"
    assert get_scraper("olx.bg").parts(f"{start}from={price}", Hints()).urls == ()
    assert get_scraper("olx.bg").parts(f"{start}to={price}", Hints()).urls == ()


def price_range(url: str) -> tuple[int, int | None]:
    query = parse_qs(urlsplit(url).query)
    high = query.get("filter_float_price:to")
    return int(query["filter_float_price:from"][0]), int(high[0]) if high else None


@each_row("site", ["alo.bg", "homes.bg", "imoti.net", "bazar.bg"])
def test_portals_without_a_cap_are_not_cut(site: str) -> None:
    assert get_scraper(site).parts(f"https://{site}/obiavi/x", Hints()).urls == ()


# Searches cut down to what is looked for.


def large_flats(places: tuple[str, ...] = ()) -> SearchFilter:
    """Flats of three rooms and more, in these neighbourhoods or anywhere, up to 179 999.50 €."""

    def may_hold(kind: Kind, place: Neighbourhood | None) -> bool:
        here = place is None or not places or place.name in places
        return here and kind[0] in {None, "apartment"} and (kind[1] is None or kind[1] > 2)

    return SearchFilter(may_hold, most=179_999.5)


IMOT = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya"
COM = "https://www.imoti.com/prodazhbi/grad-sofiya"
NET = "https://www.imoti.net/bg/obiavi/r/prodava/sofia"
OLX = "https://www.olx.bg/api/v1/offers/?offset=0&limit=40&category_id=524&region_id=306&city_id=8771"
TWO = ("Лозенец", "Борово")


@each_row(
    ("site", "places", "url", "expected"),
    [
        ("imot.bg", (), None, [f"{IMOT}/tristaen?type_home=4~5~"]),
        (
            "imot.bg",
            TWO,
            None,
            [f"{IMOT}/{place}/tristaen?type_home=4~5~" for place in ("borovo", "lozenets")],
        ),
        # Of a word that means several things nobody knows.
        ("imot.bg", TWO, f"{IMOT}/lozenets", [f"{IMOT}/lozenets/tristaen?type_home=4~5~17~"]),
        ("imot.bg", TWO, f"{IMOT}/lozenets/tristaen", [f"{IMOT}/lozenets/tristaen"]),
        ("imot.bg", TWO, f"{IMOT}/mladost-1/tristaen", []),
        ("imot.bg", (), f"{IMOT}/dvustaen", []),
        ("imoti.com", (), None, [f"{COM}/{kind}" for kind in ("tristaini", "chetiristaini", "mnogostaini")]),
        ("imoti.com", TWO, f"{COM}/tristaini", [f"{COM}/tristaini?sraion=4~32~"]),
        ("imoti.com", TWO, f"{COM}/tristaini?sraion=6~", [f"{COM}/tristaini?sraion=6~"]),
        ("imoti.net", TWO, None, [f"{NET}/{kind}" for kind in ("tristaen", "chetiristaen", "mnogostaen")]),
        ("olx.bg", TWO, None, [f"{OLX}&filter_float_price:to=180000"]),
        ("olx.bg", TWO, f"{OLX}&filter_float_price:to=90000", [f"{OLX}&filter_float_price:to=90000"]),
        ("bazar.bg", TWO, None, list(load_start_urls()["bazar.bg"])),
        ("homes.bg", TWO, None, list(load_start_urls()["homes.bg"])),
    ],
)
def test_a_search_is_cut_down_to_what_is_looked_for(
    site: str, places: tuple[str, ...], url: str | None, expected: list[str]
) -> None:
    ways = get_scraper(site).config.split
    starts = [url] if url else load_start_urls()[site]
    found = [address for start in starts for address in narrow_search(start, ways, large_flats(places))]
    assert found == expected


def test_nothing_is_cut_where_everything_is_looked_for() -> None:
    for site in AVAILABLE_SITES:
        for url in load_start_urls()[site]:
            everything = SearchFilter(lambda _kind, _place: True)
            ways = get_scraper(site).config.split
            found = narrow_search(url, ways, everything)
            assert found == (url,)


def test_the_words_for_homes_in_searches_have_a_meaning() -> None:
    """Else a crawl for flats of two rooms would read all others too."""
    words = {
        word
        for site in AVAILABLE_SITES
        for way in get_scraper(site).config.split
        if way.path
        for word in way.path.types
    }
    unknown = {word for word in words if meaning("type_slugs", word) is None}
    assert unknown == {"garazh-parkomyasto", "garazhi"}  # garages and parking places in one
    assert {meaning("type_slugs", word)[0] for word in words if "stae" in word or "stai" in word} == {
        "apartment"
    }
