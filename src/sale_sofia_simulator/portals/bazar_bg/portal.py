"""bazar.bg served: its addresses and its removed adverts."""

import re
from collections.abc import Sequence

from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator.answers import Answer, Search
from sale_sofia_simulator.homes import ELSEWHERE
from sale_sofia_simulator.model import FLATS, BazarAdvert
from sale_sofia_simulator.portal import Portal, Query
from sale_sofia_simulator.portals.bazar_bg import search as pages
from sale_sofia_simulator.portals.bazar_bg.listing import listing_page
from sale_sofia_simulator.search_index import BAZAR_CITIES, Filters, Scope
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.truth import REAL, Truth, bazar_truth
from sale_sofia_simulator.twins import NOTHING

_SEARCH = re.compile(r"/obiavi/(?P<rubric>[\w-]+)(?:/(?P<city>[\w-]+))?(?:/(?P<hood>[\w-]+))?/?")
_RUBRICS = {"prodazhba-apartamenti": "sale", "naemi-apartamenti": "rent", "apartamenti": None}
_PATHS = {deal: rubric for rubric, deal in _RUBRICS.items()}
_HOODS = {slug(name) for name, _ in ELSEWHERE} | {slug(hood.name) for hood in neighbourhoods()}
_FILTERS = {
    "district_id[]": {str(number): slug(hood.name) for number, hood in pages.DISTRICTS.items()},
    "asize[]": {str(kind.number): kind.slug for kind in FLATS},
}


class BazarPortal(Portal[BazarAdvert]):
    """bazar.bg shows twenty-six pages of a search; every page after the last one is that page again."""

    site = "bazar.bg"
    content_type = "text/html; charset=UTF-8"
    charset = "utf-8"
    listing_path = re.compile(r"/{1,2}obiava-(\d{6,10})(?:/[^/]*)?/?")
    forbidden = "/ads/save"
    page_size = pages.PAGE_SIZE
    most_results = 26 * pages.PAGE_SIZE

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

    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """Sixty-eight results, fewer on the last page; a page that is not shown leads on all the same."""
        page = min(search.page, pages.page_count(min(len(found), self.most)))
        shown, url = self.shown(found[: self.most], page), REAL[self.site] + search.path
        return pages.search_page(shown, url=url, page=page, total=self.announced(search), now=self.now)

    def render_empty(self, url: str) -> bytes:
        """The portal says itself that nothing was found."""
        return pages.empty_search_page(url)
