"""Viewings: planned, changed, never lost; on Sofia's clock, also on the nights it is moved."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.storage.helpers import advert, database
from contract.storage.many_threads import in_threads
from sale_sofia.buyer.evaluations import By, WrongEvaluation, evaluations, history_of
from sale_sofia.buyer.viewings import (
    UnknownViewing,
    Viewing,
    add_viewing,
    all_viewings,
    change_viewing,
    checked_viewing,
    viewing_moment,
    viewings_of,
)
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.storage.database import Database
from tables import each_row

ANNA, BORIS = By("anna", 10.0), By("boris", 20.0)
NOON = 1_800_000_000.0


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    made.run_write(lambda connection: save_listings(connection, [Sighting(advert(n), 1.0) for n in (1, 2)]))
    yield made
    made.dispose()


def test_a_viewing_is_planned_changed_and_kept(db: Database) -> None:
    plan = {"starts_at": NOON, "agent": "Иванова", "phone": "0888 123 456", "place": "пред входа"}
    with db.write() as connection:
        number = add_viewing(connection, 1, plan, ANNA)
        later = add_viewing(connection, 2, {"starts_at": NOON - 60, "minutes": 45}, ANNA)
        [made] = viewings_of(connection, 1)
        assert [one.id for one in all_viewings(connection)] == [later, number]
        texts = ("Иванова", "0888 123 456", "пред входа", None, None)
        assert made == Viewing(
            number, 1, made.uid, 0, "planned", NOON, 30, *texts, (), (), made_at=10.0, changed_at=10.0
        )
        after = {"state": "done", "positives": ["светло"], "negatives": ["шумно"], "outcome": "оферта"}
        assert change_viewing(connection, number, after, BORIS)
        assert change_viewing(connection, number, {"positives": ["тихо"]}, By("anna", 30.0))
        assert not change_viewing(connection, number, {"state": "done", "positives": []}, BORIS)
    with db.read() as connection:
        [now] = viewings_of(connection, 1)
        assert (now.uid, now.revision, now.state, now.outcome) == (made.uid, 2, "done", "оферта")
        assert (now.positives, now.negatives) == (("светло", "тихо"), ("шумно",))
        assert (now.made_at, now.changed_at) == (10.0, 30.0)
        told = [
            (one.viewing_id, one.field, one.old, one.new, one.changed_by) for one in history_of(connection, 1)
        ]
        assert evaluations(connection) == {}
    assert told == [
        (number, "minutes", None, 30, "anna"),
        (number, "starts_at", None, NOON, "anna"),
        (number, "agent", None, "Иванова", "anna"),
        (number, "phone", None, "0888 123 456", "anna"),
        (number, "place", None, "пред входа", "anna"),
        (number, "state", None, "planned", "anna"),
        (number, "state", "planned", "done", "boris"),
        (number, "positives", [], ["светло"], "boris"),
        (number, "negatives", [], ["шумно"], "boris"),
        (number, "outcome", None, "оферта", "boris"),
        (number, "positives", ["светло"], ["светло", "тихо"], "anna"),
    ]


def test_windows_that_add_at_once_lose_nothing(db: Database) -> None:
    number = db.run_write(partial(add_viewing, property_id=1, fields={"starts_at": NOON}, by=ANNA))

    def add(window: int) -> None:
        for turn in range(5):
            fields = {"positives": [f"{window}/{turn}"]}
            db.run_write(partial(change_viewing, viewing_id=number, fields=fields, by=BORIS))

    in_threads(add, 3)
    with db.read() as connection:
        [now] = viewings_of(connection, 1)
    assert sorted(now.positives) == sorted(f"{window}/{turn}" for window in range(3) for turn in range(5))
    assert now.revision == 15


@each_row(
    ("fields", "sentence"),
    [
        ({"uid": "x"}, "'uid' of a viewing cannot be written; allowed: state, starts_at, minutes, agent"),
        ({"state": "over"}, "no state 'over' of a viewing; allowed: planned, done, cancelled"),
        ({"minutes": 0}, "minutes must be a whole number from 1 to 1440, not 0"),
        ({"minutes": 30.5}, "minutes must be a whole number from 1 to 1440, not 30.5"),
        ({"starts_at": "soon"}, "starts_at must be a moment, not 'soon'"),
        ({"starts_at": 5.0}, "a viewing is between 2000 and 2100"),
        ({"starts_at": 1e18}, "a viewing is between 2000 and 2100"),
        ({"positives": "светло"}, "positives must be a list of texts, not 'светло'"),
        ({"negatives": [" "]}, "one of the negatives is empty; write some words"),
    ],
)
def test_what_may_not_be_written_is_one_sentence(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(WrongEvaluation) as refused:
        checked_viewing(fields)
    assert str(refused.value).startswith(sentence)


def test_an_unknown_property_or_viewing_changes_nothing(db: Database) -> None:
    with db.write() as connection:
        with pytest.raises(UnknownProperty, match="no property 9"):
            add_viewing(connection, 9, {"starts_at": NOON}, ANNA)
        with pytest.raises(UnknownViewing, match="no viewing 9; `sale-sofia viewing list` shows them"):
            change_viewing(connection, 9, {"state": "done"}, ANNA)
        with pytest.raises(WrongEvaluation, match="a viewing needs its starts_at"):
            add_viewing(connection, 1, {"agent": "x"}, ANNA)
        assert all_viewings(connection) == []


@each_row(
    ("text", "utc"),
    [
        ("2026-11-20 15:30", "2026-11-20 13:30"),
        ("2026-07-20T15:30", "2026-07-20 12:30"),
        ("2026-07-20T15:30+00:00", "2026-07-20 15:30"),
        ("2026-03-29 02:59", "2026-03-29 00:59"),
        ("2026-03-29 04:00", "2026-03-29 01:00"),
        ("2026-10-25 02:59", "2026-10-24 23:59"),
        ("2026-10-25T03:30+03:00", "2026-10-25 00:30"),
        ("2026-10-25T03:30+02:00", "2026-10-25 01:30"),
        ("2026-10-25 04:00", "2026-10-25 02:00"),
    ],
)
def test_moments_are_on_sofias_clock(text: str, utc: str) -> None:
    assert datetime.fromtimestamp(viewing_moment(text), UTC) == datetime.fromisoformat(f"{utc}+00:00")


@each_row(
    ("text", "sentence"),
    [
        ("tomorrow", "'tomorrow' is no date with a time; write it like 2026-11-20 15:30, Sofia's time"),
        ("2026-11-31 10:00", "'2026-11-31 10:00' is no date with a time"),
        ("2026-11-20", "'2026-11-20' is no date with a time"),
        ("2026-03-29 03:30", "there is no 03:30 on 2026-03-29: Sofia's clock jumps over it"),
        (
            "2026-10-25 03:30",
            "03:30 comes twice on 2026-10-25; write 2026-10-25T03:30+03:00 or 2026-10-25T03:30+02:00",
        ),
    ],
)
def test_what_the_clock_never_or_twice_shows_is_asked_for(text: str, sentence: str) -> None:
    with pytest.raises(WrongEvaluation) as refused:
        viewing_moment(text)
    assert str(refused.value).startswith(sentence)


@given(st.integers(1_600_000_000 // 60, 2_000_000_000 // 60).map(lambda minute: minute * 60.0))
def test_every_moment_can_be_written_with_its_offset(moment: float) -> None:
    written = datetime.fromtimestamp(moment, ZoneInfo("Europe/Sofia")).isoformat()
    assert viewing_moment(written) == moment
