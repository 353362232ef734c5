"""The portals beside imot.bg and bazar.bg, by name, and their pages with what they truly say."""

from collections.abc import Iterator

from sale_sofia_simulator.answers import Robots
from sale_sofia_simulator.model import World
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.portals.alo_bg import AloPortal
from sale_sofia_simulator.portals.homes_bg import HomesPortal
from sale_sofia_simulator.portals.imoti_com import ImotiComPortal
from sale_sofia_simulator.portals.imoti_net import ImotiNetPortal
from sale_sofia_simulator.portals.luximmo_bg import LuximmoPortal
from sale_sofia_simulator.portals.olx_bg import OlxPortal
from sale_sofia_simulator.portals.suprimmo_bg import SuprimmoPortal
from sale_sofia_simulator.render import RenderedPage
from sale_sofia_simulator.search_index import Scope, Stock
from sale_sofia_simulator.truth import REAL, search_truth
from sale_sofia_simulator.twin_portal import DEALS, TwinPortal
from sale_sofia_simulator.twins import TwinAdvert, twin_adverts

TWIN_PORTALS: dict[str, type[TwinPortal]] = {
    portal.site: portal
    for portal in (
        AloPortal,
        HomesPortal,
        ImotiComPortal,
        ImotiNetPortal,
        LuximmoPortal,
        OlxPortal,
        SuprimmoPortal,
    )
}
_NO_CACHE = 1


def render_twin(world: World, site: str) -> Iterator[RenderedPage]:
    """Every advert, every page of results and a search that found nothing, at the portal's real addresses."""
    portal = TWIN_PORTALS[site](REAL[site], Robots(), PageCache(_NO_CACHE))
    portal.show(Stock(twin_adverts(world, site)), world.now)
    for advert in portal.stock.originals:
        truth = portal.truth(advert)
        yield RenderedPage(
            site, f"{site}/detail__{advert.external_id}.html", truth["url"], portal.render(advert), truth
        )
    for deal in DEALS:
        yield from _searches(portal, deal)
    yield _search(portal, DEALS[0], 1, [], "search__empty")
    if isinstance(portal, ImotiComPortal):
        yield _old_search(portal)


def _searches(portal: TwinPortal, deal: str) -> Iterator[RenderedPage]:
    adverts = [portal.stock.advert(number) for number in portal.index.find(Scope(deal))]
    for page in range(1, portal.pages(len(adverts)) + 1) if adverts else ():
        yield _search(portal, deal, page, adverts, f"search__{deal}-{page}")


def _search(portal: TwinPortal, deal: str, page: int, adverts: list[TwinAdvert], name: str) -> RenderedPage:
    shown = adverts[(page - 1) * portal.page_size : page * portal.page_size]
    body = portal.results(shown, deal, page, len(adverts))
    return _told(portal, deal, page, adverts, body=body, name=name)


def _old_search(portal: ImotiComPortal) -> RenderedPage:
    adverts = [portal.stock.advert(number) for number in portal.index.find(Scope(DEALS[0]))]
    body = portal.old_results(adverts[: portal.page_size], DEALS[0], 1, len(adverts))
    return _told(portal, DEALS[0], 1, adverts, body=body, name="search__old")


def _told(
    portal: TwinPortal, deal: str, page: int, adverts: list[TwinAdvert], *, body: bytes, name: str
) -> RenderedPage:
    base, site = REAL[portal.site], portal.site
    url = base + portal.search_path(deal, page)
    shown = adverts[(page - 1) * portal.page_size : page * portal.page_size]
    following = portal.next_url(deal, page, len(adverts), base) if adverts else None
    truth = search_truth(site, url, (), total=len(adverts), capped=False, next_url=following)
    cards = [portal.card_truth(advert, base) for advert in shown]
    return RenderedPage(site, f"{site}/{name}.html", url, body, truth | {"cards": cards})
