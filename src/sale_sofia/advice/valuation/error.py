"""How well fair prices are told, always on flats that the forest in question has not seen."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sale_sofia.advice.settings import FOLDS, JUDGED_FLATS, NEAR_ERROR, WORST_LISTED
from sale_sofia.advice.valuation.flats import log_asked, matrix
from sale_sofia.advice.valuation.model import Model, Numbers, Values, fit, folds_of
from sale_sofia.flats.flat import Flat


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
    return _judged(flats, folds_of([flat.property_id for flat in flats]))


def judge_apart(flats: Sequence[Flat], key: Callable[[Flat], str]) -> Judged | None:
    """The same with all flats of one key (a neighbourhood) left out together; None with too few keys."""
    places = _places(flats, key)
    if len(places) < FOLDS:
        return None
    # Keys are dealt out so that the folds are about as large.
    folds, sizes = np.zeros(len(flats), np.int32), [0] * FOLDS
    for _, found in sorted(places.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        smallest = sizes.index(min(sizes))
        folds[found] = smallest
        sizes[smallest] += len(found)
    return _judged(flats, folds)


def neighbourhood_of(flat: Flat) -> str:
    """Its name; a question mark where it is not known."""
    return flat.neighbourhood or "?"


def _judged(flats: Sequence[Flat], folds: Numbers) -> Judged:
    rows = matrix(flats)
    target = np.array([log_asked(flat) for flat in flats])
    model = fit([flat.property_id for flat in flats], folds, rows, target)
    bands = np.array([band for band, _ in model.values(folds, rows)])
    asked = np.exp(target)
    by_name = {
        name: _error(asked[found], bands[found])
        for name, found in _places(flats, neighbourhood_of).items()
        if len(found) >= JUDGED_FLATS
    }
    worst = sorted(by_name.items(), key=lambda pair: -pair[1].median)[:WORST_LISTED]
    return Judged(model, _error(asked, bands), _median_error(flats, asked, folds), dict(worst))


def _error(asked: Values, bands: Values) -> Error:
    off = np.abs(bands[:, 1] / asked - 1)
    held = (asked >= bands[:, 0]) & (asked <= bands[:, 2])
    width = (bands[:, 2] - bands[:, 0]) / bands[:, 1]
    return _of(off, coverage=float(held.mean()), width=float(np.median(width)))


def _of(off: Values, coverage: float | None, width: float | None) -> Error:
    return Error(len(off), float(np.median(off)), float((off <= NEAR_ERROR).mean()), coverage, width)


def _median_error(flats: Sequence[Flat], asked: Values, folds: Numbers) -> Error:
    """The neighbourhood's median for each m² in the other folds, of all flats where it has none."""
    names = [flat.neighbourhood for flat in flats]
    medians = np.empty(len(asked))
    for fold in range(FOLDS):
        others: dict[str | None, list[float]] = defaultdict(list)
        for place in np.flatnonzero(folds != fold).tolist():
            others[names[place]].append(asked[place])
        everywhere = np.median(asked[folds != fold])
        by_name = {name: np.median(found) for name, found in others.items()}
        for place in np.flatnonzero(folds == fold).tolist():
            medians[place] = by_name.get(names[place], everywhere)
    return _of(np.abs(medians / asked - 1), None, None)


def _places(flats: Sequence[Flat], key: Callable[[Flat], str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for place, flat in enumerate(flats):
        found[key(flat)].append(place)
    return found
