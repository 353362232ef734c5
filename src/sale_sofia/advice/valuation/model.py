"""The fair-price model: five forests; each flat is valued by the forest that was not trained on it."""

import hashlib
import io
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, select

from sale_sofia.advice import settings as fixed
from sale_sofia.advice.tables import valuation_models
from sale_sofia.advice.valuation.flats import Matrix, log_eur_sqm, matrix
from sale_sofia.flats.flat import Flat
from sale_sofia.settings.files import write_whole

# A forest whose answer is a weight for each of its training flats.
# scikit-learn grows the trees; here they are plain arrays, so that a forest is stored and read without
# running anything. A flat weighs as much as it shares leaves with the flat to value (Meinshausen 2006).

Numbers = NDArray[np.int32]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees with all nodes in one numbering, and the training flats in each leaf."""

    roots: Numbers
    left: Numbers
    """The node for values up to the threshold; -1 for a leaf."""
    right: Numbers
    feature: Numbers
    threshold: Values
    starts: Numbers
    counts: Numbers
    members: Numbers
    """The training flats by tree and leaf; a leaf has `counts` of them, from `starts` on."""

    @classmethod
    def grow(cls, rows: Matrix, target: Values) -> "Forest":
        """The same rows and targets always give the same forest."""
        # Slow to import, and most commands never need it.
        from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415

        grown = RandomForestRegressor(
            fixed.TREES,
            min_samples_leaf=fixed.LEAF_FLATS,
            max_features=fixed.FEATURE_SHARE,
            random_state=fixed.SEED,
        ).fit(rows, target)
        return cls._of_trees([estimator.tree_ for estimator in grown.estimators_], rows)

    @classmethod
    def _of_trees(cls, trees: Sequence[Any], rows: Matrix) -> "Forest":
        sizes = np.array([tree.node_count for tree in trees])
        roots = (np.cumsum(sizes) - sizes).astype(np.int32)

        def joined(children: str) -> Numbers:
            found = [getattr(tree, children) for tree in trees]
            moved = [np.where(own < 0, -1, own + root) for own, root in zip(found, roots, strict=True)]
            return np.concatenate(moved).astype(np.int32)

        shape = {
            "roots": roots,
            "left": joined("children_left"),
            "right": joined("children_right"),
            "feature": np.concatenate([tree.feature for tree in trees]).astype(np.int32),
            "threshold": np.concatenate([tree.threshold for tree in trees]),
        }
        empty = np.zeros(0, np.int32)
        leaves = cls(**shape, starts=empty, counts=empty, members=empty).leaves(rows)
        counts = np.bincount(leaves.ravel(), minlength=int(sizes.sum())).astype(np.int32)
        order = np.argsort(leaves.T.ravel(), kind="stable")
        members = (order % len(rows)).astype(np.int32)
        starts = (np.cumsum(counts) - counts).astype(np.int32)
        return cls(**shape, starts=starts, counts=counts, members=members)

    def leaves(self, rows: Matrix) -> Numbers:
        """The leaf of every tree that each row falls into."""
        nodes = np.repeat(self.roots[None, :], len(rows), axis=0)
        inner = self.left[nodes] >= 0
        while inner.any():
            row, tree = np.nonzero(inner)
            at = nodes[row, tree]
            goes_left = rows[row, self.feature[at]] <= self.threshold[at]
            nodes[row, tree] = np.where(goes_left, self.left[at], self.right[at])
            inner[row, tree] = self.left[nodes[row, tree]] >= 0
        return nodes

    def weights(self, leaves: Numbers, flats: int) -> Values:
        """The weight of each of so many training flats for the flat in these leaves; they sum to 1."""
        counts = self.counts[leaves]
        first = np.repeat(self.starts[leaves] - np.cumsum(counts) + counts, counts)
        places = self.members[first + np.arange(counts.sum())]
        share = np.repeat(1.0 / (counts * len(leaves)), counts)
        return np.bincount(places, share, minlength=flats).astype(float, copy=False)


_TAIL = (1 - fixed.COVERAGE) / 2
_QUANTILES = (_TAIL, 0.5, 1 - _TAIL)


class FairBand(NamedTuple):
    """EUR for each m² with VAT: the least and most that is usual, and the middle."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class ForestPart:
    """One forest, and its training flats, the cheapest first."""

    forest: Forest
    training: Numbers
    """Their places among the model's flats."""
    margins: tuple[float, float]
    """By how much (in logarithms) the forest's own interval is widened below and above."""


