"""bazar.bg served: its addresses and its removed adverts."""

import re
from collections.abc import Iterator
from collections.abc import Sequence
from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator.portals.bazar_bg import pages
from sale_sofia_simulator.answers import Answer
from sale_sofia_simulator.answers import Search
from sale_sofia_simulator.homes import ELSEWHERE
from sale_sofia_simulator.model import FLATS
from sale_sofia_simulator.model import BazarAdvert
from sale_sofia_simulator.truth import REAL
from sale_sofia_simulator.portal import Portal
from sale_sofia_simulator.portal import Query
from sale_sofia_simulator.portal import page_number
from sale_sofia_simulator.search_index import BAZAR_CITIES
from sale_sofia_simulator.search_index import Filters
from sale_sofia_simulator.search_index import Scope
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.truth import Truth
from sale_sofia_simulator.truth import bazar_truth


_LISTING = re.compile(r"/{1,2}obiava-(\d{6,10})(?:/[^/]*)?/?")
_SEARCH = re.compile(r"/obiavi/(?P<rubric>[\w-]+)(?:/(?P<city>[\w-]+))?(?:/(?P<hood>[\w-]+))?/?")
_RUBRICS = {"prodazhba-apartamenti": "sale", "naemi-apartamenti": "rent", "apartamenti": None}
_PATHS = {deal: rubric for rubric, deal in _RUBRICS.items()}
_HOODS = {slug(name) for name, _ in ELSEWHERE} | {slug(hood.name) for hood in neighbourhoods()}
_CATEGORY = "/obiavi/apartamenti/sofia"
_FILTERS = ("district_id[]", "asize[]")
_DISTRICTS = {str(number): slug(hood.name) for number, hood in pages.DISTRICTS.items()}
_SIZES = {str(kind.number): kind.slug for kind in FLATS}
_NOTHING = "no such value"


class BazarPortal(Portal[BazarAdvert]):
    """bazar.bg shows twenty-six pages of a search; every page after the last one is that page again."""

    site = "bazar.bg"
    content_type = "text/html; charset=UTF-8"
    charset = "utf-8"
    forbidden = "/ads/save"
    page_size = pages.PAGE_SIZE
    most_results = 26 * pages.PAGE_SIZE

    def start_urls(self, *, split: bool = False) -> list[str]:
        """Both deals of Sofia, and of another city where it has adverts."""
        cities = [scope for scope in self.index.scopes() if scope.deal and scope.city and not any(scope[2:])]
        wanted = dict.fromkeys([Scope("sale", "sofia"), Scope("rent", "sofia"), *cities])
        parts = [part for scope in wanted for part in (self._parts(scope) if split else (scope,))]
        return [self.origin.base_url + _path(part) for part in parts]

    def _parts(self, scope: Scope) -> Iterator[Scope]:
        """The search itself, or those of its neighbourhoods where the portal would not show all of it."""
        if len(self.index.find(scope)) <= self.most:
            yield scope
            return
        for part in self.index.scopes():
            if part.hood and part._replace(hood=None) == scope:
                yield part

    def listing_id(self, path: str) -> str | None:
        """The number; the words after it may be any, or none."""
        found = _LISTING.fullmatch(path)
        return found[1] if found else None

    def search(self, path: str, query: Query) -> Search | None:
        """`/obiavi/<rubric>[/<city>][/<neighbourhood>][?district_id[]=<n>&asize[]=<n>&page=<page>]`."""
        found, page = _SEARCH.fullmatch(path), page_number(query)
        if not found or page is None or found["rubric"] not in _RUBRICS:
            return None
        city, hood = found["city"], found["hood"]
        if city not in {None, *BAZAR_CITIES.values()} or hood not in {None, *_HOODS}:
            return None
        asked = "&".join(f"{name}={value}" for name in _FILTERS for value in _numbers(query, name))
        first = path.rstrip("/") + (f"?{asked}" if asked else "")
        return Search(Scope(_RUBRICS[found["rubric"]], city, hood), page, first, _filters(query))

    def gone(self, external_id: str) -> Answer:  # noqa: ARG002 - all removed adverts lead to one place
        """A redirect to the category."""
        return self.moved(_CATEGORY)

    def truth(self, advert: BazarAdvert) -> Truth:
        """All fields of the advert."""
        return bazar_truth(advert)

    def render(self, advert: BazarAdvert) -> bytes:
        """The page of the advert today."""
        return pages.listing_page(advert, self.now)

    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """Sixty-eight results, fewer on the last page; a page that is not shown leads on all the same."""
        page = min(search.page, pages.page_count(min(len(found), self.most)))
        shown, url = self.shown(found[: self.most], page), REAL[self.site] + search.path
        total = self.announced(search)
        return pages.search_page(shown, url=url, page=page, total=total, now=self.now)

    def render_empty(self, url: str) -> bytes:
        """The portal says itself that nothing was found."""
        return pages.empty_search_page(url)


def _path(scope: Scope) -> str:
    parts = (_PATHS[scope.deal], scope.city, scope.hood)
    return "/obiavi/" + "/".join(part for part in parts if part)


def _filters(query: Query) -> Filters:
    """What a number stands for; one that stands for nothing finds nothing."""
    districts = tuple(_DISTRICTS.get(value, _NOTHING) for value in _numbers(query, "district_id[]"))
    return Filters(districts, tuple(_SIZES.get(value, _NOTHING) for value in _numbers(query, "asize[]")))


def _numbers(query: Query, name: str) -> list[str]:
    return [value for value in query.get(name, ()) if value.isdecimal()]


