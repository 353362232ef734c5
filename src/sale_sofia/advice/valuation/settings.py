"""How fair prices are worked out; no environment variable sets these, each says its unit and why."""

from typing import Final

MODEL_FORMAT: Final = 1
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
"""Share of the price; how many flats are valued so closely is told beside the median error."""
JUDGED_FLATS: Final = 15
"""A neighbourhood with fewer flats has no error of its own, and no verdict is passed on its flats."""
WORST_LISTED: Final = 10
"""Neighbourhoods with the largest errors that are told."""
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
