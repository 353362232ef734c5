"""imot.bg served: its addresses, its cap, its removed adverts."""

import re
from collections.abc import Iterator, Sequence

from sale_sofia.listings.places import neighbourhoods
from sale_sofia.simulator import imot_bg
from sale_sofia.simulator.answers import Answer, Robots, Search
from sale_sofia.simulator.homes import ELSEWHERE
from sale_sofia.simulator.imot_project import Project
from sale_sofia.simulator.kinds import KINDS, RUBRICS
from sale_sofia.simulator.model import ImotAdvert
from sale_sofia.simulator.origin import REAL
from sale_sofia.simulator.page_cache import PageCache
from sale_sofia.simulator.portal import Portal
from sale_sofia.simulator.search_index import Scope
from sale_sofia.simulator.truth import Truth, imot_truth

_LISTING = re.compile(r"/obiava-(\d[a-z]\d{15})(?:-[^/]*)?/?")
_SEARCH = re.compile(
    r"(?P<base>/obiavi/(?P<rubric>[\w-]+)(?P<rest>(?:/[\w-]+)*?))(?:/p-(?P<page>[1-9]\d*))?/?"
)
_DEALS = {rubric: deal for deal, rubric in RUBRICS.items()}
_HOME = "grad-sofiya"
_CITIES = frozenset({_HOME, "grad-targovishte"})
_KINDS = frozenset(kind.slug for kind in KINDS)
_HOODS = frozenset(slug for _, slug in ELSEWHERE) | {hood.slug for hood in neighbourhoods()}


class ImotPortal(Portal[ImotAdvert]):
    """imot.bg shows at most `most_results` of a search."""

    site = "imot.bg"
    content_type = "text/html"
    charset = "windows-1251"
    forbidden = "/pcgi/"
    page_size = imot_bg.PAGE_SIZE

    def __init__(
        self, base_url: str, robots: Robots, cache: PageCache, most_results: int = imot_bg.MOST_RESULTS
    ) -> None:
        self._most = most_results
        self._projects: dict[str, Project] = {}
        super().__init__(base_url, robots, cache)

    def start_urls(self, *, split: bool = False) -> list[str]:
        """Both deals of Sofia, and of another city where it has adverts."""
        cities = [scope for scope in self.index.scopes() if scope.deal and scope.city and not any(scope[2:])]
        wanted = dict.fromkeys([Scope("sale", _HOME), Scope("rent", _HOME), *cities])
        parts = [part for scope in wanted for part in (self._parts(scope) if split else (scope,))]
        return [self.origin.base_url + _path(part) for part in parts]

    def _parts(self, scope: Scope) -> Iterator[Scope]:
        """The search itself, or its smaller searches where the portal would not show all of it."""
        if len(self.index.find(scope)) <= self._most or scope.kind:
            yield scope
            return
        deeper = "kind" if scope.hood else "hood"
        for part in self.index.scopes():
            if getattr(part, deeper) and part._replace(**{deeper: None}) == scope:
                yield from self._parts(part)

    def listing_id(self, path: str) -> str | None:
        """The id; the words after it may be any, or none."""
        found = _LISTING.fullmatch(path)
        return found[1] if found else None

    def search(self, path: str, page: int | None) -> Search | None:  # noqa: ARG002 - the path has the page
        """`/obiavi/<rubric>[/<city>][/<neighbourhood>][/<type>][/p-<page>]`."""
        found = _SEARCH.fullmatch(path)
        scope = _scope(found["rubric"], found["rest"].split("/")[1:]) if found else None
        return Search(scope, int(found["page"] or 1), found["base"]) if found and scope else None

    def gone(self, external_id: str) -> Answer:
        """Every second id is redirected to its category, the others are not found."""
        rubric = RUBRICS["rent" if external_id.startswith("2") else "sale"]
        return self.missing() if int(external_id[-1]) % 2 else self.moved(f"/obiavi/{rubric}/{_HOME}")

    def truth(self, advert: ImotAdvert) -> Truth:
        """All fields of the advert."""
        return imot_truth(advert)

    def render(self, advert: ImotAdvert) -> bytes:
        """The page of the advert."""
        return imot_bg.listing_page(advert)

    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """Forty results; the last page has fewer where the cap is not a multiple of forty."""
        page = min(search.page, imot_bg.page_count(len(found), self._most))
        url = REAL[self.site] + search.path
        project = imot_bg.promoted_project(url, page)
        self._projects[project.url.removeprefix(REAL[self.site])] = project
        shown = self.shown(found[: self._most], page)
        return imot_bg.search_page(shown, url=url, page=page, total=len(found), most=self._most)

    def render_empty(self, url: str) -> bytes:
        """The portal says itself that nothing was found."""
        return imot_bg.empty_search_page(url)

    def other(self, path: str) -> Answer:
        """A new building that some search page has shown, else nothing."""
        project = self._projects.get(path)
        return self._page(self.origin.body(imot_bg.project_page(project))) if project else self.missing()


def _path(scope: Scope) -> str:
    parts = (RUBRICS[scope.deal or "sale"], scope.city, scope.hood, scope.kind)
    return "/obiavi/" + "/".join(part for part in parts if part)


def _scope(rubric: str, parts: list[str]) -> Scope | None:
    """The words in their order, each at most once; any other word is no search."""
    found: dict[str, str] = {}
    for name, known in (("city", _CITIES), ("hood", _HOODS), ("kind", _KINDS)):
        if parts and parts[0] in known:
            found[name] = parts.pop(0)
    nowhere = "hood" in found and "city" not in found
    if parts or nowhere or rubric not in _DEALS:
        return None
    return Scope(_DEALS[rubric], **found)
