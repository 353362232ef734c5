"""bazar.bg: every kind of page it answers, in UTF-8."""

from sale_sofia_simulator.portals.bazar_bg.listing import listing_page
from sale_sofia_simulator.portals.bazar_bg.search import DISTRICTS
from sale_sofia_simulator.portals.bazar_bg.search import PAGE_SIZE
from sale_sofia_simulator.portals.bazar_bg.search import empty_search_page
from sale_sofia_simulator.portals.bazar_bg.search import next_url
from sale_sofia_simulator.portals.bazar_bg.search import page_count
from sale_sofia_simulator.portals.bazar_bg.search import page_url
from sale_sofia_simulator.portals.bazar_bg.search import removed_page
from sale_sofia_simulator.portals.bazar_bg.search import search_page


__all__ = [
    "DISTRICTS",
    "PAGE_SIZE",
    "empty_search_page",
    "listing_page",
    "next_url",
    "page_count",
    "page_url",
    "removed_page",
    "search_page",
]