@dataclass(frozen=True, slots=True)
class Model:
    """The ids of the training flats, their asking prices per m² (logarithms), and the forests."""

    ids: NDArray[np.int64]
    target: Values
    parts: tuple[ForestPart, ...]

    def values(self, folds: Numbers, rows: Matrix) -> Iterator[tuple[FairBand, Values]]:
        """The band of each flat, and the weight of each of the model's flats in it."""
        leaves = [part.forest.leaves(rows[folds == fold]) for fold, part in enumerate(self.parts)]
        turns = [*map(iter, leaves)]
        for fold in folds.tolist():
            part = self.parts[fold]
            weights = part.forest.weights(next(turns[fold]), len(part.training))
            low, middle, high = weighted_quantiles(self.target[part.training], weights)
            below, above = part.margins
            band = FairBand(min(low - below, middle), middle, max(high + above, middle))
            everywhere = np.zeros(len(self.ids))
            everywhere[part.training] = weights
            yield FairBand(*np.exp(band).tolist()), everywhere


def fit(ids: Sequence[int], folds: Numbers, rows: Matrix, target: Values) -> Model:
    """The model of these flats; intervals are calibrated on flats that a forest was not trained on."""
    forests: list[tuple[Forest, Numbers]] = []
    quantiles = np.empty((len(target), len(_QUANTILES)))
    for fold in range(fixed.FOLDS):
        training = np.flatnonzero(folds != fold).astype(np.int32)
        # Rising prices, so that quantiles need no sorting for each flat to value.
        training = training[np.argsort(target[training], kind="stable")]
        forest = Forest.grow(rows[training], target[training])
        quantiles[folds == fold] = [
            weighted_quantiles(target[training], forest.weights(leaves, len(training)))
            for leaves in forest.leaves(rows[folds == fold])
        ]
        forests.append((forest, training))
    parts = []
    for fold, (forest, training) in enumerate(forests):
        # What makes each side hold its share (conformalised quantile regression, Romano 2019, side by side).
        own, actual = quantiles[folds != fold], target[folds != fold]
        parts.append(ForestPart(forest, training, (_upper(own[:, 0] - actual), _upper(actual - own[:, -1]))))
    return Model(np.asarray(ids, np.int64), target, tuple(parts))


def _upper(misses: Values) -> float:
    share = min(1.0, (1 - _TAIL) * (1 + 1 / len(misses)))
    return float(np.quantile(misses, share, method="higher"))


def folds_of(ids: Sequence[int]) -> Numbers:
    """The fold of each flat, by its id alone: it never changes, and all adverts of a flat share it."""
    digests = [hashlib.blake2b(str(number).encode(), digest_size=8).digest() for number in ids]
    return np.array([int.from_bytes(digest) % fixed.FOLDS for digest in digests], np.int32)


def weighted_quantiles(rising: Values, weights: Values) -> Values:
    """The lower end, middle and upper end of weighted values, which are in rising order."""
    some = weights > 0
    weight = weights[some]
    middles = np.cumsum(weight) - weight / 2
    quantiles: Values = np.interp(np.array(_QUANTILES) * weight.sum(), middles, rising[some])
    return quantiles


# The fair-price model in a file of numbers under DATA_DIR; its report is in the database. Reading the file
# runs no code, and a file whose digest is not in the database is not read at all.


@dataclass(frozen=True, slots=True)
class Current:
    """A usable model, when it was made, and how accurate it is."""

    model: Model
    made_at: float
    report: dict[str, Any]


def write_file(data_dir: Path, model: Model) -> str:
    """Write the model to its file, whole or not at all; the file's digest."""
    arrays: dict[str, NDArray[Any]] = {"ids": model.ids, "target": model.target}
    for number, part in enumerate(model.parts):
        forest = {field.name: getattr(part.forest, field.name) for field in fields(part.forest)}
        own = {**forest, "known": part.training, "margins": np.array(part.margins)}
        arrays |= {f"{number}_{name}": values for name, values in own.items()}
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    write_whole(data_dir / fixed.MODEL_FILE, packed.getvalue())
    return hashlib.sha256(packed.getvalue()).hexdigest()


def note_model(connection: Connection, digest: str, *, made_at: float, flats: int, report: Any) -> None:  # noqa: ANN401 - JSON
    """Store the report of the model in the file with this digest; a second fit may give the same file."""
    connection.execute(delete(valuation_models).where(valuation_models.c.digest == digest))
    connection.execute(
        insert(valuation_models).values(
            digest=digest, format=fixed.MODEL_FORMAT, made_at=made_at, flats=flats, report=report
        )
    )


