"""How far a change reaches: the adverts whose property may be another one because some adverts changed."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from sale_sofia.data.properties_state import links_of
from sale_sofia.properties.candidates import Candidates, crowded_rows, find_candidates
from sale_sofia.properties.clustering import Decisions
from sale_sofia.properties.evidence import as_links
from sale_sofia.properties.joins import Rows
from sale_sofia.properties.links import Kind, Links
from sale_sofia.properties.records import Adverts


@dataclass(frozen=True, slots=True)
class Region:
    """Adverts that are connected with nothing outside, and the links among them that may join."""

    ids: frozenset[int]
    links: Links


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
) -> Region:
    """All that is connected with the touched adverts by a link of before or of now, or by the buyer's word.

    Where a link was and is no more, what it held together must be looked at too.
    """
    certain = links.chosen(links.kind < Kind.REVIEW)
    neighbours = _neighbours(
        [*zip(certain.low.tolist(), certain.high.tolist(), strict=True), *decisions.same]
    )
    found, stored = set[int](), set[tuple[int, int, float, int]]()
    edge = {*touched, *also}
    while edge:
        found |= edge
        before = links_of(connection, edge, Kind.SCORE)
        stored |= {link for link in before if link.low not in touched and link.high not in touched}
        next_to = {one for link in before for one in (link.low, link.high)}
        next_to |= {one for advert in edge for one in neighbours.get(advert, ())}
        edge = next_to - found
    return Region(frozenset(found), Links.joined(as_links(sorted(stored)), certain))


def _neighbours(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for one, two in pairs:
        found.setdefault(one, []).append(two)
        found.setdefault(two, []).append(one)
    return found
