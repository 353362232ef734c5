"""What each person thinks of a flat, and what the household makes of it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from app_runs import put_adverts, store
from sale_sofia.buyer.evaluations import By, WrongEvaluation, evaluation_of, mark, statuses
from sale_sofia.buyer.opinions import opinions_on, say_status, statuses_for, welcome
from sale_sofia.buyer.people import Person, all_people, remove_person
from sale_sofia.storage.database import Database

NOW = 1_000.0
FLAT, OTHER = 1, 2


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    put_adverts(tmp_path, *({"deal": "sale", "title": str(number)} for number in range(3)))
    made = store(tmp_path)
    yield made
    made.dispose()


def add(db: Database, *names: str) -> list[Person]:
    return [db.run_write(partial(welcome, name=name, language="bg", role=None, now=NOW)) for name in names]


def say(db: Database, person: Person, status: str, reason: str | None = None, flat: int = FLAT) -> str:
    """What the household's status is after it."""
    db.run_write(partial(say_status, property_id=flat, status=status, person=person, reason=reason, now=NOW))
    return db.run_read(lambda connection: evaluation_of(connection, flat).status)


def seen_by(db: Database, person: Person) -> str:
    return db.run_read(lambda connection: statuses_for(connection, person)).get(FLAT, "new")


def told(db: Database) -> list[tuple[str, str, str | None]]:
    found = db.run_read(lambda connection: opinions_on(connection, [FLAT]))
    return [(one.person, one.opinion, one.reason) for one in found.get(FLAT, ())]


def test_one_who_likes_it_puts_it_on_the_list_and_the_other_is_still_asked(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    assert say(db, ana, "shortlist") == "shortlist"
    assert (seen_by(db, ana), seen_by(db, boris)) == ("shortlist", "new")
    assert say(db, boris, "rejected", "noise") == "shortlist"
    assert (seen_by(db, ana), seen_by(db, boris)) == ("shortlist", "rejected")
    assert told(db) == [("Ана", "liked", None), ("Борис", "rejected", "noise")]


def test_it_is_rejected_when_all_reject_it(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    assert say(db, ana, "rejected", "street") == "new"
    assert (seen_by(db, ana), seen_by(db, boris)) == ("rejected", "new")
    assert say(db, boris, "rejected") == "rejected"
    assert say(db, boris, "new") == "new", "taken back"
    assert told(db) == [("Ана", "rejected", "street")]
    assert say(db, ana, "new") == "new"
    assert told(db) == []


def test_what_was_begun_goes_on_unless_all_reject_it(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    say(db, ana, "shortlist")
    assert say(db, ana, "contacted") == "contacted"
    assert (seen_by(db, ana), seen_by(db, boris)) == ("contacted", "contacted")
    assert say(db, boris, "rejected") == "contacted"
    assert say(db, ana, "rejected") == "rejected"
    assert told(db) == [("Ана", "rejected", None), ("Борис", "rejected", None)]


def test_the_first_person_has_said_what_was_said_before(db: Database) -> None:
    for flat, status, why in ((FLAT, "rejected", "dark"), (OTHER, "shortlist", None), (3, "contacted", None)):
        db.run_write(partial(mark, property_id=flat, status=status, by=By("me", 5.0), reason=why))
    ana, boris = add(db, "Ана", "Борис")
    assert told(db) == [("Ана", "rejected", "dark")]
    mine = db.run_read(lambda connection: statuses_for(connection, ana))
    assert mine == db.run_read(statuses) == {FLAT: "rejected", OTHER: "shortlist", 3: "contacted"}
    theirs = db.run_read(lambda connection: statuses_for(connection, boris))
    assert theirs == {FLAT: "new", OTHER: "new", 3: "contacted"}


def test_two_who_speak_at_once_are_both_heard(db: Database) -> None:
    both = add(db, "Ана", "Борис")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda person: say(db, person, "rejected"), both))
    assert db.run_read(lambda connection: evaluation_of(connection, FLAT).status) == "rejected"
    assert [one[0] for one in told(db)] == ["Ана", "Борис"]


def test_who_has_left_counts_no_more(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    say(db, boris, "shortlist")
    db.run_write(lambda connection: remove_person(connection, boris))
    assert [one.name for one in db.run_read(all_people)] == ["Ана"]
    assert told(db) == []
    assert say(db, ana, "rejected") == "rejected"


def test_no_such_status(db: Database) -> None:
    (ana,) = add(db, "Ана")
    with pytest.raises(WrongEvaluation, match="no status 'loved'"):
        say(db, ana, "loved")
    assert told(db) == []
