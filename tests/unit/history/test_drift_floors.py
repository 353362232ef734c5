"""What adverts must have, whatever is usual: found in the first run, of few adverts not by chance."""

import random

import pytest

from sale_sofia.history.drift.counts import (
    Example,
    FactCounts,
    FieldCounts,
    SectionCounts,
    counters_of,
    sections_of,
)
from sale_sofia.history.drift.judging import (
    Check,
    DriftVerdict,
    Evidence,
    Floor,
    are_met,
    are_missed,
    checks,
    floors_of,
)
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import IncidentKind
from sale_sofia.websites.registry import AVAILABLE_SITES
from sale_sofia.websites.site_file import load_site_config
from tables import each_row

PAGE = Example("https://imot.bg/1", "a" * 64)
FIRSTS = {"listing.price": "css: .cena", "listing.offer": "css: h1", "listing.rooms": "row: Вид"}
FLOORS = {"price": Floor(0.8, ("price",)), "type": Floor(0.8, ("offer", "rooms"))}


def facts(adverts: int, price: int, on_request: int = 0, kinds: int | None = None) -> FactCounts:
    kinds = adverts if kinds is None else kinds
    return FactCounts(
        adverts, price, on_request, adverts, adverts, kinds, price, {"price": PAGE, "type": PAGE}
    )


def judged(counted: FactCounts, **fields: int) -> list[Check]:
    section = SectionCounts(
        pages=counted.adverts,
        seen=counted.adverts,
        facts=counted,
        fields={name: FieldCounts(read) for name, read in fields.items()},
    )
    found = checks(Evidence({"listing": section}, [], FIRSTS, Settings(), FLOORS))
    return [one for one in found if one.kind is IncidentKind.DRIFT_FLOOR]


def verdict(counted: FactCounts, field: str = "price") -> DriftVerdict:
    return next(one.verdict for one in judged(counted) if one.name == f"listing.{field}")


@each_row(
    ("adverts", "price", "expected"),
    [
        (30, 0, "drifted"),
        (30, 15, "drifted"),
        (30, 20, "unsure"),  # it may be eight of ten all the same
        (30, 24, "usual"),
        (1000, 750, "drifted"),
        (1000, 790, "unsure"),
        (5, 0, "drifted"),
        (5, 1, "drifted"),
        (5, 2, "unsure"),
        (2, 0, "unsure"),
        (1, 0, "unsure"),
        (1, 1, "unsure"),
        (3, 3, "usual"),
        (0, 0, "unsure"),
    ],
)
def test_a_share_below_the_floor_has_drifted_without_any_past(
    adverts: int, price: int, expected: str
) -> None:
    assert verdict(facts(adverts, price)) == expected


def test_it_names_what_is_missing_its_field_its_selector_and_a_page() -> None:
    (found,) = (one for one in judged(facts(30, 0)) if one.verdict is DriftVerdict.DRIFTED)
    assert found.sentence == "price on 0 of 30 opened adverts (at least 80% expected)"
    assert found.details() == {
        "kind": "drift_floor",
        "field": "listing.price",
        "selector": "css: .cena",
        "usual": 0.8,
        "now": 0.0,
        "pages": 30,
        "found": found.sentence,
        "code": "drift.floor",
        "url": PAGE.url,
        "page_digest": PAGE.digest,
    }


def test_a_price_on_request_was_read() -> None:
    assert verdict(facts(30, 2, on_request=25)) is DriftVerdict.USUAL
    assert verdict(facts(30, 2, on_request=3)) is DriftVerdict.DRIFTED


def test_of_several_fields_that_tell_it_the_one_read_least_is_named() -> None:
    drifted = [one for one in judged(facts(30, 30, kinds=0), offer=29, rooms=0) if one.verdict == "drifted"]
    assert [(one.name, one.selector) for one in drifted] == [("listing.rooms", "row: Вид")]
    sound = [one.name for one in judged(facts(30, 30), offer=29, rooms=0)]
    assert sound == ["listing.price", "listing.offer", "listing.rooms"]  # whichever was named is as usual


@pytest.mark.slow
def test_a_portal_just_at_its_floor_is_found_hardly_ever() -> None:
    rng = random.Random(20)
    runs = [
        facts(size, sum(rng.random() < 0.8 for _ in range(size))) for size in range(1, 200, 3) for _ in "abc"
    ]
    assert sum(verdict(one) is DriftVerdict.DRIFTED for one in runs) <= len(runs) * 0.005


def test_so_far_and_afterwards() -> None:
    for counted, missed, met in ((facts(30, 0), True, False), (facts(30, 29), False, True)):
        assert are_missed({"listing": SectionCounts(facts=counted)}, FLOORS) is missed
        assert are_met(counted, FLOORS) is met
    assert not are_met(facts(2, 2), FLOORS)  # too few to say so
    assert not are_missed({}, FLOORS)


def test_what_was_counted_is_kept() -> None:
    counted = SectionCounts(facts=FactCounts(8, 2, 1, 8, 8, 7, 2, {"price": PAGE, "area": PAGE}))
    assert sections_of(counters_of({"listing": counted})) == {"listing": counted}


def test_a_run_of_a_time_when_this_was_not_counted_says_nothing() -> None:
    stored = counters_of({"listing": SectionCounts(pages=30, seen=30)})
    del stored["listing"]["facts"]
    assert sections_of(stored)["listing"].facts == FactCounts()
    assert verdict(FactCounts()) is DriftVerdict.UNSURE


@each_row("site", AVAILABLE_SITES)
def test_every_portal_has_fields_that_tell_each(site: str) -> None:
    config = load_site_config(site)
    floors = floors_of(config)
    assert list(floors) == ["price", "area", "place", "type"]
    for name, floor in floors.items():
        assert floor.fields, name
        assert set(floor.fields) <= config.listing.fields.keys()
        assert 0.5 <= floor.at_least <= 0.8


def test_the_fields_that_tell_a_type_are_those_whose_parser_does() -> None:
    floors = floors_of(load_site_config("bazar.bg"))
    assert floors["type"].fields == ("offer", "rooms", "category")
    assert (floors["price"].fields, floors["area"].fields) == (("price",), ("area_sqm",))
