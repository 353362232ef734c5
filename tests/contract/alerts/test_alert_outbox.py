"""The outbox on both stores: a message is in one hand, waits, is tried again, and never lost."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from contract.storage.helpers import advert, database
from sale_sofia.alerts.channels import Channel
from sale_sofia.alerts.delivery import Delivery
from sale_sofia.alerts.outbox import (
    DROPPED,
    Delivered,
    NewMessage,
    add_message,
    bring_back,
    count_messages,
    drop,
    due_messages,
    items_of,
    note_failed,
    note_sent,
    put_off,
    read_log,
    silent_channels,
    take,
)
from sale_sofia.alerts.rules import AlertsFile
from sale_sofia.alerts.store import VIEWING, Item, begin_look, look_number, save_items
from sale_sofia.buyer.evaluations import By, mark
from sale_sofia.buyer.people import add_person
from sale_sofia.buyer.tables import viewings
from sale_sofia.buyer.viewings import add_viewing, change_viewing
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    opened = database(store_url)
    yield opened
    opened.dispose()


def make(db: Database, key: str = "new|1|R", **fields: Any) -> int:  # noqa: ANN401 - of the message
    with db.write() as connection:
        (number,) = save_items(connection, [Item(key, "new", ("R",), {"price_eur": 1.5})], now=1.0).values()
        message = NewMessage(
            **{"channel": "mail", "audience": "buyer", "items": (number,), "not_before": 5.0, **fields}
        )
        return add_message(connection, message, now=1.0)


def due(db: Database, now: float, without: tuple[str, ...] = ()) -> list[int]:
    with db.read() as connection:
        return [one.id for one in due_messages(connection, now=now, without=without)]


def took(db: Database, message: int, now: float, lease: float = 10.0) -> str | None:
    with db.write() as connection:
        (found,) = [one for one in due_messages(connection, now=now, without=()) if one.id == message]
        return take(connection, found, now=now, lease_until=now + lease)


def test_a_message_waits_for_its_moment_and_is_in_one_hand_only(db: Database) -> None:
    message = make(db)
    assert due(db, 4.9) == []
    assert due(db, 5.0) == [message]
    assert due(db, 5.0, without=("mail",)) == []
    token = took(db, message, 5.0)
    assert token is not None
    assert due(db, 14.9) == [], "it is in somebody's hand"
    with db.write() as connection:
        assert note_sent(connection, message, token, now=6.0)
        assert not note_sent(connection, message, token, now=7.0)
    assert due(db, 1e12) == []
    with db.read() as connection:
        (entry,) = read_log(connection, limit=5)
        assert count_messages(connection) == {"waiting": 0, "sending": 0, "sent": 1}
    assert (entry.state, entry.attempts, entry.breaks, entry.sent_at) == ("sent", 1, 0, 6.0)
    assert entry.items == (Item("new|1|R", "new", ("R",), {"price_eur": 1.5}),)


def test_of_many_who_want_it_one_gets_it(db: Database) -> None:
    message = make(db)
    with db.read() as connection:
        (found,) = due_messages(connection, now=9.0, without=())

    def grab(_: int) -> str | None:
        return db.run_write(lambda connection: take(connection, found, now=9.0, lease_until=99.0))

    with ThreadPoolExecutor(8) as pool:
        tokens = [token for token in pool.map(grab, range(8)) if token]
    assert len(tokens) == 1
    with db.write() as connection:
        assert note_sent(connection, message, tokens[0], now=9.5)


def test_a_dead_holder_loses_it_and_the_log_says_so(db: Database) -> None:
    message = make(db)
    dead = took(db, message, 5.0)
    alive = took(db, message, 15.0)
    assert dead is not None
    assert alive is not None
    with db.write() as connection:
        assert not note_sent(connection, message, dead, now=16.0), "its lease is over"
        assert not note_failed(connection, message, dead, error=Said.of("x"), not_before=99.0)
        assert note_sent(connection, message, alive, now=17.0)
        (entry,) = read_log(connection, limit=5)
    assert (entry.attempts, entry.breaks) == (2, 1)


def test_what_failed_waits_and_keeps_its_id(db: Database) -> None:
    message = make(db)
    token = took(db, message, 5.0)
    assert token is not None
    with db.write() as connection:
        uid = read_log(connection, limit=1)[0].uid
        assert note_failed(connection, message, token, error=Said.of("refused"), not_before=60.0)
    assert due(db, 59.0) == []
    with db.read() as connection:
        (entry,) = read_log(connection, limit=1, state="waiting")
        assert silent_channels(connection, since=5.0) == {"mail": "refused"}
        assert silent_channels(connection, since=4.0) == {}
    assert (entry.uid, entry.attempts, entry.breaks, entry.last_error) == (uid, 1, 0, "refused")


def test_a_channel_that_took_another_message_is_not_silent(db: Database) -> None:
    refused, other = make(db), make(db, "new|2|R")
    token = took(db, refused, 5.0)
    assert token is not None
    with db.write() as connection:
        note_failed(connection, refused, token, error=Said.of("refused"), not_before=60.0)
    token = took(db, other, 6.0)
    assert token is not None
    with db.write() as connection:
        note_sent(connection, other, token, now=7.0)
        assert silent_channels(connection, since=5.0) == {}


def test_a_channel_that_fails_is_tried_after_those_that_work(db: Database) -> None:
    """Else one that does not answer takes all the time there is, in each round again."""
    failed, behind, works = make(db), make(db, "new|2|R"), make(db, "new|3|R", channel="hook")
    assert due(db, 9.0) == [failed, behind, works]
    token = took(db, failed, 9.0)
    assert token is not None
    with db.write() as connection:
        note_failed(connection, failed, token, error=Said.of("no answer"), not_before=60.0)
    assert (due(db, 59.0), due(db, 60.0)) == ([works, behind], [works, failed, behind])
    token = took(db, failed, 60.0)
    assert token is not None
    with db.write() as connection:
        note_sent(connection, failed, token, now=61.0)
    assert due(db, 62.0) == [behind, works], "it works again"


def test_an_end_does_not_overtake_its_beginning(db: Database) -> None:
    first = make(db)
    second = make(db, "new|2|R", after_id=first)
    assert due(db, 9.0) == [first]
    token = took(db, first, 9.0)
    assert token is not None
    assert due(db, 9.0) == []
    with db.write() as connection:
        note_sent(connection, first, token, now=9.0)
    assert due(db, 9.0) == [second]


def test_an_end_is_sent_when_its_beginning_never_will_be(db: Database) -> None:
    first = make(db)
    second = make(db, "new|2|R", after_id=first)
    with db.write() as connection:
        (beginning,) = due_messages(connection, now=9.0, without=())
        drop(connection, beginning)
    assert due(db, 9.0) == [second]


def test_a_digest_grows_until_somebody_has_it_in_hand(db: Database) -> None:
    first = make(db, digest=True, not_before=50.0)
    assert make(db, "new|2|R", digest=True, not_before=50.0) == first
    assert make(db, "new|3|R", digest=True, not_before=60.0) != first, "another moment, another digest"
    assert make(db, "new|4|R", digest=True, not_before=50.0, channel="hook") != first
    assert took(db, first, 50.0) is not None
    assert make(db, "new|5|R", digest=True, not_before=50.0) != first
    with db.read() as connection:
        assert [item.key for item in items_of(connection, [first])[first]] == ["new|1|R", "new|2|R"]


def test_a_digest_that_was_tried_does_not_grow(db: Database) -> None:
    """Its reader may have it already, under its id."""
    first = make(db, digest=True, not_before=50.0)
    token = took(db, first, 50.0)
    assert token is not None
    with db.write() as connection:
        note_failed(connection, first, token, error=Said.of("no answer"), not_before=50.0)
    assert make(db, "new|2|R", digest=True, not_before=50.0) != first


def test_of_two_looks_at_once_one_is_the_next(db: Database) -> None:
    for seen in (0, 1):
        with db.write() as connection:
            assert look_number(connection) == seen
            assert begin_look(connection, seen, now=1.0)
        with db.write() as connection:
            assert not begin_look(connection, seen, now=1.0), "somebody has looked since"


def test_putting_off_touches_only_what_waits(db: Database) -> None:
    waiting, held = make(db), make(db, "new|2|R")
    took(db, held, 5.0)
    with db.write() as connection:
        put_off(connection, [waiting, held], not_before=70.0)
    assert due(db, 69.0) == [held], "its lease is over, and it was not put off"


def test_one_thing_is_told_once(db: Database) -> None:
    make(db)
    with db.write() as connection:
        assert save_items(connection, [Item("new|1|R", "new", ("R",), {})], now=2.0) == {}


def test_messages_of_a_clock_that_was_set_back_wait_by_as_much_less(db: Database) -> None:
    day = 86_400.0
    first, second = make(db, not_before=0.0), make(db, key="new|2|R", channel="hook", not_before=day + 50.0)
    token = took(db, first, day)
    with db.write() as connection:
        note_failed(connection, first, token or "", error=Said.of("down"), not_before=day + 20.0)
        bring_back(connection, now=100.0, longest_lease=10.0)
    assert (due(db, 119.0), due(db, 120.0)) == ([], [first]), "what was left of its wait is left"
    assert due(db, day) == [first], "one that nobody tried waits for its own moment"
    with db.write() as connection:
        bring_back(connection, now=100.0, longest_lease=10.0)
    assert due(db, 119.0) == [], "called again it changes nothing"
    held = took(db, second, day + 50.0, lease=day)
    assert held is not None
    with db.write() as connection:
        bring_back(connection, now=100.0, longest_lease=10.0)
    assert due(db, 110.0) == [second], "nobody holds it longer than a lease from now"


def test_who_comes_to_send_in_quiet_hours_leaves_what_is_not_urgent_until_their_end(db: Database) -> None:
    """What was due before them may still lie there: nobody sent, or it could not be sent."""
    night = AlertsFile.model_validate({"quiet_hours": {"from": "22:30", "to": "08:00"}}).quiet_hours
    midnight, morning = (datetime(2026, 11, 15, hour, tzinfo=SOFIA).timestamp() for hour in (0, 8))
    patient, urgent = make(db), make(db, "new|2|R", channel="hook", urgent=True)
    done = Delivery(Settings(), db, {}, night, lambda: midnight).run()
    assert set(done.errors) == {"hook"}, "it was tried; there is no such channel"
    assert (due(db, morning - 1), due(db, morning)) == ([urgent], [patient, urgent])


@pytest.mark.parametrize("change", [{}, {"starts_at": 2e9 + 60}, {"state": "cancelled"}], ids=str)
def test_a_reminder_is_not_sent_once_its_viewing_has_begun_or_is_another(
    db: Database, change: dict[str, object]
) -> None:
    starts = 2e9
    with db.write() as connection:
        save_listings(connection, [Sighting(advert(), 1.0, None, None)])
        number = add_viewing(connection, 1, {"starts_at": starts}, By("Ана", 1.0))
        uid = connection.execute(select(viewings.c.uid)).scalar_one()
        key = f"viewing|{uid}|{starts:.0f}|2"
        facts = {"starts_at": starts}
        (item,) = save_items(connection, [Item(key, VIEWING, ("R",), facts)], now=1.0).values()
        add_message(connection, NewMessage("mail", "buyer", (item,), 5.0), now=1.0)
    assert set(Delivery(Settings(), db, {}, clock=lambda: starts - 9e3).run().errors) == {"mail"}, "tried"
    with db.write() as connection:
        change_viewing(connection, number, change, By("Ана", 2.0))
    late = starts if not change else starts - 1.0
    assert Delivery(Settings(), db, {}, clock=lambda: late).run() == Delivered()
    with db.read() as connection:
        (entry,) = read_log(connection, limit=5)
        assert (entry.state, entry.attempts) == (DROPPED, 1)
        assert silent_channels(connection, since=late) == {}


@pytest.mark.parametrize("status", ["rejected", "hidden"])
def test_a_flat_that_is_no_longer_wanted_is_left_out(db: Database, status: str) -> None:
    """It may be rejected between the decision and the sending, as in quiet hours."""
    with db.write() as connection:
        save_listings(connection, [Sighting(advert(), 1.0, None, None)])
        items = [Item(f"cut|{one}", "cut", ("R",), {}, property_id=one) for one in (1, 2)]
        first, second = save_items(connection, items, now=1.0).values()
        add_message(connection, NewMessage("mail", "buyer", (first,), 5.0), now=1.0)
        add_message(connection, NewMessage("hook", "buyer", (first, second), 5.0), now=1.0)
        ana = add_person(connection, "Ана", "bg", None, now=1.0)
        mark(connection, 1, status, By("Ана", 2.0), None)
    hers = {"mail": Channel("mail", SecretStr("json://127.0.0.1:9/"), ana.stamp)}
    assert set(Delivery(Settings(), db, hers, clock=lambda: 9.0).run().errors) == {"hook"}, "it has another"
    with db.read() as connection:
        assert [entry.state for entry in read_log(connection, limit=5)] == ["waiting", DROPPED]
