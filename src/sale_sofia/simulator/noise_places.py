"""A city for noisy adverts: the quarters of Sofia, as often again as the number of adverts asks for."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.listings.places import neighbourhoods

Numbers = NDArray[np.int64]
_ADVERTS_PER_CITY: Final = 40_000
"""So many adverts Sofia has; more adverts make more cities, and never a denser one."""
_NEAREST: Final = 3


@dataclass(frozen=True, slots=True)
class City:
    """Quarters by number, with their names, weights and prices."""

    names: NDArray[np.str_]
    near: Numbers
    """For each quarter the nearest others, one column each."""
    weight: NDArray[np.float64]
    price_per_sqm: NDArray[np.float64]

    def choose(self, rng: np.random.Generator, count: int) -> Numbers:
        """Quarters of that many buildings; some have many times more than others."""
        return rng.choice(len(self.names), count, p=self.weight)

    def neighbour(self, rng: np.random.Generator, quarter: Numbers) -> Numbers:
        """A near quarter of each."""
        return self.near[quarter, rng.integers(0, self.near.shape[1], len(quarter))]


def quarters(adverts: int) -> City:
    """The city for so many adverts."""
    known = [place for place in neighbourhoods() if place.lat is not None and place.lon is not None]
    position = np.array([(place.lat, place.lon) for place in known], float) * (111.2, 81.8)
    distance = np.linalg.norm(position[:, None] - position[None], axis=2)
    near = np.argsort(distance, axis=1, kind="stable")[:, 1 : _NEAREST + 1]
    copies = max(1, round(adverts / _ADVERTS_PER_CITY))
    weight = 1.0 / (3 + np.arange(len(known) * copies) % len(known))
    return City(
        names=np.array([_name(place.name, copy) for copy in range(copies) for place in known]),
        near=np.concatenate([near + copy * len(known) for copy in range(copies)]),
        weight=weight / weight.sum(),
        price_per_sqm=np.resize(np.linspace(1800, 4200, len(known)), len(known) * copies),
    )


def _name(name: str, copy: int) -> str:
    return name if copy == 0 else f"{name} ({copy + 1})"
