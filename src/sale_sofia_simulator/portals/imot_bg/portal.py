"""imot.bg served: its addresses, its cap, its removed adverts."""

import re
from collections.abc import Sequence

from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator.answers import AS_REAL, Answer, PortalOptions, Robots, Search
from sale_sofia_simulator.homes import ELSEWHERE, NO_SUCH_HOODS
from sale_sofia_simulator.model import FLATS, KINDS, RUBRICS, ImotAdvert
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.portal import Portal, Query, SitemapPaths
from sale_sofia_simulator.portals.imot_bg import search as pages
from sale_sofia_simulator.portals.imot_bg.listing import listing_page
from sale_sofia_simulator.search_index import Filters, Scope
from sale_sofia_simulator.truth import REAL, Truth, imot_truth
from sale_sofia_simulator.twins import family_ids, tilde_list, with_tildes

_SEARCH = re.compile(
    r"(?P<base>/obiavi/(?P<rubric>[\w-]+)(?P<rest>(?:/[\w-]+)*?))(?:/p-(?P<page>[1-9]\d*))?/?"
)
_DEALS = {rubric: deal for deal, rubric in RUBRICS.items()}
_HOME = "grad-sofiya"
_CITIES = frozenset({_HOME, "grad-targovishte"})
_KINDS = {kind.number: kind.slug for kind in KINDS}
_HOODS = frozenset(slug for _, slug in ELSEWHERE) | {hood.slug for hood in neighbourhoods()} - NO_SUCH_HOODS


class ImotPortal(Portal[ImotAdvert]):
    """imot.bg shows at most a thousand results of a search, and says of more only that there are."""

    site = "imot.bg"
    content_type = "text/html"
    charset = "windows-1251"
    listing_path = re.compile(r"/obiava-(\d[a-z]\d{15})(?:-[^/]*)?/?")
    forbidden = "/pcgi/"
    page_size = pages.PAGE_SIZE
    most_results = pages.MOST_RESULTS
    sitemap_paths = SitemapPaths("/sitemap/index.xml", "/sitemap/listings-{number}.xml.gz")

    def __init__(
        self, base_url: str, robots: Robots, cache: PageCache, options: PortalOptions = AS_REAL
    ) -> None:
        self._projects: dict[str, pages.Project] = {}
        super().__init__(base_url, robots, cache, options)

    @property
    def flats_url(self) -> str:
        """One search for all flats on sale in Sofia: the first type in the path, the others in the query."""
        first, *others = FLATS
        more = "".join(f"{kind.number}~" for kind in others)
        return f"{self.origin.base_url}{_path(Scope('sale', _HOME, kind=first.slug))}?type_home={more}"

    def start_urls(self, *, split: bool = False) -> list[str]:
        """Both deals of Sofia, and of another city where it has adverts."""
        scopes = self.city_searches(_HOME, ("hood", "kind"), split=split)
        return [self.origin.base_url + _path(scope) for scope in scopes]

    def search(self, path: str, query: Query) -> Search | None:
        """`/obiavi/<rubric>[/<city>][/<neighbourhood>][/<type>][/p-<page>][?type_home=2~3~&raioni=9~10~]`."""
        found = _SEARCH.fullmatch(path)
        scope = _scope(found["rubric"], found["rest"].split("/")[1:]) if found else None
        if not found or not scope:
            return None
        known = family_ids()
        more_hoods = [known[number].slug for number in tilde_list(query, "raioni") if number in known]
        more_kinds = [_KINDS.get(number, "") for number in tilde_list(query, "type_home")]
        filters = Filters(_with_more(scope.hood, more_hoods), _with_more(scope.kind, more_kinds))
        first = found["base"] + with_tildes(query, "type_home", "raioni")
        return Search(scope, int(found["page"] or 1), first, filters)

    def gone(self, external_id: str) -> Answer:
        """Every second id is redirected to its category, the others are not found."""
        rubric = RUBRICS["rent" if external_id.startswith("2") else "sale"]
        return self.missing() if int(external_id[-1]) % 2 else self.moved(f"/obiavi/{rubric}/{_HOME}")

    def truth(self, advert: ImotAdvert) -> Truth:
        """All fields of the advert."""
        return imot_truth(advert)

    def render(self, advert: ImotAdvert) -> bytes:
        """The page of the advert."""
        return listing_page(advert)

    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """Forty results; the last page has fewer where the cap is not a multiple of forty."""
        page = min(search.page, pages.page_count(len(found), self.most))
        url = REAL[self.site] + search.path
        project = pages.promoted_project(url, page)
        self._projects[project.url.removeprefix(REAL[self.site])] = project
        shown = self.shown(found[: self.most], page)
        return pages.search_page(shown, url=url, page=page, total=self.announced(search), most=self.most)

    def render_empty(self, url: str) -> bytes:
        """The portal says itself that nothing was found."""
        return pages.empty_search_page(url)

    def other(self, path: str) -> Answer:
        """A new building that some search page has shown; of a part that does not exist perhaps its city."""
        if project := self._projects.get(path):
            return self._page(self.origin.body(pages.project_page(project)))
        found = _SEARCH.fullmatch(path) if self.options.parts_redirect else None
        city = found["rest"].split("/")[1:2] if found else []
        scope = _scope(found["rubric"], city) if found and city else None
        return self.moved(_path(scope)) if scope else self.missing()


def _path(scope: Scope) -> str:
    parts = (RUBRICS[scope.deal or "sale"], scope.city, scope.hood, scope.kind)
    return "/obiavi/" + "/".join(part for part in parts if part)


def _with_more(word: str | None, more: list[str]) -> tuple[str, ...]:
    """The word of the path and those that the query adds to it."""
    return tuple(dict.fromkeys([word, *more])) if word and more else ()


def _scope(rubric: str, parts: list[str]) -> Scope | None:
    """The words in their order, each at most once; any other word is no search."""
    found: dict[str, str] = {}
    for name, known in (("city", _CITIES), ("hood", _HOODS), ("kind", _KINDS.values())):
        if parts and parts[0] in known:
            found[name] = parts.pop(0)
    nowhere = "hood" in found and "city" not in found
    if parts or nowhere or rubric not in _DEALS:
        return None
    return Scope(_DEALS[rubric], **found)
