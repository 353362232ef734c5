"""Settings of the alarm for pages that changed."""

from pydantic import BaseModel

from sale_sofia.config.settings_types import decimal, whole


class DriftSettings(BaseModel):
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
