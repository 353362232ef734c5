"""The weights of evidence: `config/matching_weights.yaml`, made by `bench/matching_fit.py`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sale_sofia.config.yaml_text import read_yaml
from sale_sofia.properties.comparison import LEVELS, Comparison
from sale_sofia.properties.roundness import ROUND_AREAS, ROUND_PRICES, area_roundness, price_roundness

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """Log-odds that two adverts are one property: where one begins, and what each level adds or takes."""

    prior: float
    levels: Mapping[str, NDArray[np.float64]]
    same_area: NDArray[np.float64]
    """What an equal area adds, by how round it is: everybody's flat has 80 m²."""
    same_price: NDArray[np.float64]
    """What an equal price adds, by how round it is."""

    def field(self, pairs: Comparison, field: str) -> Scores:
        """What one field adds for each pair."""
        levels = pairs.levels(field)
        added = self.levels[field][levels]
        if field == "area":
            return np.where(levels == 1, self.same_area[area_roundness(pairs.both("area")[0])], added)
        if field == "price":
            return np.where(levels == 1, self.same_price[price_roundness(pairs.both("price")[0])], added)
        return added

    def log_odds(self, pairs: Comparison) -> Scores:
        """All that speaks for and against each pair."""
        return self.prior + sum((self.field(pairs, field) for field in self.levels), np.zeros(len(pairs.one)))


@cache
def load_weights() -> Weights:
    """The weights of this installation."""
    text = resources.files("sale_sofia.config").joinpath("matching_weights.yaml").read_text("utf-8")
    return weights_from(read_yaml(text))


def weights_from(data: Mapping[str, Any]) -> Weights:
    """The weights of a table; a level that is not named adds nothing."""
    return Weights(
        prior=data["prior"],
        levels={field: _row(LEVELS[field], given) for field, given in data["levels"].items()},
        same_area=_row(ROUND_AREAS, data["same_area"]),
        same_price=_row(ROUND_PRICES, data["same_price"]),
    )


def _row(names: tuple[str, ...], given: Mapping[str, float]) -> NDArray[np.float64]:
    return np.array([given.get(name, 0.0) for name in names])
