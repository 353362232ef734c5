"""The measurement under fire: its faults are drawn from a number, and its judges see what is wrong."""

import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "bench"))

from chaos_faults import CLOCKS, Fault, draw, in_rounds, shares, weights
from chaos_judges import Breach, windows_over

ALL = weights(clocks=True, postgres=True)


def drawn(seed: int = 1, count: int = 200, hosts: int = 3) -> list[Fault]:
    return draw(seed, count, ALL, hosts)


def test_the_same_seed_gives_the_same_faults_and_another_one_others() -> None:
    assert drawn() == drawn()
    assert drawn() != drawn(seed=2)


def test_every_kind_comes_in_its_share_on_every_host() -> None:
    faults = drawn()
    times = Counter(fault.kind for fault in faults)
    assert times.keys() == ALL.keys()
    assert len(faults) == 200
    assert times["kill pool"] > times["kill worker"] > times["wipe redis"] >= 1
    assert {fault.host for fault in faults} == {0, 1, 2}
    assert {fault.ahead for fault in faults if fault.kind == "set clock"} == set(CLOCKS)


def test_a_short_run_has_each_kind_at_least_once_and_a_shorter_one_the_frequent_ones() -> None:
    assert Counter(shares(ALL, len(ALL))) == Counter(ALL.keys())
    assert set(shares(ALL, 3)) < ALL.keys()
    assert "kill pool" in shares(ALL, 3)


def test_nothing_is_drawn_that_cannot_be_done_here() -> None:
    few = weights(clocks=False, postgres=False)
    assert ALL.keys() - few.keys() == {"set clock", "kill postgres"}
    assert {fault.kind for fault in draw(1, 50, few, 1)} == few.keys()


def test_rounds_have_all_faults_in_their_order() -> None:
    faults = drawn(count=60)
    parts = in_rounds(faults, 25)
    assert [len(part) for part in parts] == [25, 25, 10]
    assert [fault for part in parts for fault in part] == faults


def test_a_window_that_is_too_full_is_told_with_its_requests() -> None:
    steady = [(1000 + number * 0.1, f"/{number}", 200) for number in range(100)]
    assert list(windows_over("x", steady, 600, 1)) == []
    hops = [(1005.01, "/advert?hop=1", 302), (1005.02, "/advert?hop=2", 302)]
    found = list(windows_over("x", sorted([*steady, *hops]), 600, 1))
    assert [breach.promise for breach in found] == ["rate"] * 3
    assert found[0] == Breach(
        "rate",
        "x: 3 requests in 0.1 s from 1005.000, 2 allowed, 1 too many: "
        "+0.00 /50 200, +0.01 /advert?hop=1 302, +0.02 /advert?hop=2 302 …",
    )
    assert "12 requests in 1 s" in found[1].evidence
