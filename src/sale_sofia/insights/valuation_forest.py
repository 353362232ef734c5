"""A forest whose answer is made of flats: how much each known flat tells of the one that is asked about.

scikit-learn grows the trees; here they are plain arrays, so that a forest is stored and read without running
anything. A flat weighs as much as it shares leaves with the one asked about (Meinshausen 2006).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sale_sofia.config.valuation import FEATURE_SHARE, LEAF_FLATS, SEED, TREES
from sale_sofia.insights.valuation_features import Matrix

Numbers = NDArray[np.int32]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees with all nodes in one numbering; of a leaf, which of the known flats are in it."""

    roots: Numbers
    left: Numbers
    """The node for values up to the threshold; of a leaf -1."""
    right: Numbers
    feature: Numbers
    threshold: Values
    starts: Numbers
    counts: Numbers
    members: Numbers
    """The known flats by tree and leaf; those of a node from `starts` on, so many as `counts`."""

    @classmethod
    def grow(cls, rows: Matrix, target: Values) -> "Forest":
        """The same rows and targets always give the same forest."""
        # Slow to import, and most commands never need it.
        from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415

        grown = RandomForestRegressor(
            TREES, min_samples_leaf=LEAF_FLATS, max_features=FEATURE_SHARE, random_state=SEED
        ).fit(rows, target)
        return cls._of_trees([one.tree_ for one in grown.estimators_], rows)

    @classmethod
    def _of_trees(cls, trees: list[Any], rows: Matrix) -> "Forest":
        sizes = np.array([tree.node_count for tree in trees])
        roots = (np.cumsum(sizes) - sizes).astype(np.int32)
        shape = {
            "roots": roots,
            "left": np.concatenate([_moved(t.children_left, r) for t, r in zip(trees, roots, strict=True)]),
            "right": np.concatenate([_moved(t.children_right, r) for t, r in zip(trees, roots, strict=True)]),
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

    def weights(self, leaves: Numbers, known: int) -> Values:
        """What each of the known flats weighs for the one in these leaves; 1 together."""
        counts = self.counts[leaves]
        first = np.repeat(self.starts[leaves] - np.cumsum(counts) + counts, counts)
        places = self.members[first + np.arange(counts.sum())]
        share = np.repeat(1.0 / (counts * len(leaves)), counts)
        weights: Values = np.bincount(places, share, minlength=known)  # type: ignore[assignment]
        return weights

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All there is, for storing."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Forest":
        """The forest that was stored."""
        return cls(**{one.name: arrays[one.name] for one in fields(cls)})


def _moved(children: Numbers, root: int) -> Numbers:
    return np.where(children < 0, -1, children + root).astype(np.int32)
