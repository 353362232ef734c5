"""One page to look at: of a simulated portal, or of the real one, asked once and politely."""

from functools import partial

import typer

from sale_sofia.config.settings import get_settings
from sale_sofia.fetching.robots import RobotsGate
from sale_sofia.listings.page import Page
from sale_sofia.resilience.errors import CrawlError
from sale_sofia.scraping.assembly import make_fetcher, page_request
from sale_sofia.scraping.urls import allowed_hosts, check_start_url
from sale_sofia.simulator.render import render_world
from sale_sofia.simulator.simulator_config import SITES
from sale_sofia.simulator.twin_portals import TWIN_PORTALS, render_twin
from sale_sofia.simulator.world import make_world
from sale_sofia.websites.table_site import TableSite

_ADVERTS = 3
_SEED = 1
_WE = "sale-sofia"


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
    """The page at this address of the portal; only if its robots.txt allows it.

    Raises:
        ValueError: the address is not the portal's, robots.txt forbids it, or no whole answer could be had.
    """
    settings = get_settings()
    request_for = partial(
        page_request,
        hosts=allowed_hosts(site.config.hosts, (check_start_url(site, url),)),
        politeness=site.config.politeness,
        longest=settings.http_timeout,
        max_bytes=settings.max_page_bytes,
    )
    fetcher = make_fetcher(settings)
    try:
        seconds = (settings.robots_cache_seconds, settings.robots_error_cache_seconds)
        robots = RobotsGate(fetcher, request_for, _WE, *seconds)
        if settings.robots_obeyed and not await robots.allowed(url):
            raise ValueError(f"{url}: robots.txt does not allow it, or could not be read")
        answer = await fetcher.fetch(request_for(url))
    except CrawlError as error:
        raise ValueError(f"{url}: {error}") from error
    finally:
        await fetcher.close()
    return Page(url, answer.body, answer.headers.get("content-type"))
