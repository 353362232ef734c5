"""bazar.bg served: its searches and its removed adverts."""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from random import Random

from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator import text
from sale_sofia_simulator.homes import ELSEWHERE
from sale_sofia_simulator.model import FLATS, NOW, BazarAdvert
from sale_sofia_simulator.pieces import fill, script_json
from sale_sofia_simulator.portal import Answer, Portal, Query, Search
from sale_sofia_simulator.portals.bazar_listing import advert_card, listing_page
from sale_sofia_simulator.search_index import BAZAR_CITIES, Filters, Scope
from sale_sofia_simulator.text import TABLES, slug, spaced
from sale_sofia_simulator.truth import REAL, Truth, bazar_truth
from sale_sofia_simulator.twins import NOTHING, hood_ids

# Search pages of bazar.bg: sixty-eight cards, news, and card templates that are no cards.

PAGE_SIZE = 68
DISTRICTS = hood_ids(TABLES["bazar_districts"])
"""Some of the portal's own numbers, and others for the rest."""
_SHOWN_PAGES = 10


def search_page(
    adverts: Sequence[BazarAdvert], *, url: str, page: int, total: int, now: datetime = NOW
) -> bytes:
    """Page number `page` of the search at `url`; the exact total stands in the description alone."""
    description = f"Обяви за Апартаменти ➤ Изгодни оферти за имоти ☛ Над {total} обяви в Bazar.bg"
    return _rendered(adverts, url, page, total, description, [advert_card(advert, now) for advert in adverts])


def empty_search_page(url: str) -> bytes:
    """A search that the portal itself says found nothing."""
    return _rendered((), url, 1, 0, "Обяви за Апартаменти ➤ Bazar.bg", [])


def page_url(url: str, page: int) -> str:
    """The address of a page of a search."""
    return url if page == 1 else f"{url}{'&' if '?' in url else '?'}page={page}"


def page_count(total: int) -> int:
    """How many pages there are."""
    return max(1, -(-total // PAGE_SIZE))


def next_url(url: str, page: int, total: int) -> str | None:
    """The address of the next page, nothing on the last."""
    return page_url(url, page + 1) if page < page_count(total) else None


def _rendered(
    adverts: Sequence[BazarAdvert], url: str, page: int, total: int, description: str, cards: list[str]
) -> bytes:
    canonical = url.partition("?")[0]
    heading = "Апартаменти: " + canonical.rpartition("/obiavi/")[2]
    headline, address = text.headline(Random(f"{url} {page}"))
    context = {"@context": "https://schema.org/"}
    offers = {**context, "@type": "AggregateOffer", "priceCurrency": "EUR", "offerCount": total}
    items = [
        {
            "@type": "Product",
            "name": advert.title,
            "url": advert.url.replace(".bg/", ".bg//"),
            "image": advert.photos[:1],
        }
        for advert in adverts
    ]
    listed = [{"@type": "ListItem", "position": i, "item": item} for i, item in enumerate(items, 1)]
    last = page_count(total)
    first = max(1, min(page - _SHOWN_PAGES // 2, last - _SHOWN_PAGES + 1))
    return fill(
        "bazar_page",
        body="bazar_search.html",
        weight=25,
        title=f"{heading} - Обяви на изгодни цени! — Bazar.bg",
        description=description,
        canonical=canonical,
        rough_total=spaced(total + total // 90),
        heading=heading,
        cards=cards,
        headline=headline,
        slug=address,
        url=url,
        page_url=page_url,
        page=page,
        near=range(first, min(first + _SHOWN_PAGES, last + 1)),
        last=last,
        districts=_districts(),
        offers=script_json(offers),
        item_list=script_json({**context, "@type": "ItemList", "itemListElement": listed}),
        ids=", ".join(advert.external_id for advert in adverts),
    ).encode()


@cache
def _districts() -> str:
    return fill("bazar_districts", districts=DISTRICTS.items())


_SEARCH = re.compile(r"/obiavi/(?P<rubric>[\w-]+)(?:/(?P<city>[\w-]+))?(?:/(?P<hood>[\w-]+))?/?")
_RUBRICS = {"prodazhba-apartamenti": "sale", "naemi-apartamenti": "rent", "apartamenti": None}
_PATHS = {deal: rubric for rubric, deal in _RUBRICS.items()}
_HOODS = {slug(name) for name, _ in ELSEWHERE} | {slug(hood.name) for hood in neighbourhoods()}
_FILTERS = {
    "district_id[]": {str(number): slug(hood.name) for number, hood in DISTRICTS.items()},
    "asize[]": {str(kind.number): kind.slug for kind in FLATS},
}


class BazarPortal(Portal[BazarAdvert]):
    """bazar.bg shows twenty-six pages of a search; every page after the last one is that page again."""

    site = "bazar.bg"
    content_type = "text/html; charset=UTF-8"
    charset = "utf-8"
    listing_path = re.compile(r"/{1,2}obiava-(\d{6,10})(?:/[^/]*)?/?")
    forbidden = "/ads/save"
    page_size = PAGE_SIZE
    most_results = 26 * PAGE_SIZE

    def start_urls(self, *, split: bool = False) -> list[str]:
        """Both deals of Sofia, and of another city where it has adverts."""
        scopes = self.city_searches("sofia", ("hood",), split=split)
        paths = ("/".join(filter(None, (_PATHS[scope.deal], scope.city, scope.hood))) for scope in scopes)
        return [f"{self.origin.base_url}/obiavi/{path}" for path in paths]

    def search(self, path: str, query: Query) -> Search | None:
        """`/obiavi/<rubric>[/<city>][/<neighbourhood>][?district_id[]=<n>&asize[]=<n>&page=<page>]`."""
        found, page = _SEARCH.fullmatch(path), query.get("page", ["1"])[0]
        if not found or found["rubric"] not in _RUBRICS:
            return None
        if not (page.isascii() and page.isdigit() and int(page)):
            return None
        city, hood = found["city"], found["hood"]
        if city not in {None, *BAZAR_CITIES.values()} or hood not in {None, *_HOODS}:
            return None
        numbers = {name: [value for value in query.get(name, ()) if value.isdecimal()] for name in _FILTERS}
        spelled = "&".join(f"{name}={value}" for name, values in numbers.items() for value in values)
        first = path.rstrip("/") + (f"?{spelled}" if spelled else "")
        districts, sizes = (
            tuple(_FILTERS[name].get(value, NOTHING) for value in values) for name, values in numbers.items()
        )
        scope = Scope(_RUBRICS[found["rubric"]], city, hood)
        return Search(scope, int(page), first, Filters(districts, sizes))

    def gone(self, external_id: str) -> Answer:  # noqa: ARG002 - all removed adverts lead to one place
        """A redirect to the category."""
        return self.moved("/obiavi/apartamenti/sofia")

    def truth(self, advert: BazarAdvert) -> Truth:
        """All fields of the advert."""
        return bazar_truth(advert)

    def render(self, advert: BazarAdvert) -> bytes:
        """The page of the advert today."""
        return listing_page(advert, self.now)

    def _results(self, search: Search) -> bytes:
        """Sixty-eight results, fewer on the last page; a page that is not shown leads on all the same."""
        found, url = self.matches(search), REAL[self.site] + search.path
        if not found:
            return self.origin.body(empty_search_page(url))
        page = min(search.page, page_count(min(len(found), self.most)))
        shown, total = self.shown(found[: self.most], page), self.announced(search)
        return self.origin.body(search_page(shown, url=url, page=page, total=total, now=self.now))
