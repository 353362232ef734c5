"""From links to groups: the strongest link first, and no group with two adverts that contradict each other.

The result depends only on the links, the vetoes and the ids, never on their order; and the groups of one
connected part of the links depend on nothing outside it. So a part may be computed alone.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from sale_sofia.flats.matching.candidates import Candidates, Rows, crowded_rows, expanded, find_candidates
from sale_sofia.flats.matching.comparison import LEVELS, MatchWeights, PairComparison, differ, load_weights
from sale_sofia.flats.matching.fingerprint import (
    ROUND_AREAS,
    ROUND_PRICES,
    Adverts,
    area_roundness,
    price_roundness,
)
from sale_sofia.flats.settings import EVIDENCE_FAMILIES, PAIRS_AT_ONCE, SAVED_AT_ONCE, SURE, WORKERS
from sale_sofia.flats.store import ListingSource, links_of

# Scored pairs: which adverts are one property, which a person should look at, and why.


class LinkKind(IntEnum):
    """What a link rests on, the strongest first."""

    BUYER = 0
    FAMILY = 1
    SCORE = 2
    REVIEW = 3
    """Not sure enough: a person decides."""


@dataclass(frozen=True, slots=True)
class Bands:
    """The least probability of one property, and the least for a person's review."""

    link: float
    review: float


@dataclass(frozen=True, slots=True)
class Links:
    """Pairs worth storing, by the ids of their adverts, the lower first."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    probability: NDArray[np.float64]
    kind: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.low)

    def chosen(self, rows: NDArray[np.bool_ | np.intp] | slice) -> "Links":
        """The links of these rows, in this order."""
        return Links(self.low[rows], self.high[rows], self.probability[rows], self.kind[rows])

    @classmethod
    def joined(cls, *parts: "Links") -> "Links":
        """The links of all parts."""
        columns = ([getattr(part, name) for part in parts] for name in cls.__slots__)
        return cls(*(np.concatenate(column) for column in columns))

    @classmethod
    def none(cls) -> "Links":
        """No link."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int8))


def score(adverts: Adverts, candidates: Candidates, weights: MatchWeights, bands: Bands) -> Links:
    """The links among the candidates, by exact evidence and by facts; never vetoed pairs."""
    chunks = [
        (candidates.left[begin : begin + PAIRS_AT_ONCE], candidates.right[begin : begin + PAIRS_AT_ONCE])
        for begin in range(0, len(candidates.left), PAIRS_AT_ONCE)
    ]
    with ThreadPoolExecutor(WORKERS) as pool:
        found = pool.map(lambda rows: _score_pairs(PairComparison(adverts, *rows), weights, bands), chunks)
        return Links.joined(Links.none(), *found)


def _score_pairs(pairs: PairComparison, weights: MatchWeights, bands: Bands) -> Links:
    allowed = ~pairs.vetoed
    pairs = PairComparison(pairs.adverts, pairs.left[allowed], pairs.right[allowed])
    # Rounded, so that the last bit of a sum never decides which of two links comes first.
    scored = np.round(1.0 / (1.0 + np.exp(-weights.log_odds(pairs))), 9)
    probability = np.where(pairs.family, SURE, np.minimum(scored, SURE))
    families = evidence_families(pairs)
    # A flat on an unknown floor may be the one above: then one more kind of evidence is needed.
    needed = EVIDENCE_FAMILIES + pairs.at("floor", "unknown")
    linked = (probability >= bands.link) & (families >= needed)
    kind = np.where(pairs.family, LinkKind.FAMILY, np.where(linked, LinkKind.SCORE, LinkKind.REVIEW)).astype(
        np.int8
    )
    ids = pairs.adverts.ids
    links = Links(ids[pairs.left], ids[pairs.right], probability, kind)
    # The same year is too little to link two flats of a house, but enough to ask a person.
    worth_asking = families + (pairs.at("year", "same") & pairs.at("place", "same")) >= EVIDENCE_FAMILIES
    return links.chosen((probability >= bands.review) & (pairs.family | worth_asking))


