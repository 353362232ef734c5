import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.model import BazarAdvert
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.portal import MOST_COPIES, PortalOptions, Scope, SearchIndex, Stock, imot_id_of_copy
from sale_sofia_simulator.running import RunningSimulator, start_in_process
from sale_sofia_simulator.simulation import SimulatorConfig
from sale_sofia_simulator.world import make_world
from tables import each_row

PROPERTIES = 1800
DISTINCT = 60


def body(url: str) -> bytes:
    with urlopen(url, timeout=20) as answer:  # noqa: S310 - our own loopback address
        return bytes(answer.read())


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSimulator]:
    truth = tmp_path_factory.mktemp("copies") / "truth.jsonl"
    config = SimulatorConfig(properties=PROPERTIES, distinct=DISTINCT, port=0, truth=truth)
    with start_in_process(config) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def truths(running: RunningSimulator) -> list[dict[str, Any]]:
    assert running.config.truth
    return [json.loads(line) for line in running.config.truth.read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_no_two_copies_share_an_id_and_each_says_exactly_its_truth(truths: list[dict[str, Any]]) -> None:
    assert len({(truth["site"], truth["external_id"]) for truth in truths}) == 2 * PROPERTIES
    for truth in truths[:: PROPERTIES // 40]:
        answer = read_page(get_scraper(truth["site"]), Page(truth["url"], body(truth["url"])))
        assert {key: answer.get(key) for key in truth} == truth


@pytest.mark.slow
def test_the_real_cap_is_a_thousand(running: RunningSimulator) -> None:
    url: str | None = f"{running.urls['imot.bg']}/obiavi/prodazhbi/grad-sofiya"
    seen: list[str] = []
    pages = 0
    while url:
        answer = read_page(get_scraper("imot.bg"), Page(url, body(url)))
        assert (answer["capped"], answer["total"]) == (True, 1000)
        seen += [card["external_id"] for card in answer["cards"]]
        url, pages = answer["next_url"], pages + 1
    assert (pages, len(seen), len(set(seen))) == (25, 1000, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("site", ["imot.bg", "bazar.bg"])
def test_all_copies_are_reached_exactly_once_within_the_cap(
    running: RunningSimulator, truths: list[dict[str, Any]], site: str
) -> None:
    seen: list[str] = []
    for start in running.start_urls(site, split=True):
        url: str | None = start
        while url:
            answer = read_page(get_scraper(site), Page(url, body(url)))
            assert not answer["capped"]
            seen += [card["external_id"] for card in answer["cards"]]
            url = answer["next_url"]
    assert sorted(seen) == sorted(truth["external_id"] for truth in truths if truth["site"] == site)


@pytest.mark.slow
def test_a_world_of_copies_has_no_second_day(running: RunningSimulator) -> None:
    with pytest.raises(HTTPError, match="409") as refused:
        running.advance()
    with refused.value:
        assert json.load(refused.value) == {"error": "a world of copies has no days after its first"}


@pytest.mark.slow
def test_a_very_large_world_starts_within_seconds_and_little_memory() -> None:
    with start_in_process(SimulatorConfig(properties=50_000, port=0)) as simulator:
        process = Path(f"/proc/{simulator.process.pid}")
        ticks = process.joinpath("stat").read_text().rpartition(")")[2].split()[11:13]
        assert 0 < sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") < 30  # seconds of computing
        status = process.joinpath("status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found
        assert int(found[1]) < 400_000


def test_a_copy_keeps_minute_and_photo_folder_and_differs_from_all_others() -> None:
    original = "1b177634821891002"
    copies = [imot_id_of_copy(original, turn) for turn in range(MOST_COPIES)]
    assert copies[0] == original
    assert copies[1:3] == ["1b177634821991002", "1b177634822091002"]
    assert len(set(copies)) == MOST_COPIES
    assert {int(copy[2:12]) // 60 for copy in copies} == {1776348218 // 60}
    assert {(copy[:2], copy[-3:]) for copy in copies} == {("1b", "002")}


def test_copies_of_one_slot_are_the_same_flat_on_both_portals() -> None:
    world = make_world(5, 1)
    imot, bazar = Stock(world.imot, 23), Stock(world.bazar, 23)
    for number in range(23):
        copy: BazarAdvert = bazar.advert(number)
        source = imot.advert(number)
        assert copy.home is world.bazar[number % 5].home
        assert copy.imot_id in {None, source.external_id}
        assert (copy.imot_id is None) == (world.bazar[number % 5].imot_id is None)
        assert int(source.posted.timestamp()) == int(source.external_id[2:12])
    assert imot.number(imot.advert(17).external_id) == 17
    assert imot.number("1b175000000012345") is None


def test_too_many_copies_are_refused() -> None:
    with pytest.raises(ValueError, match="1 adverts give at most 6000 copies each, not 6001"):
        Stock(make_world(1, 1).imot, 6001)


def test_a_search_finds_each_advert_in_every_wider_scope() -> None:
    stock = Stock(make_world(30, 1).imot, 90)
    index = SearchIndex(stock)
    assert len(index.find(Scope())) == 90
    sales = index.find(Scope("sale"))
    assert sorted([*sales, *index.find(Scope("rent"))]) == list(range(90))
    assert {stock.advert(number).home.deal for number in sales} == {"sale"}
    tiers = ["BEST", "TOP", "VIP", ""]
    order = [tiers.index(stock.advert(number).tier) for number in sales]
    assert order == sorted(order)


@each_row(
    ("properties", "distinct", "originals"),
    [(100, None, 100), (10_000, None, 10_000), (10_001, None, 500), (20_000, 20_000, 20_000), (50, 90, 50)],
)
def test_how_many_adverts_are_different(properties: int, distinct: int | None, originals: int) -> None:
    assert SimulatorConfig(properties=properties, distinct=distinct).originals == originals


@each_row(
    ("wrong", "sentence"),
    [
        (
            {"sites": ("imot.bg", "holmes.bg")},
            (
                "the sites are imot.bg, bazar.bg, alo.bg, homes.bg, imoti.com, imoti.net, luximmo.bg, "
                "olx.bg, suprimmo.bg"
            ),
        ),
        ({"sites": ()}, "name each site once"),
        ({"sites": ("imot.bg", "imot.bg")}, "name each site once"),
        ({"properties": -1}, "properties and day are not negative"),
        ({"port": 65_535}, "the port is too high"),
        ({"distinct": 0}, "distinct is at least 1"),
        ({"properties": 20_000, "day": 1}, "a world of copies has no days after its first"),
        ({"options": {"holmes.bg": PortalOptions()}}, "the options are of sites"),
    ],
)
def test_wrong_configs_are_refused_with_a_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^the simulator cannot start: {sentence}$"):
        SimulatorConfig(**wrong)


def test_a_config_goes_through_json_unchanged() -> None:
    config = SimulatorConfig(
        log=Path("a/b.jsonl"),
        faults="429:0.5",
        crawl_delay=2,
        sites=("bazar.bg",),
        options={"bazar.bg": PortalOptions(filters_ignored=True)},
    )
    assert SimulatorConfig.from_json(config.as_json()) == config


@pytest.mark.slow
def test_the_cache_forgets_the_page_that_was_not_asked_for_longest() -> None:
    rendered: list[str] = []
    cache = PageCache(capacity=20)

    def render(key: str, size: int) -> bytes:
        rendered.append(key)
        return b"x" * size

    def ask(key: str, size: int = 8) -> int:
        return len(cache.get(key, lambda: render(key, size)))

    assert [ask(key) for key in "abacaba"] == [8] * 7
    assert rendered == ["a", "b", "c", "b"]
    assert ask("large", 50) == 50
    assert ask("large", 50) == 50
    assert rendered[4:] == ["large", "large"]