def stored_model(
    connection: Connection, data_dir: Path, *, made_since: float, least_flats: int
) -> Current | None:
    """The model of the file, if the database has its digest and it is current in format, age and size."""
    try:
        packed = (data_dir / fixed.MODEL_FILE).read_bytes()
    except FileNotFoundError:
        return None
    digest = hashlib.sha256(packed).hexdigest()
    found = select(valuation_models).where(valuation_models.c.digest == digest)
    row = connection.execute(found).mappings().first()
    if row is None or row["format"] != fixed.MODEL_FORMAT:
        return None
    if row["made_at"] < made_since or row["flats"] < least_flats:
        return None
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        arrays = dict(file)
    parts = []
    for number in range(fixed.FOLDS):
        forest = Forest(**{field.name: arrays[f"{number}_{field.name}"] for field in fields(Forest)})
        below, above = arrays[f"{number}_margins"].tolist()
        parts.append(ForestPart(forest, arrays[f"{number}_known"], (below, above)))
    return Current(Model(arrays["ids"], arrays["target"], tuple(parts)), row["made_at"], row["report"])


# How accurate fair prices are, always on flats that the forest in question was not trained on.


@dataclass(frozen=True, slots=True)
class Error:
    """How far fair prices are from asking prices. Shares from 0 to 1."""

    flats: int
    median: float
    within_near: float
    """Share of flats valued within a tenth of their asking price."""
    coverage: float | None
    """Share of asking prices inside the interval; None where there is no interval."""
    width: float | None
    """The median interval, as a share of its middle."""

    def as_json(self) -> dict[str, Any]:
        """Rounded, for printing and storing."""
        return {name: round(value, 4) if value is not None else None for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class JudgedModel:
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
            "worst": {name: error.as_json() for name, error in self.neighbourhoods.items()},
        }


def fit_and_judge(flats: Sequence[Flat]) -> JudgedModel:
    """Fit on these flats; all adverts of a flat are in one fold."""
    return _judged(flats, folds_of([flat.property_id for flat in flats]))


def judge_apart(flats: Sequence[Flat], key: Callable[[Flat], str]) -> JudgedModel | None:
    """The same with all flats of one key (a neighbourhood) left out together; None with too few keys."""
    places = _places(flats, key)
    if len(places) < fixed.FOLDS:
        return None
    # Keys are dealt out so that the folds are about as large.
    folds, sizes = np.zeros(len(flats), np.int32), [0] * fixed.FOLDS
    for _, rows in sorted(places.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        smallest = sizes.index(min(sizes))
        folds[rows] = smallest
        sizes[smallest] += len(rows)
    return _judged(flats, folds)


def neighbourhood_of(flat: Flat) -> str:
    """Its name; a question mark where it is not known."""
    return flat.neighbourhood or "?"


def _judged(flats: Sequence[Flat], folds: Numbers) -> JudgedModel:
    rows = matrix(flats)
    target = np.array([log_eur_sqm(flat) for flat in flats])
    model = fit([flat.property_id for flat in flats], folds, rows, target)
    bands = np.array([band for band, _ in model.values(folds, rows)])
    prices = np.exp(target)
    by_name = {
        name: _error(prices[places], bands[places])
        for name, places in _places(flats, neighbourhood_of).items()
        if len(places) >= fixed.JUDGED_FLATS
    }
    worst = sorted(by_name.items(), key=lambda pair: -pair[1].median)[: fixed.WORST_LISTED]
    return JudgedModel(model, _error(prices, bands), _median_error(flats, prices, folds), dict(worst))


def _error(prices: Values, bands: Values) -> Error:
    off = np.abs(bands[:, 1] / prices - 1)
    held = (prices >= bands[:, 0]) & (prices <= bands[:, 2])
    width = (bands[:, 2] - bands[:, 0]) / bands[:, 1]
    return _of(off, coverage=float(held.mean()), width=float(np.median(width)))


def _of(off: Values, coverage: float | None, width: float | None) -> Error:
    return Error(len(off), float(np.median(off)), float((off <= fixed.NEAR_ERROR).mean()), coverage, width)


def _median_error(flats: Sequence[Flat], prices: Values, folds: Numbers) -> Error:
    """The error of the neighbourhood's median per m² in the other folds; of all flats if it has none."""
    names = [flat.neighbourhood for flat in flats]
    medians = np.empty(len(prices))
    for fold in range(fixed.FOLDS):
        others: dict[str | None, list[float]] = defaultdict(list)
        for place in np.flatnonzero(folds != fold).tolist():
            others[names[place]].append(prices[place])
        everywhere = np.median(prices[folds != fold])
        by_name = {name: np.median(values) for name, values in others.items()}
        for place in np.flatnonzero(folds == fold).tolist():
            medians[place] = by_name.get(names[place], everywhere)
    return _of(np.abs(medians / prices - 1), None, None)


def _places(flats: Sequence[Flat], key: Callable[[Flat], str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, flat in enumerate(flats):
        places[key(flat)].append(place)
    return places
