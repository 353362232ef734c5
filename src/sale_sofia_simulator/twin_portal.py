"""A portal beside imot.bg and bazar.bg, served: two searches, sales and rents, and the adverts they find."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from sale_sofia_simulator.answers import Answer, Search
from sale_sofia_simulator.portal import Portal, Query
from sale_sofia_simulator.truth import REAL, Truth
from sale_sofia_simulator.twins import TwinAdvert, blank_truth

DEALS = ("sale", "rent")
SOFIA = "grad-sofiya"
"""The city of a search that is narrowed to neighbourhoods; any other finds what was filed elsewhere too."""


class TwinPortal(Portal[TwinAdvert]):
    """Pages are made for the address at which they are served."""

    charset = "utf-8"
    content_type = "text/html; charset=utf-8"
    search_type: ClassVar[str] = "text/html; charset=utf-8"

    @property
    def base(self) -> str:
        """Where the portal is served."""
        return self.origin.base_url

    def start_urls(self, *, split: bool = False) -> list[str]:  # noqa: ARG002 - there is no cap here
        """Sales and rents."""
        return [self.base + self.search_path(deal, 1) for deal in DEALS]

    def searched(self, search: Search) -> Answer:
        """Results have a type of their own."""
        return super().searched(search)._replace(content_type=self.search_type)

    def _results(self, search: Search) -> bytes:
        return self.render_search(search, self.matches(search))

    def _listing(self, number: int) -> bytes:
        """Made for each copy: its photos and links have names that come from its own number."""
        return self._cache.get(number, lambda: self.render(self.stock.advert(number)))

    def url_of(self, advert: TwinAdvert) -> str:
        """The served address of an advert."""
        return self.base + self.path_of(advert)

    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """A page of results; beyond the last there are none."""
        shown = self.shown(found[: self.most], search.page)
        return self.results(shown, search.scope.deal or "sale", search.page, self.announced(search))

    def render_empty(self, url: str) -> bytes:  # noqa: ARG002 - the same for every search
        """A search that found nothing."""
        return self.results([], "sale", 1, 0)

    def gone(self, external_id: str) -> Answer:  # noqa: ARG002 - all the same
        """Not found."""
        return self.missing()

    def truth(self, advert: TwinAdvert) -> Truth:
        """All fields, at the portal's real address."""
        return blank_truth(advert, REAL[self.site] + self.path_of(advert)) | self.facts(advert)

    @abstractmethod
    def path_of(self, advert: TwinAdvert) -> str:
        """The address of an advert, from its path on."""

    @abstractmethod
    def search_path(self, deal: str, page: int) -> str:
        """The address of a page of results, from its path on."""

    @abstractmethod
    def results(self, shown: Sequence[TwinAdvert], deal: str, page: int, total: int) -> bytes:
        """A page of results."""

    @abstractmethod
    def facts(self, advert: TwinAdvert) -> Truth:
        """What the portal prints beside, or otherwise than, what all do."""

    def pages(self, total: int) -> int:
        """How many pages of results are shown."""
        return max(1, -(-min(total, self.most) // self.page_size))

    def next_url(self, deal: str, page: int, total: int, base: str) -> str | None:
        """The page after this one."""
        return base + self.search_path(deal, page + 1) if page < self.pages(total) else None


def whole(query: Query, name: str, default: int) -> int:
    """A number of the query."""
    text = query.get(name, [""])[0]
    return int(text) if text.isdecimal() else default
