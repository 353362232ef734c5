"""Sixty days of a portal: every change, removal, return and re-used id on its day, no other."""

import os
from collections import Counter
from itertools import pairwise

import pytest

from ready_files import put_ready_file
from sale_sofia.history.sweeps import list_sweeps
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import open_incidents
from sale_sofia_simulator.world import advance, make_world
from simulated_days import Days, Mode, stored_changes, stored_events, stored_firsts, stored_prices

DAYS = 60
PROPERTIES = 120
TROUBLE: dict[int, Mode] = {
    9: "partial",
    10: "partial",
    20: "blocked",
    21: "blocked",
    30: "collapsed",
    31: "collapsed",
    45: "partial",
}


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Days:
    seed = int(os.environ.get("DAYS_SEED", "5"))
    path = tmp_path_factory.mktemp("days") / "x.db"
    put_ready_file(path)
    database = Database(f"sqlite:///{path}", busy_timeout_seconds=5, busy_retries=2)
    made = Days(database)
    world = make_world(PROPERTIES, seed)
    for day in range(DAYS):
        world = world if day == 0 else advance(world, day, seed)
        made.sweep(world, TROUBLE.get(day, "whole"))
    return made


def test_no_change_that_a_card_shows_is_missed(days: Days) -> None:
    assert days.expected().missed_cards() == []


def test_every_change_is_recorded_once_on_the_day_it_was_seen(days: Days) -> None:
    expected = days.expected().changes()
    with days.database.read() as connection:
        assert stored_changes(connection) == expected
    kinds = Counter(field for _, _, field, _, _ in expected)
    assert kinds["price_eur"] > 20
    assert kinds["description"] > 5
    assert kinds["vat"] > 1


def test_every_price_is_a_point(days: Days) -> None:
    with days.database.read() as connection:
        assert stored_prices(connection) == days.expected().prices()


def test_what_went_came_back_or_became_another_flat(days: Days) -> None:
    expected = days.expected().events()
    with days.database.read() as connection:
        assert stored_events(connection) == expected
    kinds = Counter(kind for kind, _, _ in expected)
    assert kinds["gone"] > 50
    assert kinds["back"] > 3
    assert kinds["reused"] > 3


def test_days_of_trouble_are_no_complete_sweeps(days: Days) -> None:
    with days.database.read() as connection:
        sweeps = list_sweeps(connection, limit=DAYS)[::-1]
        assert open_incidents(connection) != []
    assert {day for day, sweep in enumerate(sweeps) if not sweep.complete} == set(TROUBLE)
    assert [sweeps[day].reason for day in (9, 20)] == [
        "1 of 3 searches failed, 80 seen of an unknown number",
        "1 of 1 searches failed",
    ]
    assert (sweeps[30].reason or "").startswith("collapsed: ")


def test_each_flat_is_known_since_the_day_it_was_first_shown(days: Days) -> None:
    firsts: dict[str, int] = {}
    for day, shown in enumerate(days.shown):
        for truth in shown:
            firsts.setdefault(truth["external_id"], day)
    with days.database.read() as connection:
        stored = stored_firsts(connection)
    assert {key: day for (key, generation), day in stored.items() if generation == 1} == firsts


def test_a_quiet_day_costs_a_fraction_of_the_first(days: Days) -> None:
    first = days.requests[0]
    # After days of trouble there is more to catch up with.
    quiet = [day for day in range(3, DAYS) if not {day, day - 1, day - 2} & TROUBLE.keys()]
    costs = [days.requests[day] / first for day in quiet]
    assert max(costs) <= 0.20
    assert sum(costs) / len(costs) <= 0.15


def test_every_advert_is_opened_again_within_the_bound(days: Days) -> None:
    """Thirty days, and the troubled ones between."""
    for visits in days.opened.values():
        gaps = [later - earlier for (earlier, _), (later, _) in pairwise(visits)]
        assert max(gaps, default=0) <= 30 + len(TROUBLE)
