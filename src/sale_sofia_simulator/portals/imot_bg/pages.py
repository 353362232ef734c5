"""imot.bg: every kind of page it answers, in windows-1251."""

from sale_sofia_simulator.portals.imot_bg.listing import listing_page
from sale_sofia_simulator.portals.imot_bg.search import Project
from sale_sofia_simulator.portals.imot_bg.search import make_project
from sale_sofia_simulator.portals.imot_bg.search import project_page
from sale_sofia_simulator.portals.imot_bg.search import MOST_RESULTS
from sale_sofia_simulator.portals.imot_bg.search import PAGE_SIZE
from sale_sofia_simulator.portals.imot_bg.search import empty_search_page
from sale_sofia_simulator.portals.imot_bg.search import next_url
from sale_sofia_simulator.portals.imot_bg.search import page_count
from sale_sofia_simulator.portals.imot_bg.search import page_url
from sale_sofia_simulator.portals.imot_bg.search import promoted_project
from sale_sofia_simulator.portals.imot_bg.search import removed_page
from sale_sofia_simulator.portals.imot_bg.search import search_page


__all__ = [
    "MOST_RESULTS",
    "PAGE_SIZE",
    "Project",
    "empty_search_page",
    "listing_page",
    "make_project",
    "next_url",
    "page_count",
    "page_url",
    "project_page",
    "promoted_project",
    "removed_page",
    "search_page",
]


