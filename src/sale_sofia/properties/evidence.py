"""Why an advert is of its property: the strongest link to another one there, told field by field."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.config.matching import PAIRS_AT_ONCE, SAVED_AT_ONCE
from sale_sofia.data.properties import Source
from sale_sofia.properties.comparison import LEVELS, Comparison
from sale_sofia.properties.links import Kind, Links
from sale_sofia.properties.records import Adverts
from sale_sofia.properties.weights import Weights

Evidence = dict[str, Any]
ALONE: Final = "alone"
DECIDED: Final[Mapping[int, str]] = {Kind.BUYER: "buyer", Kind.FAMILY: "evidence", Kind.SCORE: "score"}
_DIGITS: Final = 6


def sources(adverts: Adverts, groups: NDArray[np.int64], links: Links, weights: Weights) -> Iterator[Source]:
    """Each advert with its property, and the strongest link that speaks for it."""
    best = _strongest(adverts, groups, links)
    for begin in range(0, len(adverts), SAVED_AT_ONCE):
        ids = adverts.ids[begin : begin + SAVED_AT_ONCE]
        first, last = np.searchsorted(best.low, (ids[0], ids[-1] + 1))
        told = _told(adverts, best.chosen(slice(first, last)), weights)
        for advert, group in zip(ids.tolist(), groups[begin : begin + SAVED_AT_ONCE].tolist(), strict=True):
            yield Source(advert, group, *told.get(advert, (1.0, ALONE, {})))


def _told(adverts: Adverts, best: Links, weights: Weights) -> dict[int, tuple[float, str, Evidence]]:
    """By advert: how surely, who decided, and why."""
    columns = (best.low.tolist(), best.probability.tolist(), best.kind.tolist())
    told = zip(*columns, explain(adverts, best, weights), strict=True)
    return {advert: (surely, DECIDED[kind], words) for advert, surely, kind, words in told}


def explain(adverts: Adverts, links: Links, weights: Weights) -> Iterator[Evidence]:
    """What speaks for and against each link: the other advert, and each field's level and weight."""
    for begin in range(0, len(links), PAIRS_AT_ONCE):
        part = links.chosen(slice(begin, begin + PAIRS_AT_ONCE))
        pairs = Comparison(adverts, adverts.rows_of(part.low), adverts.rows_of(part.high))
        levels = {field: pairs.levels(field).tolist() for field in LEVELS}
        added = {field: weights.field(pairs, field).round(3).tolist() for field in LEVELS}
        family = pairs.family.tolist()
        for place, other in enumerate(part.high.tolist()):
            told: Evidence = {"with": other}
            if family[place]:
                told["family_id"] = "same"
            yield told | {
                field: [LEVELS[field][levels[field][place]], added[field][place]]
                for field in LEVELS
                if levels[field][place]
            }


def _strongest(adverts: Adverts, groups: NDArray[np.int64], links: Links) -> Links:
    """For each advert that has one (as `low`) the strongest link within its group."""
    inside = groups[adverts.rows_of(links.low)] == groups[adverts.rows_of(links.high)]
    there = links.chosen(inside)
    both = Links.joined(there, Links(there.high, there.low, there.probability, there.kind))
    order = np.lexsort((both.high, -both.probability, both.kind, both.low))
    first = np.ones(len(order), bool)
    first[1:] = np.diff(both.low[order]) != 0
    return both.chosen(order[first])


def as_links(rows: Sequence[tuple[int, int, float, int]]) -> Links:
    """Links of plain rows: low, high, probability, kind."""
    if not rows:
        return Links.none()
    low, high, probability, kind = zip(*rows, strict=True)
    return Links(
        np.array(low, np.int64), np.array(high, np.int64), np.array(probability), np.array(kind, np.int8)
    )
