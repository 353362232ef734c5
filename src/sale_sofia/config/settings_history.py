"""Settings of the history: revisits, sweeps, delisting."""

from pydantic import BaseModel

from sale_sofia.config.settings_types import decimal, whole


class HistorySettings(BaseModel):
    """Settings of the history: revisits, sweeps, delisting."""

    odd_price_visits: int = whole(
        3,
        1,
        100,
        "visits",
        "Visits in a row after which a price that turned into another meaning (per m², a tenth, a "
        "thousandth) is believed.",
    )
    scrape_history_days: int = whole(
        90,
        1,
        36_500,
        "days",
        "Visits that changed nothing are remembered so long; `prune` forgets older ones.",
    )
    search_stale_pages: int = whole(
        5,
        2,
        1000,
        "pages",
        "A search ends after so many pages in a row without an advert that is new to it; a site file may say "
        "another number (`stale_pages`).",
    )
    search_total_factor: float = decimal(
        2.0,
        1.1,
        100,
        "times",
        "A search ends when it has shown so many times as many different adverts as the portal says it has.",
    )
    search_max_pages: int = whole(
        3000, 10, 1_000_000, "pages", "A search ends after so many pages, whatever they show."
    )
    search_max_parts: int = whole(
        5000, 10, 1_000_000, "searches", "A crawl cuts its searches into no more parts than these together."
    )
