"""The way from one viewing to the next: on foot, by public transport, or not known."""

from dataclasses import replace
from datetime import datetime

import pytest

from sale_sofia.buyer import agenda
from sale_sofia.buyer.agenda import Transfer, stops, way_between
from sale_sofia.buyer.viewings import Viewing
from sale_sofia.flats.flat import Flat
from sale_sofia.geography.shapes import Destination, Point
from sale_sofia.listings.dates import SOFIA

SERDIKA, NEAR, MLADOST = Point(42.6977, 23.3219), Point(42.7000, 23.3250), Point(42.6516, 23.3790)
TEN = datetime(2026, 11, 25, 10, 0, tzinfo=SOFIA).timestamp()


def flat(number: int, place: Point | None) -> Flat:
    lat, lon = place or (None, None)
    return Flat(
        number, (), offered=True, price_eur=None, vat=None, first_seen_at=0.0, last_seen_at=0.0, new_at=0.0,
        city="София", neighbourhood="Младост 1", lat=lat, lon=lon,
    )  # fmt: skip


def viewing(
    number: int, minutes_later: float = 0, place: str | None = None, state: str = "planned"
) -> Viewing:
    return Viewing(
        id=number, property_id=number, uid=str(number), revision=0, state=state,
        starts_at=TEN + minutes_later * 60, minutes=30, agent=None, phone=None, place=place, remarks=None,
        outcome=None, positives=(), negatives=(), made_at=0.0, changed_at=0.0,
    )  # fmt: skip


class Rides:
    """Instead of the timetable: so many minutes to a place from anywhere."""

    def __init__(self, minutes: float | None) -> None:
        self._minutes = minutes
        self.asked: list[Destination] = []

    def __call__(self, place: Destination) -> "Rides":
        self.asked.append(place)
        return self

    def from_point(self, _start: Point) -> float | None:
        return self._minutes


@pytest.fixture
def rides(monkeypatch: pytest.MonkeyPatch) -> Rides:
    made = Rides(26.6)
    monkeypatch.setattr(agenda, "journeys_to", made)
    return made


def test_one_walks_where_it_is_near_and_rides_where_it_is_not(rides: Rides) -> None:
    assert way_between(SERDIKA, NEAR) == Transfer(6, on_foot=True)
    assert rides.asked == []
    assert way_between(SERDIKA, MLADOST) == Transfer(27, on_foot=False)
    assert rides.asked == [Destination(MLADOST)]


def test_a_way_that_is_not_known_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert way_between(None, NEAR) is None
    assert way_between(SERDIKA, None) is None
    monkeypatch.setattr(agenda, "journeys_to", Rides(None))
    assert way_between(SERDIKA, MLADOST) is None


@pytest.mark.usefixtures("rides")
def test_each_stop_has_the_way_from_the_one_before_and_says_who_comes_too_late() -> None:
    flats = {1: flat(1, SERDIKA), 2: flat(2, NEAR), 3: flat(3, MLADOST), 4: flat(4, None)}
    day = [viewing(1), viewing(2, 36), viewing(3, 92), viewing(4, 120)]
    first, second, third, fourth = stops(day, flats)
    assert (first.follows, first.way, first.pause, first.is_late) == (False, None, None, False)
    assert (second.way, second.pause, second.is_late) == (Transfer(6, on_foot=True), 6, False)
    assert (third.way, third.pause, third.is_late) == (Transfer(27, on_foot=False), 26, True)
    assert (fourth.follows, fourth.way, fourth.pause) == (True, None, -2)
    assert fourth.is_late, "they overlap, however near they are"
    assert not replace(fourth, pause=0).is_late, "of a way that is not known nobody says that it is too long"


@pytest.mark.usefixtures("rides")
def test_where_one_meets_counts_before_where_the_flat_is() -> None:
    flats = {1: flat(1, SERDIKA), 2: flat(2, NEAR)}

    def way(place: str) -> Transfer | None:
        return stops([viewing(1), viewing(2, 60, place)], flats)[1].way

    assert way("42.6516/23.3790") == Transfer(27, on_foot=False)
    assert way("пред входа") is None, "nobody knows where that is"
    assert way("Лозенец") is None, "a neighbourhood is no place to meet at"


def test_what_is_over_is_not_to_come() -> None:
    one, end = viewing(1), TEN + 30 * 60
    assert [one.is_upcoming(moment) for moment in (TEN - 1, TEN, end - 1, end)] == [True, True, True, False]
    assert [replace(one, state=state).is_upcoming(TEN - 1) for state in ("done", "cancelled")] == [False] * 2


def test_a_day_is_that_of_sofias_clock() -> None:
    late = datetime(2026, 11, 25, 23, 30, tzinfo=SOFIA).timestamp()
    assert agenda.day_of(replace(viewing(1), starts_at=late)) == "2026-11-25"


def test_the_pause_is_from_the_viewing_that_ends_last() -> None:
    day = [replace(viewing(1), minutes=120), viewing(2, 30), viewing(3, 90)]
    found = stops(day, {1: flat(1, SERDIKA), 2: flat(2, None), 3: flat(3, NEAR)})
    assert [stop.pause for stop in found] == [None, -90, -30]
    assert found[2].way == Transfer(6, on_foot=True)
