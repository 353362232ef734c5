"""Portals that lead on, within themselves, before the page of an advert comes."""

import pytest

from large_portals import BASE_URL, answer_to, large_portal
from sale_sofia_simulator.portal import PortalOptions


@pytest.mark.parametrize("site", ["imot.bg", "bazar.bg"])
def test_an_advert_comes_after_as_many_hops_as_are_said(site: str) -> None:
    plain, leading = (large_portal(site, 30, PortalOptions(redirects=hops), originals=30) for hops in (0, 3))
    url = plain.url_of(plain.stock.advert(7))
    page, way = answer_to(plain, url), [url]
    while location := answer_to(leading, way[-1]).location:
        way.append(location)
    assert way == [url, *(f"{url}?hop={number}" for number in (1, 2, 3))]
    assert answer_to(leading, way[-1]) == page
    search = plain.start_urls()[0]
    assert search.startswith(BASE_URL)
    assert answer_to(leading, search) == answer_to(plain, search)
