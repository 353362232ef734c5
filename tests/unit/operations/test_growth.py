"""Readings that grow too fast are found, also those that do not end; ours grow as they may."""

import os
import time
from functools import partial
from pathlib import Path

import pytest

from hostile_readers import YAMLS, reader_trials
from sale_sofia.operations.hostile import (
    TEXTS,
    ReadTrial,
    element,
    fault_of,
    measure_trials,
    pattern_trials,
    repeated,
)
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper

SMALL = (10_000, 20_000)
WHOLE = ("YAML", "robots.txt", "a message", "a line of a log")


def work(units: int) -> None:
    """A time in proportion to the units."""
    for _ in range(units):
        hash("x")


LINEAR = ReadTrial("linear", lambda size: size, lambda size: work(size * 100))
CUBE = ReadTrial("cube", lambda size: size, lambda size: work(size**3 // 1_000_000))
"""Eight times as long for twice as much: also where a busy machine makes the first look twice as slow."""


@pytest.mark.slow
def test_what_grows_too_fast_is_told_and_what_follows_is_tried_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sale_sofia.telemetry.settings.GROWTH_TRIES", 2)
    cube, linear = measure_trials([CUBE, LINEAR], (10_000, 20_000))
    assert cube.fault is not None
    assert "times as long as" in cube.fault
    assert linear.fault is None
    assert list(linear.seconds) == [10_000, 20_000]


@pytest.mark.slow
def test_one_that_hangs_or_dies_is_ended_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.telemetry.settings.GROWTH_LIMIT_SECONDS", 2.0)
    hangs = ReadTrial("hangs", str, lambda _: time.sleep(60))
    dies = ReadTrial("dies", str, lambda _: os._exit(7))
    assert [one.fault for one in measure_trials([hangs, dies], (1,))] == [
        "took more than 2 s and was ended",
        "its process died",
    ]


def test_one_bad_moment_is_no_fault(tmp_path: Path) -> None:
    def die_once(name: str) -> None:
        if not (tmp_path / name).exists():
            (tmp_path / name).touch()
            os._exit(7)

    trials = [ReadTrial(name, str, partial(lambda name, _: die_once(name), name)) for name in "ab"]
    told = [(one.name, one.fault) for one in measure_trials([*trials, LINEAR], (1,))]
    assert told == [("a", None), ("b", None), ("linear", None)]


def test_times_are_judged_by_growth_and_by_the_megabyte() -> None:
    assert fault_of({500_000: 0.5, 1_000_000: 1.0}) is None
    assert fault_of({500_000: 0.001, 1_000_000: 0.02}) is None
    assert fault_of({500_000: 0.5, 1_000_000: 1.3}) == "1000000 bytes take 2.6 times as long as 500000"
    assert fault_of({1_000_000: 2.5}) == "1000000 bytes take 2.5 s"


def test_shapes_are_as_long_as_asked() -> None:
    for shape in (*TEXTS.values(), *YAMLS.values(), repeated("ab", "<", ">")):
        assert 5_000 < len(shape(10_000)) < 20_000


def test_a_selector_becomes_an_element_that_it_finds() -> None:
    assert element('#s01 a.lnk[data-id^="x"]:not(.y)') == (
        '<a class="lnk" data-id="x" href="/1" content="1">',
        "</a>",
    )


@pytest.mark.slow
@pytest.mark.parametrize("site", AVAILABLE_SITES)
def test_no_pattern_of_a_shipped_site_file_is_slow(site: str) -> None:
    slow = {
        one.name: one.fault for one in measure_trials(list(pattern_trials(get_scraper(site).config)), SMALL)
    }
    assert {name: fault for name, fault in slow.items() if fault} == {}


@pytest.mark.slow
def test_no_reader_is_slow() -> None:
    chosen = [trial for trial in reader_trials() if trial.name.startswith(WHOLE)]
    assert len(chosen) > 100
    assert {one.name: one.fault for one in measure_trials(chosen, SMALL) if one.fault} == {}
