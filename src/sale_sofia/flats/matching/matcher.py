"""The matcher: adverts in, groups and links out. It knows no database and no clock."""

import logging
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.flats.matching.candidates import Candidates, find_candidates
from sale_sofia.flats.matching.clustering import Decisions, group_numbers
from sale_sofia.flats.matching.comparison import Weights, load_weights
from sale_sofia.flats.matching.fingerprint import Adverts
from sale_sofia.flats.matching.links import Bands, Links, score

log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Matched:
    """What came of a run: for each advert its group, and every link that was found."""

    ids: NDArray[np.int64]
    groups: NDArray[np.int64]
    links: Links


@dataclass(frozen=True, slots=True)
class Matcher:
    """Finds which adverts are one property, always the same for the same adverts."""

    bands: Bands
    weights: Weights

    @classmethod
    def of(cls, bands: Bands) -> "Matcher":
        """With the weights of this installation."""
        return cls(bands, load_weights())

    def match(self, adverts: Adverts, decisions: Decisions | None = None) -> Matched:
        """Everything, from nothing."""
        links = self.links(adverts, find_candidates(adverts))
        return Matched(adverts.ids, group_numbers(adverts, links, decisions or Decisions()), links)

    def links(self, adverts: Adverts, candidates: Candidates) -> Links:
        """The links among the candidates; what was not compared is logged."""
        for join, count in candidates.cut.items():
            log.warning("matching by %s: %d comparisons under crowded keys were left out", join, count)
        return score(adverts, candidates, self.weights, self.bands)