def evidence_families(pairs: PairComparison) -> NDArray[np.int64]:
    """How many independent kinds of evidence speak for each pair."""
    same_price = pairs.at("price", "same")
    # An area and a price that are unlikely to be equal by chance: 67 m² and 183 400 €.
    odd_area = area_roundness(pairs.both("area")[0]) > ROUND_AREAS.index("five")
    odd_price = price_roundness(pairs.both("price")[0]) > ROUND_PRICES.index("five_thousand")
    return np.sum(
        [
            (pairs.at("area", "same", "rounded") & same_price)
            | (pairs.at("area", "same") & odd_area & pairs.at("price", "rival")),
            pairs.at("area", "same") & same_price & odd_area & odd_price,
            # The same house by any evidence; it says nothing about the flat, so it counts once.
            pairs.at("place", "same")
            | pairs.at("address", "same")
            | (pairs.at("place", "near") & pairs.at("floors", "same"))
            | (pairs.at("year", "same") & pairs.at("floors", "same", "unknown")),
            pairs.at("text", "same", "alike"),
            # A seller with two prices on one portal has two flats.
            pairs.at("contact", "phone", "agency") & (same_price | differ(*pairs.both("site"))),
            pairs.at("photos", "several", "one") | pairs.at("pictures", "several", "one"),
            # Two photos that no other flat has, at one price, make up for an unknown floor.
            pairs.at("pictures", "several") & pairs.at("price", "same", "near", "rival"),
            pairs.at("reference", "same") | pairs.at("unit", "same"),
        ],
        axis=0,
        dtype=np.int64,
    )


# Why an advert belongs to its property: the strongest link to another advert there, field by field.

Evidence = dict[str, Any]
ALONE: Final = "alone"
DECIDED: Final[Mapping[int, str]] = {
    LinkKind.BUYER: "buyer",
    LinkKind.FAMILY: "evidence",
    LinkKind.SCORE: "score",
}


def sources(
    adverts: Adverts, groups: NDArray[np.int64], links: Links, weights: MatchWeights
) -> Iterator[ListingSource]:
    """Each advert with its property, and the strongest link within it."""
    best = _strongest(adverts, groups, links)
    for begin in range(0, len(adverts), SAVED_AT_ONCE):
        ids = adverts.ids[begin : begin + SAVED_AT_ONCE]
        first, last = np.searchsorted(best.low, (ids[0], ids[-1] + 1))
        strongest = best.chosen(slice(first, last))
        columns = (strongest.low.tolist(), strongest.probability.tolist(), strongest.kind.tolist())
        rows = zip(*columns, explain(adverts, strongest, weights), strict=True)
        reasons = {advert: (surely, DECIDED[kind], words) for advert, surely, kind, words in rows}
        for advert, group in zip(ids.tolist(), groups[begin : begin + SAVED_AT_ONCE].tolist(), strict=True):
            yield ListingSource(advert, group, *reasons.get(advert, (1.0, ALONE, {})))


def explain(adverts: Adverts, links: Links, weights: MatchWeights) -> Iterator[Evidence]:
    """The evidence of each link: the other advert, and each field's level and weight."""
    for begin in range(0, len(links), PAIRS_AT_ONCE):
        part = links.chosen(slice(begin, begin + PAIRS_AT_ONCE))
        pairs = PairComparison(adverts, adverts.rows_of(part.low), adverts.rows_of(part.high))
        levels = {field: pairs.levels(field).tolist() for field in LEVELS}
        added = {field: weights.field(pairs, field).round(3).tolist() for field in LEVELS}
        family = pairs.family.tolist()
        for place, other in enumerate(part.high.tolist()):
            evidence: Evidence = {"with": other}
            if family[place]:
                evidence["family_id"] = "same"
            yield evidence | {
                field: [LEVELS[field][levels[field][place]], added[field][place]]
                for field in LEVELS
                if levels[field][place]
            }


def _strongest(adverts: Adverts, groups: NDArray[np.int64], links: Links) -> Links:
    """The strongest link within its group of each advert that has one (as `low`)."""
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


