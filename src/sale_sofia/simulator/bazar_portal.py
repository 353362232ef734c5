"""bazar.bg served: its addresses and its removed adverts."""

import re
from collections.abc import Sequence

from sale_sofia.listings.places import neighbourhoods
from sale_sofia.simulator import bazar_bg
from sale_sofia.simulator.answers import Answer, Search
from sale_sofia.simulator.homes import ELSEWHERE
from sale_sofia.simulator.model import BazarAdvert
from sale_sofia.simulator.origin import REAL
from sale_sofia.simulator.portal import Portal
from sale_sofia.simulator.search_index import BAZAR_CITIES, Scope
from sale_sofia.simulator.text import slug
from sale_sofia.simulator.truth import Truth, bazar_truth

_LISTING = re.compile(r"/{1,2}obiava-(\d{6,10})(?:/[^/]*)?/?")
_SEARCH = re.compile(r"/obiavi/(?P<rubric>[\w-]+)(?:/(?P<city>[\w-]+))?(?:/(?P<hood>[\w-]+))?/?")
_RUBRICS = {"prodazhba-apartamenti": "sale", "naemi-apartamenti": "rent", "apartamenti": None}
_PATHS = {deal: rubric for rubric, deal in _RUBRICS.items()}
_HOODS = {slug(name) for name, _ in ELSEWHERE} | {slug(hood.name) for hood in neighbourhoods()}
_CATEGORY = "/obiavi/apartamenti/sofia"


class BazarPortal(Portal[BazarAdvert]):
    """bazar.bg shows all pages of a search."""

    site = "bazar.bg"
    content_type = "text/html; charset=UTF-8"
    charset = "utf-8"
    forbidden = "/ads/save"
    page_size = bazar_bg.PAGE_SIZE

    def start_urls(self, *, split: bool = False) -> list[str]:  # noqa: ARG002 - there is no cap
        """Both deals of Sofia, and of another city where it has adverts."""
        cities = [scope for scope in self.index.scopes() if scope.deal and scope.city and not scope.hood]
        wanted = dict.fromkeys([Scope("sale", "sofia"), Scope("rent", "sofia"), *cities])
        return [f"{self.origin.base_url}/obiavi/{_PATHS[scope.deal]}/{scope.city}" for scope in wanted]

    def listing_id(self, path: str) -> str | None:
        """The number; the words after it may be any, or none."""
        found = _LISTING.fullmatch(path)
        return found[1] if found else None

    def search(self, path: str, page: int | None) -> Search | None:
        """`/obiavi/<rubric>[/<city>][/<neighbourhood>]?page=<page>`."""
        found = _SEARCH.fullmatch(path)
        if not found or page is None or found["rubric"] not in _RUBRICS:
            return None
        city, hood = found["city"], found["hood"]
        known = city in {None, *BAZAR_CITIES.values()} and hood in {None, *_HOODS}
        return Search(Scope(_RUBRICS[found["rubric"]], city, hood), page, path.rstrip("/")) if known else None

    def gone(self, external_id: str) -> Answer:  # noqa: ARG002 - all removed adverts lead to one place
        """A redirect to the category."""
        return self.moved(_CATEGORY)

    def truth(self, advert: BazarAdvert) -> Truth:
        """All fields of the advert."""
        return bazar_truth(advert)

    def render(self, advert: BazarAdvert) -> bytes:
        """The page of the advert today."""
        return bazar_bg.listing_page(advert, self.now)

    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """Sixty-eight results, fewer on the last page."""
        page = min(search.page, bazar_bg.page_count(len(found)))
        shown, url = self.shown(found, page), REAL[self.site] + search.path
        return bazar_bg.search_page(shown, url=url, page=page, total=len(found), now=self.now)

    def render_empty(self, url: str) -> bytes:
        """The portal says itself that nothing was found."""
        return bazar_bg.empty_search_page(url)
