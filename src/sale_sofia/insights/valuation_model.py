"""The fair-price model: five forests, each flat valued by the one that has not seen it.

So the error that is told is the error of what is shown, and no flat's price is explained by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sale_sofia.config.valuation import COVERAGE, FOLDS
from sale_sofia.insights.valuation_features import Matrix
from sale_sofia.insights.valuation_forest import Forest, Numbers, Values

_TAIL = (1 - COVERAGE) / 2
_QUANTILES = (_TAIL, 0.5, 1 - _TAIL)


class Band(NamedTuple):
    """EUR for each m² with VAT: the least and most that is usual, and the middle."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Part:
    """One forest, and the flats it knows, the cheapest first."""

    forest: Forest
    known: Numbers
    """Places among the model's flats."""
    margins: tuple[float, float]
    """By how much (in logarithms) the forest's own interval is widened below and above."""


@dataclass(frozen=True, slots=True)
class Model:
    """Known flats by their ids, what is asked for each m² of them (logarithm), and the forests."""

    ids: NDArray[np.int64]
    target: Values
    parts: tuple[Part, ...]

    def values(self, folds: Numbers, rows: Matrix) -> Iterator[tuple[Band, Values]]:
        """The band of each flat, and what each of the known flats weighs in it."""
        leaves = [part.forest.leaves(rows[folds == fold]) for fold, part in enumerate(self.parts)]
        turns = [iter(found) for found in leaves]
        for fold in folds.tolist():
            part = self.parts[fold]
            weights = part.forest.weights(next(turns[fold]), len(part.known))
            low, middle, high = weighted_quantiles(self.target[part.known], weights)
            below, above = part.margins
            band = Band(min(low - below, middle), middle, max(high + above, middle))
            everywhere = np.zeros(len(self.ids))
            everywhere[part.known] = weights
            yield Band(*np.exp(band).tolist()), everywhere


def fit(ids: Sequence[int], folds: Numbers, rows: Matrix, target: Values) -> Model:
    """The model of these flats, its intervals calibrated on flats that their forests have not seen."""
    parts = [_part(np.flatnonzero(folds != fold), rows, target) for fold in range(FOLDS)]
    own = np.empty((len(target), len(_QUANTILES)))
    for fold, part in enumerate(parts):
        own[folds == fold] = _own_quantiles(part, rows[folds == fold], target)
    return Model(
        np.asarray(ids, np.int64),
        target,
        tuple(
            Part(part.forest, part.known, _margins(own[folds != fold], target[folds != fold]))
            for fold, part in enumerate(parts)
        ),
    )


def folds_of(ids: Sequence[int]) -> Numbers:
    """The part of each flat, by its id alone: all adverts of a flat are in one, today and tomorrow."""
    return np.array([_digest(one) % FOLDS for one in ids], np.int32)


def weighted_quantiles(rising: Values, weights: Values) -> Values:
    """The lower end, middle and upper end of values that rise, each with its weight."""
    some = weights > 0
    weight = weights[some]
    middles = np.cumsum(weight) - weight / 2
    found: Values = np.interp(np.array(_QUANTILES) * weight.sum(), middles, rising[some])
    return found


def _digest(number: int) -> int:
    return int.from_bytes(blake2b(str(number).encode(), digest_size=8).digest())


def _part(known: NDArray[np.int64], rows: Matrix, target: Values) -> Part:
    # Rising prices, so that quantiles need no sorting for each flat that is asked about.
    rising = known[np.argsort(target[known], kind="stable")]
    forest = Forest.grow(rows[rising], target[rising])
    return Part(forest, rising.astype(np.int32), (0.0, 0.0))


def _own_quantiles(part: Part, rows: Matrix, target: Values) -> list[Values]:
    rising = target[part.known]
    return [
        weighted_quantiles(rising, part.forest.weights(leaves, len(rising)))
        for leaves in part.forest.leaves(rows)
    ]


def _margins(own: Values, target: Values) -> tuple[float, float]:
    """What makes each side hold its share (conformalised quantile regression, Romano 2019, side by side)."""
    return _upper(own[:, 0] - target), _upper(target - own[:, -1])


def _upper(misses: Values) -> float:
    share = min(1.0, (1 - _TAIL) * (1 + 1 / len(misses)))
    return float(np.quantile(misses, share, method="higher"))
