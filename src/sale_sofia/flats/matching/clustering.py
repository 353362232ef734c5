"""From links to groups: the strongest link first, and no group with two adverts that contradict each other.

The result depends only on the links, the vetoes and the ids, never on the order in which they come; and the
groups of one connected part of the links depend on nothing outside of it. So a part may be worked out alone.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from sale_sofia.flats.matching.candidates import Candidates, Rows, crowded_rows, expanded, find_candidates
from sale_sofia.flats.matching.comparison import Comparison, Weights, load_weights
from sale_sofia.flats.matching.fingerprint import Adverts
from sale_sofia.flats.matching.links import Bands, Kind, Links, as_links, score
from sale_sofia.flats.settings import PAIRS_AT_ONCE, SURE
from sale_sofia.flats.store import links_of

Pair = tuple[int, int]
_Ordered = tuple[int, int, int]
_Groups = dict[int, list[int]]
Ids = NDArray[np.int64]
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class Decisions:
    """What the buyer said of pairs of adverts, by their ids, the lower first. It wins for ever."""

    same: frozenset[Pair] = frozenset()
    different: frozenset[Pair] = frozenset()

    def within(self, ids: frozenset[int]) -> "Decisions":
        """What was said of two of these adverts."""
        said = (self.same, self.different)
        return Decisions(*(frozenset(filter(ids.issuperset, pairs)) for pairs in said))

    def links(self) -> Links:
        """The joins as links, stronger than any other."""
        pairs = np.array(sorted(self.same), np.int64).reshape(-1, 2)
        count = len(pairs)
        return Links(pairs[:, 0], pairs[:, 1], np.full(count, SURE), np.full(count, Kind.BUYER, np.int8))


def group_numbers(adverts: Adverts, links: Links, decisions: Decisions) -> Ids:
    """For each advert the id of its group: the lowest id in it."""
    groups = adverts.ids.copy()
    certain = with_decisions(links, decisions)
    one, two = adverts.rows_of(certain.low), adverts.rows_of(certain.high)
    parts = connected(len(adverts), one, two)
    vetoes = _vetoes_in_parts(adverts, parts)
    for ordered in _by_part(adverts, certain, parts[one]):
        for group in _grow(ordered, vetoes, decisions.different):
            groups[adverts.rows_of(np.array(group))] = min(group)
    return groups


def with_decisions(links: Links, decisions: Decisions) -> Links:
    """The links that may join, with the buyer's own, and without those he spoke against."""
    certain = links.chosen(links.kind < Kind.REVIEW)
    if not (decisions.same or decisions.different):
        return certain
    pairs = zip(certain.low.tolist(), certain.high.tolist(), strict=True)
    free = np.fromiter((pair not in decisions.different for pair in pairs), bool, len(certain))
    return Links.joined(decisions.links(), certain.chosen(free))


def connected(count: int, one: Ids, two: Ids) -> Ids:
    """For each of `count` nodes the lowest node it is connected with."""
    labels = np.arange(count)
    while True:
        lowest = np.minimum(labels[one], labels[two])
        before = labels.copy()
        np.minimum.at(labels, labels[one], lowest)
        np.minimum.at(labels, labels[two], lowest)
        labels = labels[labels]
        if np.array_equal(labels, before):
            return labels


def _by_part(adverts: Adverts, links: Links, parts: Ids) -> Iterator[list[_Ordered]]:
    """The links of each connected part, the strongest first; of equals by what the portals call the adverts.

    Our own ids would do, but they say who was seen first, and that must make no difference.
    """
    names = [adverts["identity"][adverts.rows_of(side)] for side in (links.low, links.high)]
    ties = (links.high, links.low, np.maximum(*names), np.minimum(*names))
    order = np.lexsort((*ties, -links.probability, links.kind, parts))
    borders = np.flatnonzero(np.diff(parts[order])) + 1
    columns = (links.low[order], links.high[order], links.kind[order])
    for part in zip(*(np.split(column, borders) for column in columns), strict=True):
        yield list(zip(*(column.tolist() for column in part), strict=True))


