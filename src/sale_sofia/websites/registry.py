"""The portals we can read, by name."""

from functools import cache

from sale_sofia.listings.page import PageLimits
from sale_sofia.settings.model import get_settings
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.site_file import available_sites, load_site_config

AVAILABLE_SITES = available_sites()


class UnknownSite(ValueError):
    """A portal without a site file; the message lists those that have one."""


@cache
def get_scraper(name: str) -> TableSite:
    """Return the adapter of one portal."""
    if name not in AVAILABLE_SITES:
        raise UnknownSite(f"no site {name!r}; allowed: {', '.join(AVAILABLE_SITES)}")
    return TableSite(load_site_config(name), page_limits())


def page_limits() -> PageLimits:
    """Return the limits of a page from the settings."""
    settings = get_settings()
    return PageLimits(settings.max_page_bytes, settings.max_page_tags, settings.max_page_options)
