"""How well fair prices are told, always on flats that the forest in question has not seen."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sale_sofia.advice.valuation.flats import Matrix, log_asked, matrix
from sale_sofia.advice.valuation.model import Model, Numbers, Values, fit, folds_of
from sale_sofia.advice.valuation.settings import FOLDS, JUDGED_FLATS, NEAR_ERROR, WORST_LISTED
from sale_sofia.flats.flat import Flat

Bands = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Error:
    """How far fair prices are from asking prices. Shares from 0 to 1."""

    flats: int
    median: float
    within_near: float
    """Share of flats valued within a tenth of what is asked."""
    coverage: float | None
    """Share of asking prices inside the interval; None where there is no interval."""
    width: float | None
    """The median interval, as a share of its middle."""

    def as_json(self) -> dict[str, Any]:
        """Rounded, for printing and storing."""
        return {name: round(value, 4) if value is not None else None for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Judged:
    """A model with its error, beside the neighbourhoods' medians on the same flats and folds."""

    model: Model
    error: Error
    by_median: Error
    neighbourhoods: Mapping[str, Error]
    """Those with enough flats, the worst first."""

    def as_json(self) -> dict[str, Any]:
        """What is printed and stored with the model."""
        return {
            "error": self.error.as_json(),
            "neighbourhood_median": self.by_median.as_json(),
            "worst": {name: one.as_json() for name, one in self.neighbourhoods.items()},
        }


def fit_and_judge(flats: Sequence[Flat]) -> Judged:
    """Fit on these flats; all adverts of a flat are in one fold."""
    ids = [flat.property_id for flat in flats]
    return _judged(flats, matrix(flats), folds_of(ids))


def judge_apart(flats: Sequence[Flat], key: Callable[[Flat], str]) -> Judged | None:
    """The same with all flats of one key (a neighbourhood) left out together; None with too few keys."""
    folds = _folds_by(flats, key)
    return None if folds is None else _judged(flats, matrix(flats), folds)


def neighbourhood_of(flat: Flat) -> str:
    """Its name; a question mark where it is not known."""
    return flat.neighbourhood or "?"


def _judged(flats: Sequence[Flat], rows: Matrix, folds: Numbers) -> Judged:
    target = np.array([log_asked(flat) for flat in flats])
    model = fit([flat.property_id for flat in flats], folds, rows, target)
    bands = np.array([band for band, _ in model.values(folds, rows)])
    asked = np.exp(target)
    return Judged(
        model, _error(asked, bands), _median_error(flats, asked, folds), _worst(flats, asked, bands)
    )


def _error(asked: Values, bands: Bands) -> Error:
    off = np.abs(bands[:, 1] / asked - 1)
    held = (asked >= bands[:, 0]) & (asked <= bands[:, 2])
    width = (bands[:, 2] - bands[:, 0]) / bands[:, 1]
    return _of(off, coverage=float(held.mean()), width=float(np.median(width)))


def _of(off: Values, coverage: float | None, width: float | None) -> Error:
    return Error(len(off), float(np.median(off)), float((off <= NEAR_ERROR).mean()), coverage, width)


def _median_error(flats: Sequence[Flat], asked: Values, folds: Numbers) -> Error:
    """The neighbourhood's median for each m² in the other folds, of all flats where it has none."""
    names = [flat.neighbourhood for flat in flats]
    told = np.empty(len(asked))
    for fold in range(FOLDS):
        others: dict[str | None, list[float]] = defaultdict(list)
        for place in np.flatnonzero(folds != fold).tolist():
            others[names[place]].append(asked[place])
        everywhere = float(np.median(asked[folds != fold]))
        medians = {name: float(np.median(found)) for name, found in others.items()}
        own = folds == fold
        told[own] = [medians.get(names[place], everywhere) for place in np.flatnonzero(own).tolist()]
    return _of(np.abs(told / asked - 1), None, None)


def _worst(flats: Sequence[Flat], asked: Values, bands: Bands) -> dict[str, Error]:
    places = _places(flats, neighbourhood_of)
    judged = {
        name: _error(asked[found], bands[found])
        for name, found in places.items()
        if len(found) >= JUDGED_FLATS
    }
    ordered = sorted(judged.items(), key=lambda one: -one[1].median)
    return dict(ordered[:WORST_LISTED])


def _folds_by(flats: Sequence[Flat], key: Callable[[Flat], str]) -> Numbers | None:
    """Keys dealt out so that the folds are about as large."""
    places = _places(flats, key)
    if len(places) < FOLDS:
        return None
    folds, sizes = np.zeros(len(flats), np.int32), [0] * FOLDS
    for _, found in sorted(places.items(), key=lambda one: (-len(one[1]), one[0])):
        smallest = sizes.index(min(sizes))
        folds[found] = smallest
        sizes[smallest] += len(found)
    return folds


def _places(flats: Sequence[Flat], key: Callable[[Flat], str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for place, flat in enumerate(flats):
        found[key(flat)].append(place)
    return found
