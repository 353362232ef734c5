"""The pieces of `bench/scale.py`: virtual time, slots of a cluster, and a small crawl wholly known."""

import asyncio
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import scale_clock
from scale_clock import Station, now
from scale_crawl import Crawl
from scale_parts import Costs
from scale_peers import divided, own_buckets
from scale_slots import crc16, keys_of, slot_of, spread, torn
from scale_world import Domain, Portals, earliness, make_domains, most_polite_seconds, too_early

FEW = {
    "a.test": Domain("a.test", 20.0, 2, 5),
    "b.test": Domain("b.test", 60.0, 1, 8),
    "c.test": Domain("c.test", 10.0, 1, 3),
}


def crawled(folder: Path, portals: Portals, workers: int, costs: Costs | None = None) -> Crawl:
    async def main() -> Crawl:
        crawl = Crawl(portals, folder, workers, costs or Costs())
        await crawl.run()
        return crawl

    crawl = scale_clock.run(main())
    crawl.database.dispose()
    return crawl


def sent(portals: Portals) -> list[tuple[str, float]]:
    return [(one.domain, one.at) for one in portals.log]


def test_time_jumps_from_event_to_event_in_their_order() -> None:
    told: list[tuple[float, str]] = []

    async def say(seconds: float, word: str) -> None:
        await asyncio.sleep(seconds)
        told.append((now(), word))

    async def main() -> float:
        await asyncio.gather(say(3600, "late"), say(0.5, "early"), say(60, "in between"))
        return now()

    assert scale_clock.run(main()) == pytest.approx(3600)
    assert [(round(at, 6), word) for at, word in told] == [
        (0.5, "early"), (60, "in between"), (3600, "late"),
    ]  # fmt: skip


def test_who_waits_for_nobody_is_told_so() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="everybody waits for somebody"):
        scale_clock.run(main())


def test_a_station_serves_in_turn_as_many_as_it_has_places() -> None:
    async def main(places: int) -> tuple[list[float], float, float]:
        station, ends = Station({"work": 2.0}, places), list[float]()

        async def one() -> None:
            await station.serve("work")
            ends.append(now())

        await asyncio.gather(*(one() for _ in range(4)))
        return ends, station.longest_wait, station.busy_share(now())

    assert scale_clock.run(main(1)) == ([2, 4, 6, 8], 6, 1)
    assert scale_clock.run(main(2)) == ([2, 2, 4, 4], 2, 1)


@pytest.mark.parametrize(
    ("key", "slot"),
    [
        # The values of the cluster's specification and of `CLUSTER KEYSLOT` of a real server.
        ("foo", 12182), ("bar", 5061), ("hello", 866), ("{foo}bar", 12182), ("foo{}{bar}", 8363),
        ("foo{{bar}}zap", 4015), ("foo{bar}{zap}", 5061), ("circuit:{imot.bg}", 4578),
    ],
)  # fmt: skip
def test_the_slot_of_a_key_is_the_cluster_s(key: str, slot: int) -> None:
    assert slot_of(key) == slot


def test_the_check_value_of_the_crc() -> None:
    assert crc16(b"123456789") == 0x31C3


def test_all_keys_of_a_portal_are_in_one_slot() -> None:
    names = [f"portal{number}.test" for number in range(1000)]
    assert len({slot_of(key) for key in keys_of("imot.bg")}) == 1
    assert torn(names) == 0
    found = spread(names, 3)
    assert found["most"] + found["least"] <= 1000 < 3 * found["most"]


def test_each_page_is_fetched_once_and_none_too_early(tmp_path: Path) -> None:
    portals = Portals(FEW, random.Random(7))
    crawl = crawled(tmp_path, portals, workers=3)
    pages = {f"https://{one.name}/{page}" for one in FEW.values() for page in range(one.pages)}
    assert sorted(one.page for one in portals.log) == sorted(pages)
    assert set(crawl.finished) == set(FEW)
    assert too_early(crawl.gate.instants, FEW) == too_early(sent(portals), FEW) == 0
    assert max(at for _, at in sent(portals)) == pytest.approx(most_polite_seconds(FEW))


def test_a_crawl_is_the_same_every_time(tmp_path: Path) -> None:
    logs = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        portals = Portals(make_domains(6, (2, 4), random.Random(3)), random.Random(4))
        crawled(tmp_path / name, portals, workers=2, costs=Costs(page_cpu=0.01, round_trip=0.001))
        logs.append(portals.log)
    assert logs[0] == logs[1]


def test_a_portal_that_is_down_is_left_alone_and_loses_nothing(tmp_path: Path) -> None:
    portals = Portals(FEW, random.Random(5), frozenset({"b.test"}), down_from=0.0, down_until=100.0)
    crawl = crawled(tmp_path, portals, workers=3)
    failed = [one for one in portals.log if not one.ok]
    good = [one.page for one in portals.log if one.ok]
    fail_max = crawl.config.breaker.fail_max
    # Those that open the circuit, and the first test of it, which fails too.
    assert [one.domain for one in failed] == ["b.test"] * (fail_max + 1)
    assert sorted(good) == sorted({one.page for one in portals.log})
    assert len(good) == sum(one.pages for one in FEW.values())


def test_what_is_too_early_is_counted_and_measured() -> None:
    log = [("a.test", 0.0), ("a.test", 3.0), ("a.test", 5.0), ("b.test", 5.0), ("b.test", 6.0)]
    assert too_early(log, FEW) == 1
    assert earliness(log, FEW) == pytest.approx(1.0)


def test_workers_that_share_nothing_are_together_too_fast_or_too_slow() -> None:
    one = {"a.test": Domain("a.test", 20.0, 2, 40)}
    fast, slow = own_buckets(one, 4, seed=1), divided(one, 4, seed=1)
    assert fast["requests"] == slow["requests"] == 40
    # Four at once, each at the whole rate: of any four requests three come too early.
    assert fast["over_the_rate"] == 30
    assert slow["makespan"] > one["a.test"].bound_seconds
