"""The portals beside imot.bg and bazar.bg, by name, and their pages with what they truly say."""

from collections.abc import Callable, Iterator, Sequence

from sale_sofia_simulator.answers import Robots
from sale_sofia_simulator.model import World
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.portals.alo_bg import AloPortal
from sale_sofia_simulator.portals.homes_bg import HomesPortal
from sale_sofia_simulator.portals.imoti_com import ImotiComPortal
from sale_sofia_simulator.portals.imoti_net import ImotiNetPortal
from sale_sofia_simulator.portals.olx_bg import OlxPortal
from sale_sofia_simulator.portals.suprimmo_group import LuximmoPortal, SuprimmoPortal
from sale_sofia_simulator.render import RenderedPage
from sale_sofia_simulator.search_index import Scope, Stock
from sale_sofia_simulator.truth import REAL, card_truth, search_truth
from sale_sofia_simulator.twin_portal import DEALS, TwinPortal
from sale_sofia_simulator.twins import TwinAdvert, twin_adverts

_PORTALS = (
    AloPortal, HomesPortal, ImotiComPortal, ImotiNetPortal, LuximmoPortal, OlxPortal, SuprimmoPortal,
)  # fmt: skip
TWIN_PORTALS: dict[str, type[TwinPortal]] = {portal.site: portal for portal in _PORTALS}
Results = Callable[[Sequence[TwinAdvert], str, int, int], bytes]
_NO_CACHE = 1


def render_twin(world: World, site: str) -> Iterator[RenderedPage]:
    """Every advert, every page of results and a search that found nothing, at the portal's real addresses."""
    portal = TWIN_PORTALS[site](REAL[site], Robots(), PageCache(_NO_CACHE))
    portal.show(Stock(twin_adverts(world, site)), world.now)
    for advert in portal.stock.originals:
        path, truth = f"{site}/detail__{advert.external_id}.html", portal.truth(advert)
        yield RenderedPage(site, path, truth["url"], portal.render(advert), truth)
    for deal in DEALS:
        adverts = [portal.stock.advert(number) for number in portal.index.find(Scope(deal))]
        for page in range(1, portal.pages(len(adverts)) + 1) if adverts else ():
            yield _search(portal, deal, page, adverts, f"search__{deal}-{page}")
    yield _search(portal, DEALS[0], 1, [], "search__empty")
    if isinstance(portal, ImotiComPortal):
        adverts = [portal.stock.advert(number) for number in portal.index.find(Scope(DEALS[0]))]
        yield _search(portal, DEALS[0], 1, adverts, "search__old", portal.old_results)


def _search(
    portal: TwinPortal,
    deal: str,
    page: int,
    adverts: list[TwinAdvert],
    name: str,
    results: Results | None = None,
) -> RenderedPage:
    shown, total = adverts[(page - 1) * portal.page_size : page * portal.page_size], len(adverts)
    body = (results or portal.results)(shown, deal, page, total)
    base, site = REAL[portal.site], portal.site
    url = base + portal.search_path(deal, page)
    following = portal.next_url(deal, page, total, base) if adverts else None
    cards = [card_truth(advert, base + portal.path_of(advert)) for advert in shown]
    if isinstance(portal, ImotiComPortal):
        cards = [card | {"family_id": advert.imot_id} for card, advert in zip(cards, shown, strict=True)]
    truth = search_truth(site, url, cards, total=total, next_url=following)
    return RenderedPage(site, f"{site}/{name}.html", url, body, truth)
