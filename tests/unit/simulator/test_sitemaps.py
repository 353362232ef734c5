"""The sitemaps of simulated portals: an index of shards, in which every advert stands."""

import gzip
import re
from typing import Any

import pytest

from large_portals import BASE_URL, answer_to, large_portal
from sale_sofia_simulator.portal import Portal, PortalOptions

ADVERTS = 700
INDEXES = {
    "imot.bg": "/sitemap/index.xml",
    "homes.bg": "/sitemaps/sitemap.xml",
    "imoti.net": "/sitemap/sitemapindex.xml",
}
SHARDS = {
    "imot.bg": [f"/sitemap/listings-{number}.xml.gz" for number in range(1, 5)],
    "homes.bg": [f"/sitemaps/offers-ApartmentSell-{number}.xml" for number in range(1, 5)],
    "imoti.net": [f"/sitemap/sitemap{number}.xml" for number in range(3, 7)],
}


def portal_of(site: str, *, overlap: float = 0.0) -> Portal[Any]:
    options = PortalOptions(sitemap_rows=200, sitemap_overlap=overlap)
    return large_portal(site, ADVERTS, options, originals=200)


def text(portal: Portal[Any], url: str) -> str:
    answer = answer_to(portal, url)
    packed = url.endswith(".gz")
    assert (answer.status, answer.content_type) == (200, "application/gzip" if packed else "application/xml")
    return (gzip.decompress(answer.body) if packed else answer.body).decode()


def shards(portal: Portal[Any]) -> list[str]:
    return re.findall(r"<sitemap><loc>([^<]+)</loc>", text(portal, BASE_URL + INDEXES[portal.site]))


def rows(portal: Portal[Any]) -> list[list[str]]:
    return [re.findall(r"<url><loc>([^<]+)</loc>", text(portal, url)) for url in shards(portal)]


@pytest.mark.parametrize("site", INDEXES)
def test_every_advert_stands_in_one_shard_at_its_address(site: str) -> None:
    portal = portal_of(site)
    assert shards(portal) == [BASE_URL + path for path in SHARDS[site]]
    found = rows(portal)
    assert [len(shard) for shard in found] == [200, 200, 200, 100]
    urls = [url for shard in found for url in shard]
    assert urls == [truth["url"] for truth in portal.truths()]
    assert len(set(urls)) == ADVERTS
    assert answer_to(portal, urls[-1]).status == 200


@pytest.mark.parametrize("site", INDEXES)
def test_a_row_says_when_its_advert_changed_unless_the_portal_does_not(site: str) -> None:
    portal = portal_of(site)
    first = text(portal, shards(portal)[0])
    times = re.findall(r"<lastmod>([^<]+)</lastmod>", first)
    assert times == [portal.stock.advert(number).updated.isoformat() for number in range(200)]


def test_shards_that_are_being_rebuilt_overlap_and_leave_adverts_out() -> None:
    found = rows(portal_of("imot.bg", overlap=0.25))
    urls = [url for shard in found for url in shard]
    assert [len(shard) for shard in found] == [200, 200, 200, 100]
    assert len(urls) == ADVERTS
    assert len(set(urls)) == 550
    assert found[1][150:] == found[0][:50]


@pytest.mark.parametrize("site", ["bazar.bg", "olx.bg", "imoti.com"])
def test_other_portals_have_none(site: str) -> None:
    portal = portal_of(site)
    assert [answer_to(portal, BASE_URL + path).status for path in INDEXES.values()] == [404] * 3


def test_a_shard_that_does_not_exist_is_not_found() -> None:
    assert answer_to(portal_of("imot.bg"), f"{BASE_URL}/sitemap/listings-5.xml.gz").status == 404