Pair = tuple[int, int]
_Ordered = tuple[int, int, int]
_Groups = dict[int, list[int]]
Ids = NDArray[np.int64]
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class Decisions:
    """The buyer's decisions on pairs of adverts, by their ids, the lower first. They always win."""

    same: frozenset[Pair] = frozenset()
    different: frozenset[Pair] = frozenset()

    def within(self, ids: frozenset[int]) -> "Decisions":
        """The decisions on pairs of these adverts."""
        decided = (self.same, self.different)
        return Decisions(*(frozenset(filter(ids.issuperset, pairs)) for pairs in decided))

    def links(self) -> Links:
        """The pairs that are the same as links, stronger than any other."""
        pairs = np.array(sorted(self.same), np.int64).reshape(-1, 2)
        count = len(pairs)
        return Links(pairs[:, 0], pairs[:, 1], np.full(count, SURE), np.full(count, LinkKind.BUYER, np.int8))


def group_numbers(adverts: Adverts, links: Links, decisions: Decisions) -> Ids:
    """For each advert the id of its group: the lowest id in it."""
    groups = adverts.ids.copy()
    certain = with_decisions(links, decisions)
    left, right = adverts.rows_of(certain.low), adverts.rows_of(certain.high)
    parts = connected(len(adverts), left, right)
    vetoes = _vetoes_in_parts(adverts, parts)
    for ordered in _by_part(adverts, certain, parts[left]):
        for group in _grow(ordered, vetoes, decisions.different):
            groups[adverts.rows_of(np.array(group))] = min(group)
    return groups


def with_decisions(links: Links, decisions: Decisions) -> Links:
    """The links that may join, with the buyer's own, and without those that the buyer rejected."""
    certain = links.chosen(links.kind < LinkKind.REVIEW)
    if not (decisions.same or decisions.different):
        return certain
    pairs = zip(certain.low.tolist(), certain.high.tolist(), strict=True)
    free = np.fromiter((pair not in decisions.different for pair in pairs), bool, len(certain))
    return Links.joined(decisions.links(), certain.chosen(free))


def connected(count: int, left: Ids, right: Ids) -> Ids:
    """For each of `count` nodes the lowest node it is connected with."""
    labels = np.arange(count)
    while True:
        lowest = np.minimum(labels[left], labels[right])
        before = labels.copy()
        np.minimum.at(labels, labels[left], lowest)
        np.minimum.at(labels, labels[right], lowest)
        labels = labels[labels]
        if np.array_equal(labels, before):
            return labels


def _by_part(adverts: Adverts, links: Links, parts: Ids) -> Iterator[list[_Ordered]]:
    """The links of each connected part, the strongest first; ties are broken by the portals' own ids.

    Our ids depend on which advert was seen first, and that must make no difference.
    """
    names = [adverts["identity"][adverts.rows_of(side)] for side in (links.low, links.high)]
    ties = (links.high, links.low, np.maximum(*names), np.minimum(*names))
    order = np.lexsort((*ties, -links.probability, links.kind, parts))
    borders = np.flatnonzero(np.diff(parts[order])) + 1
    columns = (links.low[order], links.high[order], links.kind[order])
    for part in zip(*(np.split(column, borders) for column in columns), strict=True):
        yield list(zip(*(column.tolist() for column in part), strict=True))


def _grow(ordered: Sequence[_Ordered], vetoes: set[Pair], parted: frozenset[Pair]) -> Iterable[list[int]]:
    """Groups of two or more, grown along the links; a link that would add a contradiction is skipped.

    What the buyer joins is joined despite contradictions, so facts form groups of their own, and the buyer's
    joins form groups of those. What the buyer separated is separate in both.
    """
    by_facts: _Groups = {}
    groups: _Groups = {}
    for low, high, kind in ordered:
        apart = _contradict(groups.get(low, [low]), groups.get(high, [high]), parted)
        if kind == LinkKind.BUYER and not apart:
            _join(groups, low, high)
        elif not (apart or _contradict(by_facts.get(low, [low]), by_facts.get(high, [high]), vetoes)):
            _join(by_facts, low, high)
            _join(groups, low, high)
    return {id(group): group for group in groups.values()}.values()


def _join(groups: _Groups, low: int, high: int) -> None:
    first, second = groups.get(low, [low]), groups.get(high, [high])
    if first is not second:
        both = first + second
        groups.update(dict.fromkeys(both, both))


def _contradict(group: Sequence[int], other: Sequence[int], vetoes: AbstractSet[Pair]) -> bool:
    return group is not other and any(((a, b) if a < b else (b, a)) in vetoes for a in group for b in other)


