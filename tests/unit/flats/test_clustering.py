"""Groups of links: whatever the order, without a contradiction, and each connected part for itself."""

import random
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from property_worlds import advert, adverts_of
from sale_sofia.flats.matching.clustering import (
    Decisions,
    LinkKind,
    Links,
    as_links,
    connected,
    group_numbers,
)
from sale_sofia.flats.matching.comparison import PairComparison
from sale_sofia.flats.matching.fingerprint import Adverts

MOST = 9
Row = tuple[int, int, float, int]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Adverts, list[Row]]:
    """Adverts on few floors of few buildings, with any links that no veto forbids."""
    count = draw(st.integers(2, MOST))
    adverts = adverts_of(
        [
            advert(
                f"n{number}",
                floor=draw(st.sampled_from([None, 1, 2])),
                floors_total=draw(st.sampled_from([None, 6, 8])),
                family_id=draw(st.sampled_from([None, None, "1a"])),
            )
            for number in range(count)
        ]
    )
    chosen = draw(st.lists(st.sampled_from(list(combinations(range(1, count + 1), 2))), unique=True))
    links = [
        (one, two, draw(st.sampled_from([0.97, 0.98, 0.99])), _kind(adverts, one, two))
        for one, two in chosen
        if not _vetoed(adverts, one, two)
    ]
    return adverts, links


def _vetoed(adverts: Adverts, one: int, two: int) -> bool:
    return bool(PairComparison(adverts, np.array([one - 1]), np.array([two - 1])).vetoed[0])


def _kind(adverts: Adverts, one: int, two: int) -> int:
    family = PairComparison(adverts, np.array([one - 1]), np.array([two - 1])).family[0]
    return LinkKind.FAMILY if family else LinkKind.SCORE


def group(adverts: Adverts, links: list[Row], decisions: Decisions | None = None) -> list[int]:
    numbers: list[int] = group_numbers(adverts, as_links(links), decisions or Decisions()).tolist()
    return numbers


def members(groups: list[int]) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for place, number in enumerate(groups, 1):
        found.setdefault(number, []).append(place)
    return list(found.values())


@settings(deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_links_makes_no_difference(world: tuple[Adverts, list[Row]], rng: random.Random) -> None:
    adverts, links = world
    shuffled = rng.sample(links, len(links))
    assert group(adverts, shuffled) == group(adverts, links)


@settings(deadline=None)
@given(worlds(), st.permutations(range(MOST)))
def test_our_own_ids_make_no_difference(world: tuple[Adverts, list[Row]], order: list[int]) -> None:
    """The same adverts seen in another order get other ids, and the same groups."""
    adverts, links = world
    new_id = {old: place for place, old in enumerate((old + 1 for old in order if old < len(adverts)), 1)}
    moved = Adverts.of([new_id[one] for one in adverts.ids.tolist()], adverts.packed())
    renamed = [
        (min(new_id[low], new_id[high]), max(new_id[low], new_id[high]), surely, kind)
        for low, high, surely, kind in links
    ]
    expected = {frozenset(new_id[one] for one in part) for part in members(group(adverts, links))}
    assert {frozenset(part) for part in members(group(moved, renamed))} == expected


@settings(deadline=None)
@given(worlds())
def test_no_group_holds_a_contradiction(world: tuple[Adverts, list[Row]]) -> None:
    adverts, links = world
    for part in members(group(adverts, links)):
        assert not any(_vetoed(adverts, *pair) for pair in combinations(part, 2))


@settings(deadline=None)
@given(worlds())
def test_a_link_is_left_out_only_for_a_contradiction(world: tuple[Adverts, list[Row]]) -> None:
    adverts, links = world
    groups = group(adverts, links)
    for low, high, _, _ in links:
        if groups[low - 1] != groups[high - 1]:
            sides = [[n for n, g in enumerate(groups, 1) if g == groups[one - 1]] for one in (low, high)]
            assert any(_vetoed(adverts, *sorted((a, b))) for a in sides[0] for b in sides[1])


@settings(deadline=None)
@given(worlds())
def test_a_connected_part_may_be_grouped_alone(world: tuple[Adverts, list[Row]]) -> None:
    adverts, links = world
    whole = group(adverts, links)
    rows = as_links(links)
    parts = connected(len(adverts), adverts.rows_of(rows.low), adverts.rows_of(rows.high))
    for part in set(parts.tolist()):
        inside = np.flatnonzero(parts == part)
        ids = {int(one) for one in adverts.ids[inside]}
        alone = group_numbers(
            adverts.take(inside), as_links([link for link in links if link[0] in ids]), Decisions()
        )
        assert alone.tolist() == [whole[one - 1] for one in sorted(ids)]


@settings(deadline=None)
@given(worlds(), st.data())
def test_what_the_buyer_joins_is_one_and_what_he_parts_is_not(
    world: tuple[Adverts, list[Row]], data: st.DataObject
) -> None:
    adverts, links = world
    pairs = list(combinations(range(1, len(adverts) + 1), 2))
    one, *others = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=4, unique=True))
    joined = group(adverts, links, Decisions(same=frozenset({one})))
    assert joined[one[0] - 1] == joined[one[1] - 1]
    parted = group(adverts, links, Decisions(different=frozenset({one, *others})))
    assert all(parted[low - 1] != parted[high - 1] for low, high in (one, *others))


@settings(deadline=None)
@given(worlds(), st.data())
def test_joined_and_parted_again_is_as_before(world: tuple[Adverts, list[Row]], data: st.DataObject) -> None:
    adverts, links = world
    before = members(group(adverts, links))
    if len(before) < 2:
        return
    first, second = data.draw(st.lists(st.sampled_from(before), min_size=2, max_size=2, unique_by=tuple))
    said = (min(*first, *second), max(min(first), min(second)))
    joined = members(group(adverts, links, Decisions(same=frozenset({said}))))
    assert sorted([*first, *second]) in joined
    apart = frozenset((min(a, b), max(a, b)) for a in first for b in second)
    assert members(group(adverts, links, Decisions(different=apart))) == before


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.data())
def test_connected_parts_are_those_one_can_walk(count: int, data: st.DataObject) -> None:
    node = st.integers(0, count - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=60))
    ends = np.array(edges, np.int64).reshape(-1, 2)
    found = connected(count, ends[:, 0], ends[:, 1])
    assert found.tolist() == _walked(count, edges)


def _walked(count: int, edges: list[tuple[int, int]]) -> list[int]:
    lowest = list(range(count))
    for _ in range(count):
        for one, two in edges:
            lowest[one] = lowest[two] = min(lowest[one], lowest[two])
    return lowest


def test_no_links_are_no_groups() -> None:
    assert group_numbers(adverts_of([advert("a"), advert("b")]), Links.none(), Decisions()).tolist() == [1, 2]
