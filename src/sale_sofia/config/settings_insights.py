"""Settings of scores, market figures and fair prices."""

from pydantic import BaseModel

from sale_sofia.config.settings_types import decimal, switch, whole


class InsightSettings(BaseModel):
    """Settings of scores, market figures and fair prices."""

    score_after_crawl: bool = switch(
        default=True, sentence="Score what a crawl changed, for every profile, when it ends."
    )
    score_least_prices: int = whole(
        15, 2, 10_000, "flats", "So many must be offered for a price per m² to be placed among them."
    )
    score_least_rents: int = whole(
        5, 1, 10_000, "flats", "So many must be let, with as many rooms, for a yield to be worked out."
    )
    market_least_flats: int = whole(
        15, 1, 10_000, "flats", "A market figure made of fewer flats than this is not shown."
    )
    market_weeks: int = whole(12, 1, 520, "weeks", "So many weeks back the market's weekly figures go.")
    valuation_least_flats: int = whole(
        200, 50, 100_000, "flats", "With fewer flats to compare with, no fair price is told."
    )
    valuation_most_flats: int = whole(
        20_000, 200, 1_000_000, "flats", "Of more flats than this, a fair price is told from the newest."
    )
    valuation_days: int = whole(
        180, 1, 3650, "days", "A flat last seen longer ago than this is not compared with."
    )
    valuation_model_hours: float = decimal(
        24, 0, 8760, "hours", "A fair-price model older than this is fitted anew when it is asked."
    )