def _vetoes_in_parts(adverts: Adverts, parts: Ids) -> set[Pair]:
    """All vetoed pairs within connected parts; a part of two has none, as its link was allowed."""
    order = np.argsort(parts, kind="stable")
    _, sizes = np.unique(parts, return_counts=True)
    remaining = np.repeat(sizes, sizes) - expanded(sizes)[1] - 1
    remaining[np.repeat(sizes <= _PAIR, sizes)] = 0
    vetoed: set[Pair] = set()
    for begin, end in _portions(remaining):
        owners, steps = expanded(remaining[begin:end])
        left, right = order[begin + owners], order[begin + owners + steps + 1]
        wrong = PairComparison(adverts, left, right).vetoed
        low, high = adverts.ids[left[wrong]], adverts.ids[right[wrong]]
        vetoed.update(zip(low.tolist(), high.tolist(), strict=True))
    return vetoed


def _portions(counts: Ids) -> Iterator[Pair]:
    """Slices of the counts that expand to about `PAIRS_AT_ONCE` each."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        already = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, already + PAIRS_AT_ONCE, "right")))
        yield begin, end
        begin = end


# How far a change reaches: the adverts whose property may differ because some adverts changed.


def compare_changes(old: Adverts, new: Adverts, changed: Rows) -> tuple[Rows, Candidates]:
    """The adverts whose comparisons change because of the changed adverts, and the candidates."""
    found = find_candidates(new, new.rows_of(changed))
    before = changed[np.isin(changed, old.ids)]
    crowded = (old.ids[crowded_rows(old, old.rows_of(before))], new.ids[found.crowded])
    touched = np.unique(np.concatenate((changed, *crowded)))
    if len(touched) > len(changed):  # rare: a key that very many share
        found = find_candidates(new, new.rows_of(touched))
    return touched, found


def reach(
    connection: Connection, touched: frozenset[int], also: Collection[int], links: Links, decisions: Decisions
) -> tuple[frozenset[int], Links]:
    """All adverts connected with the touched ones by an old or new link, or by a decision of the buyer.

    With them, the links among them that may join. Adverts that only a removed link connected are included.
    """
    certain = links.chosen(links.kind < LinkKind.REVIEW)
    neighbours: dict[int, list[int]] = defaultdict(list)
    for low, high in (*zip(certain.low.tolist(), certain.high.tolist(), strict=True), *decisions.same):
        neighbours[low].append(high)
        neighbours[high].append(low)
    found, stored = set[int](), set[tuple[int, int, float, int]]()
    edge = {*touched, *also}
    while edge:
        found |= edge
        before = links_of(connection, edge, LinkKind.SCORE)
        stored |= {link for link in before if link.low not in touched and link.high not in touched}
        next_to = {advert for link in before for advert in (link.low, link.high)}
        next_to |= {other for advert in edge for other in neighbours.get(advert, ())}
        edge = next_to - found
    return frozenset(found), Links.joined(as_links(sorted(stored)), certain)


# The matcher: adverts in, groups and links out. It uses no database and no clock.

log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Matched:
    """The result of a run: the group of each advert, and every link that was found."""

    ids: NDArray[np.int64]
    groups: NDArray[np.int64]
    links: Links


@dataclass(frozen=True, slots=True)
class Matcher:
    """Finds which adverts are one property, always the same for the same adverts."""

    bands: Bands
    weights: MatchWeights

    @classmethod
    def of(cls, bands: Bands) -> "Matcher":
        """With the weights of this installation."""
        return cls(bands, load_weights())

    def match(self, adverts: Adverts, decisions: Decisions | None = None) -> Matched:
        """Match all adverts from scratch."""
        links = self.links(adverts, find_candidates(adverts))
        return Matched(adverts.ids, group_numbers(adverts, links, decisions or Decisions()), links)

    def links(self, adverts: Adverts, candidates: Candidates) -> Links:
        """The links among the candidates; skipped comparisons are logged."""
        for join, count in candidates.cut.items():
            log.warning("matching by %s: %d comparisons under crowded keys were left out", join, count)
        return score(adverts, candidates, self.weights, self.bands)
