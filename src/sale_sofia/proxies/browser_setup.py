"""The browser lane of a portal, put together from the settings and its file."""

import logging
from collections.abc import Iterable

from sale_sofia.config.browser import FOLDER
from sale_sofia.config.settings import Settings
from sale_sofia.config.site_config import SiteConfig, load_site_config
from sale_sofia.fetching.base import Fetcher
from sale_sofia.fetching.chromium import BrowserMissing, find_browser
from sale_sofia.fetching.client import CurlFetcher
from sale_sofia.proxies.browser import BrowserProgram
from sale_sofia.proxies.browser_lane import BrowserLane
from sale_sofia.proxies.lane_memory import LaneMemory
from sale_sofia.proxies.lane_notes import FileNotes, Notes, RedisNotes
from sale_sofia.resilience.redis_client import connect

log = logging.getLogger(__name__)


def browser_lane(
    settings: Settings, config: SiteConfig, fetcher: Fetcher, redis_url: str | None
) -> BrowserLane | None:
    """None unless BROWSER_ENABLED, the portal's file and the machine allow it."""
    if not settings.browser_enabled or not config.browser_allowed or not isinstance(fetcher, CurlFetcher):
        return None
    try:
        path = find_browser(settings.browser_path)
    except BrowserMissing as missing:
        log.warning("%s: no browser for challenges. %s", config.site, missing)
        return None
    memory = LaneMemory(_notes(settings, config.site, fetcher, redis_url), settings.browser_pages_per_hour)
    program = BrowserProgram(path, settings.browser_timeout, config.proof)
    return BrowserLane(config.site, fetcher, program, memory)


def check_browser(settings: Settings, sites: Iterable[str]) -> None:
    """Refuse a crawl that is to use the browser where there is none.

    Raises:
        BrowserMissing: what is missing, and how it is had.
    """
    if settings.browser_enabled and any(load_site_config(site).browser_allowed for site in sites):
        find_browser(settings.browser_path)


def _notes(settings: Settings, site: str, fetcher: CurlFetcher, redis_url: str | None) -> Notes:
    if redis_url is None:
        return FileNotes(settings.data_dir / FOLDER / f"{site}.json")
    redis = connect(redis_url)
    fetcher.also_close(redis.aclose)
    return RedisNotes(redis, site)
