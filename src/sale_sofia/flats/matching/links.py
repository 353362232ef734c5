"""Scored pairs: which adverts are one property, which a person should look at, and why."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.flats.matching.candidates import Candidates
from sale_sofia.flats.matching.comparison import LEVELS, Comparison, Weights, differ
from sale_sofia.flats.matching.fingerprint import (
    ROUND_AREAS,
    ROUND_PRICES,
    Adverts,
    area_roundness,
    price_roundness,
)
from sale_sofia.flats.settings import EVIDENCE_FAMILIES, PAIRS_AT_ONCE, SAVED_AT_ONCE, SURE, WORKERS
from sale_sofia.flats.store import Source


class Kind(IntEnum):
    """What a link rests on, the strongest first."""

    BUYER = 0
    FAMILY = 1
    SCORE = 2
    REVIEW = 3
    """Not sure enough: a person decides."""


@dataclass(frozen=True, slots=True)
class Bands:
    """From which probability on two adverts are one property, and from which a person should look."""

    link: float
    review: float


@dataclass(frozen=True, slots=True)
class Links:
    """Pairs worth keeping by the ids of their adverts, the lower first."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    probability: NDArray[np.float64]
    kind: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.low)

    def chosen(self, rows: NDArray[np.bool_ | np.intp] | slice) -> "Links":
        """Some of them, in the order asked for."""
        return Links(self.low[rows], self.high[rows], self.probability[rows], self.kind[rows])

    @classmethod
    def joined(cls, *parts: "Links") -> "Links":
        """All of several."""
        columns = ([getattr(part, name) for part in parts] for name in cls.__slots__)
        return cls(*(np.concatenate(column) for column in columns))

    @classmethod
    def none(cls) -> "Links":
        """No link."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int8))


def score(adverts: Adverts, candidates: Candidates, weights: Weights, bands: Bands) -> Links:
    """The links among the candidates: exact evidence first, then what facts say. Vetoed pairs are none."""
    chunks = [
        (candidates.one[begin : begin + PAIRS_AT_ONCE], candidates.two[begin : begin + PAIRS_AT_ONCE])
        for begin in range(0, len(candidates.one), PAIRS_AT_ONCE)
    ]
    with ThreadPoolExecutor(WORKERS) as pool:
        found = pool.map(lambda rows: _score_pairs(Comparison(adverts, *rows), weights, bands), chunks)
        return Links.joined(Links.none(), *found)


def _score_pairs(pairs: Comparison, weights: Weights, bands: Bands) -> Links:
    allowed = ~pairs.vetoed
    pairs = Comparison(pairs.adverts, pairs.one[allowed], pairs.two[allowed])
    # Rounded, so that the last bit of a sum never decides which of two links comes first.
    scored = np.round(1.0 / (1.0 + np.exp(-weights.log_odds(pairs))), 9)
    probability = np.where(pairs.family, SURE, np.minimum(scored, SURE))
    families = evidence_families(pairs)
    # A flat on an unknown floor may be the one above: then one more kind of evidence must speak for it.
    needed = EVIDENCE_FAMILIES + pairs.at("floor", "unknown")
    linked = (probability >= bands.link) & (families >= needed)
    kind = np.where(pairs.family, Kind.FAMILY, np.where(linked, Kind.SCORE, Kind.REVIEW)).astype(np.int8)
    ids = pairs.adverts.ids
    links = Links(ids[pairs.one], ids[pairs.two], probability, kind)
    # Of one house by its year too: too little to link two flats of it, enough to ask a person.
    asked = families + (pairs.at("year", "same") & pairs.at("place", "same")) >= EVIDENCE_FAMILIES
    return links.chosen((probability >= bands.review) & (pairs.family | asked))


def evidence_families(pairs: Comparison) -> NDArray[np.int64]:
    """How many independent kinds of evidence speak for each pair."""
    same_price = pairs.at("price", "same")
    # An equal area and an equal price such as nobody shares by chance: 67 m² and 183 400 €.
    odd_area = area_roundness(pairs.both("area")[0]) > ROUND_AREAS.index("five")
    odd_price = price_roundness(pairs.both("price")[0]) > ROUND_PRICES.index("five_thousand")
    return np.sum(
        [
            (pairs.at("area", "same", "rounded") & same_price)
            | (pairs.at("area", "same") & odd_area & pairs.at("price", "rival")),
            pairs.at("area", "same") & same_price & odd_area & odd_price,
            # One house, told by whatever; of its flats this says nothing, so it counts once.
            pairs.at("place", "same")
            | pairs.at("address", "same")
            | (pairs.at("place", "near") & pairs.at("floors", "same"))
            | (pairs.at("year", "same") & pairs.at("floors", "same", "unknown")),
            pairs.at("text", "same", "alike"),
            # A seller who asks two prices on one portal has two flats.
            pairs.at("contact", "phone", "agency") & (same_price | differ(*pairs.both("site"))),
            pairs.at("photos", "several", "one") | pairs.at("pictures", "several", "one"),
            # Two photos that no other flat has, at one price, make good for a floor that is not printed.
            pairs.at("pictures", "several") & pairs.at("price", "same", "near", "rival"),
            pairs.at("reference", "same") | pairs.at("unit", "same"),
        ],
        axis=0,
        dtype=np.int64,
    )


# Why an advert is of its property: the strongest link to another one there, told field by field.

Evidence = dict[str, Any]
ALONE: Final = "alone"
DECIDED: Final[Mapping[int, str]] = {Kind.BUYER: "buyer", Kind.FAMILY: "evidence", Kind.SCORE: "score"}


def sources(adverts: Adverts, groups: NDArray[np.int64], links: Links, weights: Weights) -> Iterator[Source]:
    """Each advert with its property, and the strongest link that speaks for it."""
    best = _strongest(adverts, groups, links)
    for begin in range(0, len(adverts), SAVED_AT_ONCE):
        ids = adverts.ids[begin : begin + SAVED_AT_ONCE]
        first, last = np.searchsorted(best.low, (ids[0], ids[-1] + 1))
        strongest = best.chosen(slice(first, last))
        columns = (strongest.low.tolist(), strongest.probability.tolist(), strongest.kind.tolist())
        rows = zip(*columns, explain(adverts, strongest, weights), strict=True)
        told = {advert: (surely, DECIDED[kind], words) for advert, surely, kind, words in rows}
        for advert, group in zip(ids.tolist(), groups[begin : begin + SAVED_AT_ONCE].tolist(), strict=True):
            yield Source(advert, group, *told.get(advert, (1.0, ALONE, {})))


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
