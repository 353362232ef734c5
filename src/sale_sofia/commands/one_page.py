"""One page to look at: of a simulated portal, or of the real one, asked once and politely."""

import typer

from sale_sofia.config.settings import Settings, get_settings
from sale_sofia.fetching.base import Response
from sale_sofia.listings.page import Page
from sale_sofia.resilience.errors import CrawlError
from sale_sofia.scraping.assembly import make_fetcher, request_maker, robots_gate
from sale_sofia.scraping.estimate import rate_per_minute
from sale_sofia.scraping.politely import PoliteFetcher, polite_gate
from sale_sofia.scraping.urls import check_start_url
from sale_sofia.simulator.render import render_world
from sale_sofia.simulator.simulator_config import SITES
from sale_sofia.simulator.twin_portals import TWIN_PORTALS, render_twin
from sale_sofia.simulator.world import make_world
from sale_sofia.websites.table_site import TableSite

_ADVERTS = 3
_SEED = 1


def simulated_pages(site: str) -> list[Page]:
    """The first advert and the first page of results of the simulated portal."""
    if site not in SITES:
        raise typer.BadParameter(
            f"there is no simulated {site}; give a saved page (--file PAGE --url URL), or --url to fetch one"
        )
    world = make_world(_ADVERTS, _SEED)
    pages = render_twin(world, site) if site in TWIN_PORTALS else render_world(world)
    first: dict[str, Page] = {}
    for page in pages:
        if page.site == site and page.truth["kind"] in {"listing", "search"}:
            first.setdefault(page.truth["kind"], Page(page.url, page.body))
    return list(first.values())


async def fetch_page(site: TableSite, url: str) -> Page:
    """The page at this address of the portal, in the portal's turn; only if its robots.txt allows it.

    Raises:
        ValueError: the address is not the portal's, robots.txt forbids it, or no whole answer could be had.
    """
    settings, start = get_settings(), check_start_url(site, url)
    fetcher = make_fetcher(settings)
    gate = polite_gate(settings, site.config, rate_per_minute(settings, site.config))
    polite = PoliteFetcher(
        fetcher=fetcher,
        gate=gate,
        domain=site.name,
        longest_wait=settings.longest_polite_wait,
        most_redirects=settings.fetch_max_redirects,
    )
    try:
        answer = await _asked(settings, site, polite, start)
    except CrawlError as error:
        raise ValueError(f"{url}: {error}") from error
    finally:
        await gate.close()
        await fetcher.close()
    return Page(url, answer.body, answer.headers.get("content-type"))


async def _asked(settings: Settings, site: TableSite, polite: PoliteFetcher, url: str) -> Response:
    request_for = request_maker(settings, site.config, (url,))
    robots = robots_gate(settings, polite, request_for, {})
    if settings.robots_obeyed and not await robots.allowed(url):
        raise ValueError(f"{url}: robots.txt does not allow it, or could not be read")
    return await polite.fetch(request_for(url))
