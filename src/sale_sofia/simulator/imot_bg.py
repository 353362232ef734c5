"""imot.bg: every kind of page it answers, in windows-1251."""

from sale_sofia.simulator.imot_listing import listing_page
from sale_sofia.simulator.imot_project import Project, make_project, project_page
from sale_sofia.simulator.imot_search import (
    MOST_RESULTS,
    PAGE_SIZE,
    empty_search_page,
    next_url,
    page_count,
    page_url,
    promoted_project,
    removed_page,
    search_page,
)

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
