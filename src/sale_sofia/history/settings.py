"""The rules of the history: when an advert is revisited, and which prices are believed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from sale_sofia.settings.types import decimal, whole

CLOCK_FAULT_SECONDS: Final = 60.0
"""A stored moment further ahead means a wrong clock: machines of a fleet differ by less."""

OWN_SITE: Final = "sale-sofia"
"""Where an incident is that belongs to no portal."""

SECONDS_PER_HOUR: Final = 3600.0
"""Site files use hours, the database seconds."""
EARLIEST_LISTED: Final = 946_684_800.0
"""The year 2000 in seconds since 1970: no portal has an advert from before it."""
QUIET_FACTOR: Final = 1.5
"""Factor on the revisit interval of an advert that did not change."""
CHANGE_FACTOR: Final = 0.5
"""Factor on the revisit interval of an advert that changed."""
EARLIEST_REVISIT_SHARE: Final = 0.5
"""An advert's next visit is due between this share of its interval and all of it, spread over the adverts:
what was first seen on one day does not all become due on one day."""

ODD_RATIOS: Final[Sequence[float]] = (0.1, 10.0, 0.001, 1000.0)
"""What one or three digits too few or too many do to a price."""
ODD_RATIO_TOLERANCE: Final = 0.01
"""Share by which a price may deviate from such a ratio: a price per m² is printed without cents."""
BUILT_TYPES: Final = frozenset({
    "apartment", "maisonette", "studio", "house", "house_floor", "villa", "office", "shop", "hotel",
    "industrial",
})  # fmt: skip
"""Property types that are never sold or let as a whole for the price of one square metre."""
LEAST_PRICE_EUR: Final[Mapping[str, float]] = {"sale": 10_000.0, "rent": 60.0}
"""If a built property is first seen for less, the number is not taken as its price."""
CARD_AREA_TOLERANCE: Final = 0.05
"""Share by which the area on a card may differ from that on the page of the same flat."""
VAT_RATE: Final = 0.2
"""ЗДДС, art. 66: the standard rate; due on flats in new buildings, and on fees of notaries and agencies."""
VAT_TOLERANCE: Final = 0.002
"""Share by which prices may deviate from it: portals print whole euros."""

USUAL_SWEEPS: Final = 7
"""Complete sweeps whose median number of adverts is usual: a week of nightly crawls."""
LEAST_USUAL_ADVERTS: Final = 10
"""Below this usual number of adverts a drop by half is no collapse."""
LEAST_COVERAGE: Final = 0.98
"""Share of the announced adverts that counts as all of them: adverts come and go during a sweep."""
COVERAGE_SLACK: Final = 2
"""Adverts by which a small search may fall short of its total."""
SITEMAP_LEAST_UNIQUE: Final = 0.95
"""Share of a sitemap's adverts that must differ: one being rebuilt lists some twice and others not at all."""
CAP_LEAST_ADVERTS: Final = 500
"""A search that ends early after fewer adverts has met no cap: portals show a thousand or more."""
SITEMAP_MOST_DEPTH: Final = 3
"""Nested sitemap indexes that are followed; the protocol knows one level."""
CARDS_AT_ONCE: Final = 1000
"""Cards of one page in one statement: a sitemap may have tens of thousands."""
THIN_SHARE: Final = 0.5
"""A sweep of a whole portal that saw less than this share of its known size is incomplete."""
LEARNT_SECONDS: Final = 30 * 24 * SECONDS_PER_HOUR
"""How long what was learnt about a portal's limits and filters is valid."""
LOOKS_AT_ONCE: Final = 5000
"""Most missing adverts that one sweep opens, at imot.bg's pace some four hours of reading."""
RELATIVE_SEEN_SECONDS: Final = 7 * 24 * SECONDS_PER_HOUR
"""An advert that its own portal's searches have not shown for this long does not count as a relative: it may
be gone without anyone having checked."""
LEAST_COPIES_CHECKED: Final = 10
"""Copies that a run must have opened as a sample before their differences open an incident."""
COPY_PRICE_EUR: Final = 1.0
"""Prices less than this apart are the same: one portal prints cents, or converts from leva."""
REMEMBERED_COUNTERS: Final = 16
"""Runs whose counters a process caches: more than the portals crawled at once."""
SHOWN_CHANGES: Final = 200
"""Lines of `changes` for people; JSON has all of them."""
STREAMED_CHANGES: Final = 1000
"""Rows of the history read at once."""
ROWS_PRUNED_AT_ONCE: Final = 5000
"""Rows that `prune` processes in one transaction: a fraction of a second, so that no crawl waits for it."""
SHOWN_IDS: Final = 3
"""Ids of a filter that `sites learnt` shows, of some two hundred; JSON has all of them."""
SHOWN_SWEEPS: Final = 30
"""Sweeps that are listed: a month of nightly crawls."""


@dataclass(frozen=True, slots=True)
class HistoryRules:
    """How the history of a portal's adverts is kept; the numbers come from its site file and the settings."""

    first_seconds: float = 480 * SECONDS_PER_HOUR
    """The interval of an advert that was seen once."""
    least_seconds: float = 24 * SECONDS_PER_HOUR
    most_seconds: float = 720 * SECONDS_PER_HOUR
    odd_price_visits: int = 3
    """After this many visits in a row a price of another meaning is believed."""
    gone_value_visits: int = 2
    """After this many visits in a row without it, a value is gone."""


class HistorySettings(BaseModel, defer_build=True):
    """Settings of the history: revisits, sweeps, delisting."""

    odd_price_visits: int = whole(
        3,
        1,
        100,
        "visits",
        "Visits in a row after which a price that turned into another meaning (per m², a tenth, a "
        "thousandth) is believed.",
    )
    gone_value_visits: int = whole(
        2,
        1,
        100,
        "visits",
        "Visits in a row, while the portal's pages are as usual, after which a value that an advert no "
        "longer shows is gone; until then it stays.",
    )
    scrape_history_days: int = whole(
        90,
        1,
        36_500,
        "days",
        "Visits that changed nothing are remembered so long; `prune` forgets older ones.",
    )
    copy_check_every: int = whole(
        20,
        1,
        10_000,
        "adverts",
        "An advert whose card says what another portal's page of the same family says is not opened, but for "
        "one of so many, which checks it; 1 opens them all.",
    )
    copy_differing_share: float = decimal(
        0.1,
        0.01,
        1,
        "share",
        "An incident is opened when more than this share of the copies that were checked say something else.",
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


class DriftSettings(BaseModel, defer_build=True):
    """Settings of the alarm for pages that changed: what is usual, and how far from it is too far."""

    drift_runs: int = whole(
        14, 3, 365, "runs", "The last sound runs of the same searches whose median is what is usual."
    )
    drift_least_runs: int = whole(
        3, 1, 365, "runs", "Before there are so many of them, nothing is compared with what is usual."
    )
    drift_least_pages: int = whole(
        10,
        3,
        100_000,
        "pages",
        "Runs with fewer pages, or cards, count together as one until they have so many.",
    )
    drift_sample_pages: int = whole(
        20,
        0,
        1000,
        "pages",
        "Adverts that a crawl opens at least, but not more than two in a hundred, though their cards are "
        "unchanged: so that a change of their pages shows in the first crawl after it.",
    )
    drift_fill_drop: float = decimal(
        0.2,
        0.01,
        1,
        "share",
        "A field that is filled on a share of pages smaller by more than this has drifted.",
    )
    drift_price_shift: float = decimal(
        0.15, 0.01, 1, "share", "A median price that moved by more than this share of itself has drifted."
    )
