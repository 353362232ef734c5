"""bazar.bg: every kind of page it answers, in UTF-8."""

from sale_sofia.simulator.bazar_listing import listing_page
from sale_sofia.simulator.bazar_search import (
    DISTRICTS,
    PAGE_SIZE,
    empty_search_page,
    next_url,
    page_count,
    page_url,
    removed_page,
    search_page,
)

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