def _grow(ordered: Sequence[_Ordered], vetoes: set[Pair], parted: frozenset[Pair]) -> Iterable[list[int]]:
    """Groups of two or more, grown along the links; a link that would bring a contradiction in is left out.

    What the buyer joins is joined whatever contradicts it, so facts are held together in groups of their own,
    and the buyer's joins in groups of those. What he parted is parted in both.
    """
    by_facts: _Groups = {}
    groups: _Groups = {}
    for one, two, kind in ordered:
        apart = _contradict(groups.get(one, [one]), groups.get(two, [two]), parted)
        if kind == Kind.BUYER and not apart:
            _join(groups, one, two)
        elif not (apart or _contradict(by_facts.get(one, [one]), by_facts.get(two, [two]), vetoes)):
            _join(by_facts, one, two)
            _join(groups, one, two)
    return {id(group): group for group in groups.values()}.values()


def _join(groups: _Groups, one: int, two: int) -> None:
    first, second = groups.get(one, [one]), groups.get(two, [two])
    if first is not second:
        both = first + second
        groups.update(dict.fromkeys(both, both))


def _contradict(one: Sequence[int], two: Sequence[int], vetoes: AbstractSet[Pair]) -> bool:
    return one is not two and any(((a, b) if a < b else (b, a)) in vetoes for a in one for b in two)


def _vetoes_in_parts(adverts: Adverts, parts: Ids) -> set[Pair]:
    """All vetoed pairs within connected parts; in a part of two the link itself was allowed."""
    order = np.argsort(parts, kind="stable")
    _, sizes = np.unique(parts, return_counts=True)
    left = np.repeat(sizes, sizes) - expanded(sizes)[1] - 1
    left[np.repeat(sizes <= _PAIR, sizes)] = 0
    vetoed: set[Pair] = set()
    for begin, end in _portions(left):
        owners, steps = expanded(left[begin:end])
        one, two = order[begin + owners], order[begin + owners + steps + 1]
        wrong = Comparison(adverts, one, two).vetoed
        low, high = adverts.ids[one[wrong]], adverts.ids[two[wrong]]
        vetoed.update(zip(low.tolist(), high.tolist(), strict=True))
    return vetoed


def _portions(counts: Ids) -> Iterator[Pair]:
    """Cuts of the counts that expand to about `PAIRS_AT_ONCE` each."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        already = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, already + PAIRS_AT_ONCE, "right")))
        yield begin, end
        begin = end


# How far a change reaches: the adverts whose property may be another one because some adverts changed.


def compare_changes(old: Adverts, new: Adverts, changed: Rows) -> tuple[Rows, Candidates]:
    """Who is compared with others than before because of the changed adverts, and with whom."""
    found = find_candidates(new, new.rows_of(changed))
    before = changed[np.isin(changed, old.ids)]
    crowded = (old.ids[crowded_rows(old, old.rows_of(before))], new.ids[found.crowded])
    touched = np.unique(np.concatenate((changed, *crowded)))
    if len(touched) > len(changed):  # a rare thing: a key that very many share
        found = find_candidates(new, new.rows_of(touched))
    return touched, found


def reach(
    connection: Connection, touched: frozenset[int], also: Collection[int], links: Links, decisions: Decisions
) -> tuple[frozenset[int], Links]:
    """All that is connected with the touched adverts by a link of before or of now, or by the buyer's word.

    With it, the links among them that may join. Where a link was and is no more, what it held together is
    looked at too.
    """
    certain = links.chosen(links.kind < Kind.REVIEW)
    neighbours: dict[int, list[int]] = defaultdict(list)
    for one, two in (*zip(certain.low.tolist(), certain.high.tolist(), strict=True), *decisions.same):
        neighbours[one].append(two)
        neighbours[two].append(one)
    found, stored = set[int](), set[tuple[int, int, float, int]]()
    edge = {*touched, *also}
    while edge:
        found |= edge
        before = links_of(connection, edge, Kind.SCORE)
        stored |= {link for link in before if link.low not in touched and link.high not in touched}
        next_to = {one for link in before for one in (link.low, link.high)}
        next_to |= {one for advert in edge for one in neighbours.get(advert, ())}
        edge = next_to - found
    return frozenset(found), Links.joined(as_links(sorted(stored)), certain)


# The matcher: adverts in, groups and links out. It knows no database and no clock.

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
