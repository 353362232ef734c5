"""Constants and settings of scores, market figures and fair prices."""

from typing import Final

from pydantic import BaseModel

from sale_sofia.settings.types import decimal, switch, whole

PARTS_REMEMBERED: Final = 10_000
"""Parts of scores of each kind that are made once; there are fewer different floors, years or walks."""
SCORES_AT_ONCE: Final = 5_000
"""Scores that are written in one transaction: a crawl that writes meanwhile waits for no more."""
SCORES_SHOWN: Final = 20
"""Flats that `sale-sofia score` lists by default."""
INCIDENT_SITE: Final = "scores"
"""Under this name incidents of scoring stand, in the place of a portal's."""


class InsightSettings(BaseModel, defer_build=True):
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


# What buying a flat in Sofia costs beside its price. Rates are shares; sums are EUR.

EUR_IN_BGN: Final = 1.95583
"""The notary tariff is written in leva."""
TRANSFER_TAX: Final = 0.03
"""ЗМДТ, art. 47, and Sofia's ordinance on local taxes: 3 % of the price of a property that changes hands."""
REGISTRATION: Final = 0.001
"""The Registry Agency's tariff: 0.1 % for entering a deed."""
NOTARY_BGN: Final = (
    (0.0, 30.0, 0.0),
    (100.0, 30.0, 0.015),
    (1_000.0, 43.50, 0.013),
    (10_000.0, 160.50, 0.008),
    (50_000.0, 480.50, 0.005),
    (100_000.0, 730.50, 0.002),
    (500_000.0, 1_530.50, 0.001),
)
"""The tariff of the law on notaries, section I, item 8, without VAT.

Above so many leva: this sum, and this share of what is above.
"""
NOTARY_MOST_BGN: Final = 6_000.0
"""The most that the same tariff allows."""
COMMISSION_PERCENT: Final = 3.0
"""Usual for agencies in Sofia, paid by the buyer, without VAT. A profile may say another."""
NO_COMMISSION: Final = frozenset({"private", "developer"})
"""Sellers whom a buyer pays no commission."""
RENOVATION_EUR_SQM: Final = {"needs_renovation": 350.0, "bare": 450.0, "good": 60.0}
"""EUR for each m² by condition, work and materials of an ordinary standard; what is not here needs none.

A profile may say others. A condition that is not known may cost anything from nothing to the dearest.
"""


# Lessons from rejected flats.

LESSON_LEAST_CAUGHT: Final = 2
"""Rejected flats that a change must have kept away to be offered: one alone is chance."""
LESSON_METRO_MINUTES: Final = 15
"""Minutes on foot to the metro that are offered as a limit: farther away people take a bus."""
LESSON_ELEVATOR_FLOOR: Final = 3
"""Floor above which an elevator is offered as a condition."""
LESSON_BUDGET_STEP_EUR: Final = 1_000
"""Euros: budgets are whole thousands."""


# Of what market figures are made.

LARGEST_ROOMS: Final = 5
"""Rooms from which on flats are counted together, as the portals do."""
STILL_THERE_DAYS: Final = (30, 60, 90)
"""Days after which the share of flats still offered is shown."""
ROUNDING: Final = 1e-9
"""A share that is a half but for rounding is a half."""
FLATS_AT_ONCE: Final = 2_000
"""Flats whose histories the market reads in one go."""
MARKET_LISTED: Final = 40
"""Lines of `market` for people; JSON has all of them."""


# How fair prices are worked out.

MODEL_FORMAT: Final = 2
"""Raised when features, forests or the file change their meaning: an older model is then fitted anew."""
MODEL_FILE: Final = "fair_price.npz"
"""Under DATA_DIR; arrays of numbers alone, so that reading it runs nothing."""

FOLDS: Final = 5
"""Parts of the flats; each is valued by a forest that has seen only the other parts."""
TREES: Final = 150
"""Trees of a forest: with twice as many the error is the same within 0.1 %."""
LEAF_FLATS: Final = 2
"""Least flats in a leaf. One fits a flat to its near twin only; five are blurred (error +1 %)."""
FEATURE_SHARE: Final = 0.4
"""Share of the features that a split may choose from; fewer serve neighbourhoods without any flat better."""
SEED: Final = 11
"""The same flats give the same model."""

COVERAGE: Final = 0.8
"""Share of asking prices that the interval shall hold: one flat in ten is below it, one above."""
NEAR_ERROR: Final = 0.10
"""Share of the price; the share of flats valued this closely is shown beside the median error."""
JUDGED_FLATS: Final = 15
"""A neighbourhood with fewer flats has no error of its own, and no verdict is passed on its flats."""
WORST_LISTED: Final = 10
"""Neighbourhoods that are listed with the largest errors."""
COMPARABLES_SHOWN: Final = 8
"""Flats that a person looks at beside the one that is valued."""

LEAST_AREA_SQM: Final = 15.0
MOST_AREA_SQM: Final = 600.0
"""Square metres; what is smaller or larger is no flat that others are compared with."""
LEAST_EUR_SQM: Final = 300.0
MOST_EUR_SQM: Final = 20_000.0
"""EUR for each m²; what lies outside is no price of a flat in Sofia (a rent, a price of each m², a slip)."""
DISTORTED: Final = frozenset({"price_from", "share_of_ownership", "compensation_swap", "right_to_build"})
"""Traps of a description with which a price is not the price of a flat."""
