import pytest

from sale_sofia.websites.registry import AVAILABLE_SITES, UnknownSite, get_scraper
from sale_sofia.websites.splitting import Hints

BASE = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya"


def test_a_search_of_the_city_is_cut_by_neighbourhood() -> None:
    parts = get_scraper("imot.bg").parts(BASE, Hints()).urls
    assert len(parts) == 193
    assert len(set(parts)) == 193
    assert f"{BASE}/belite-brezi" in parts


def test_a_search_of_one_type_keeps_it() -> None:
    parts = get_scraper("imot.bg").parts(f"{BASE}/dvustaen/p-2?floor_from=3", Hints()).urls
    assert len(parts) == 193
    assert f"{BASE}/lozenets/dvustaen?floor_from=3" in parts


def test_a_search_of_one_neighbourhood_is_cut_by_type() -> None:
    parts = get_scraper("imot.bg").parts(f"{BASE}/tsentar", Hints()).urls
    assert len(parts) == 20
    assert parts[:2] == (f"{BASE}/tsentar/ednostaen", f"{BASE}/tsentar/dvustaen")


@pytest.mark.parametrize(
    "url",
    [
        f"{BASE}/tsentar/dvustaen",
        "https://www.imot.bg/obiavi/prodazhbi/grad-varna",
        "https://www.imot.bg/search",
    ],
)
def test_what_cannot_be_cut(url: str) -> None:
    assert get_scraper("imot.bg").parts(url, Hints()).urls == ()


def test_every_part_is_a_search() -> None:
    site = get_scraper("imot.bg")
    assert {site.kind_of(part) for part in site.parts(BASE, Hints()).urls} == {"search"}


def test_an_unknown_portal_is_refused_with_those_we_know() -> None:
    assert AVAILABLE_SITES == (
        "alo.bg",
        "bazar.bg",
        "homes.bg",
        "imot.bg",
        "imoti.com",
        "imoti.net",
        "luximmo.bg",
        "olx.bg",
        "suprimmo.bg",
    )
    with pytest.raises(
        UnknownSite, match=r"no site 'imot'; allowed: alo\.bg, bazar\.bg, homes\.bg, imot\.bg, "
    ):
        get_scraper("imot")
