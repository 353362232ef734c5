"""People, and what lets each of them in: once by a link, for a while by a session, never as another."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from contract.storage.helpers import database, ready_database
from sale_sofia.buyer import people
from sale_sofia.buyer.evaluations import WrongEvaluation
from sale_sofia.buyer.people import Person, UnknownPerson
from sale_sofia.buyer.settings import (
    MOST_PEOPLE,
    MOST_SIGN_INS,
    SESSION_NOTED_SECONDS,
    SESSION_SECONDS,
    SIGN_IN_LINK_SECONDS,
)
from sale_sofia.buyer.tables import people as table
from sale_sofia.buyer.tables import sign_ins
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseBusy

NOW = 1_000_000.0
WORD = "a long password"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = ready_database(tmp_path / "x.db")
    yield made
    made.dispose()


def add(db: Database, name: str, role: str | None = None) -> Person:
    return db.run_write(partial(people.add_person, name=name, language="bg", role=role, now=NOW))


def link(db: Database, person: Person, now: float = NOW) -> str:
    return db.run_write(partial(people.new_link, person=person, now=now))


def enter(db: Database, token: str, now: float = NOW) -> str | None:
    return db.run_write(partial(people.enter_by_link, token=token, device="a phone", now=now))


def who(db: Database, session: str | None, now: float = NOW) -> str | None:
    found = db.run_read(partial(people.person_of, token=session or "", now=now))
    return found[0].name if found else None


def test_the_first_operates_and_the_others_buy(db: Database) -> None:
    roles = [add(db, name).role for name in ("Ана", "Борис")] + [add(db, "Вера", "operator").role]
    assert roles == ["operator", "buyer", "operator"]


def test_a_name_is_taken_once_in_any_case(db: Database) -> None:
    add(db, "Ана")
    with pytest.raises(WrongEvaluation, match="already somebody called АНА"):
        add(db, " АНА ")
    with pytest.raises(UnknownPerson, match="nobody is called Борис; there are: Ана"):
        db.run_read(partial(people.person_named, name="Борис"))
    for number in range(MOST_PEOPLE - 1):
        add(db, f"x{number}")
    with pytest.raises(WrongEvaluation, match=f"at most {MOST_PEOPLE}"):
        add(db, "one more")


def test_a_link_lets_in_once_and_as_its_person(db: Database) -> None:
    ana, boris = add(db, "Ана"), add(db, "Борис")
    token = link(db, boris)
    assert enter(db, f"{token}x") is None
    session = enter(db, token)
    assert who(db, session) == "Борис"
    assert enter(db, token) is None, "it was used"
    assert who(db, token) is None, "a link is no session"
    assert who(db, enter(db, link(db, ana))) == "Ана"
    entered = [one.entered_at for one in db.run_read(people.all_people)]
    assert entered == [NOW, NOW]


def test_of_many_who_use_a_link_at_once_one_comes_in(db: Database) -> None:
    token = link(db, add(db, "Ана"))
    with ThreadPoolExecutor(6) as pool:
        sessions = list(pool.map(lambda _: enter(db, token), range(6)))
    assert sum(one is not None for one in sessions) == 1


def test_links_and_sessions_end(db: Database) -> None:
    ana = add(db, "Ана")
    assert enter(db, link(db, ana), NOW + SIGN_IN_LINK_SECONDS) is None
    session = enter(db, link(db, ana))
    assert session
    last = NOW + SESSION_SECONDS
    assert (who(db, session, last - 1), who(db, session, last)) == ("Ана", None)
    used = NOW + SESSION_NOTED_SECONDS + 1
    assert db.run_read(partial(people.person_of, token=session, now=used)) == (
        db.run_read(partial(people.person_named, name="Ана")),
        True,
    )
    db.run_write(partial(people.keep_session, token=session, now=used))
    assert who(db, session, last) == "Ана", "it was used since"


def test_who_is_signed_out_or_removed_is_out_at_once(db: Database) -> None:
    ana, boris = add(db, "Ана"), add(db, "Борис")
    first, second, other = (enter(db, link(db, one)) for one in (ana, ana, boris))
    waiting = link(db, ana)
    assert first
    digest = people.digest_of(first)
    assert not db.run_write(partial(people.sign_out, person=boris, digest=digest)), "it is another's"
    assert db.run_write(partial(people.sign_out, person=ana, digest=digest))
    assert (who(db, first), who(db, second)) == (None, "Ана")
    assert db.run_write(partial(people.sign_out_everywhere, person=ana)) == 2
    assert (who(db, second), enter(db, waiting), who(db, other)) == (None, None, "Борис")
    db.run_write(partial(people.remove_person, person=boris))
    assert who(db, other) is None
    assert [one.name for one in db.run_read(people.all_people)] == ["Ана"]


def test_somebody_operates_as_long_as_there_are_people(db: Database) -> None:
    ana = add(db, "Ана")
    with pytest.raises(WrongEvaluation, match="Ана is the last operator"):
        db.run_write(partial(people.set_role, person=ana, role="buyer"))
    boris = add(db, "Борис")
    for change in (
        partial(people.remove_person, person=ana),
        partial(people.set_role, person=ana, role="buyer"),
    ):
        with pytest.raises(WrongEvaluation, match="Ана is the last operator"):
            db.run_write(change)
    db.run_write(partial(people.set_role, person=boris, role="Operator"))
    db.run_write(partial(people.remove_person, person=ana))
    db.run_write(partial(people.remove_person, person=boris))
    assert db.run_read(people.all_people) == []


@pytest.mark.slow
def test_of_two_operators_who_demote_each_other_one_is_left(postgres_url: str) -> None:
    db = database(postgres_url, timeout=0.2, retries=0)
    ana, boris = add(db, "Ана"), add(db, "Борис", "operator")
    demote = partial(people.set_role, person=boris, role="buyer")
    with db.write() as connection:
        people.set_role(connection, ana, "buyer")
        with pytest.raises(DatabaseBusy):  # it waits for the end of that
            db.run_write(demote)
    with pytest.raises(WrongEvaluation, match="Борис is the last operator"):
        db.run_write(demote)
    db.dispose()


def test_a_password_is_hashed_and_fits_its_person_alone(db: Database) -> None:
    ana, boris = add(db, "Ана"), add(db, "Борис")
    for person, word in ((ana, WORD), (boris, f"{WORD} 2")):
        db.run_write(partial(people.set_password, person=person, password=word))
    with pytest.raises(WrongEvaluation, match="from 10 to 200 characters"):
        db.run_write(partial(people.set_password, person=ana, password=WORD[:9]))

    def give(name: str, word: str) -> str | None:
        tried = partial(people.enter_by_password, name=name, password=word, device="", now=NOW)
        return who(db, db.run_write(tried))

    assert [give("ана", WORD), give("Борис", f"{WORD} 2")] == ["Ана", "Борис"]
    wrong = [("Ана", f"{WORD} 2"), ("Борис", WORD), ("Вера", WORD), ("", ""), ("Ана", "")]
    assert [give(*one) for one in wrong] == [None] * 5
    db.run_write(partial(people.set_password, person=ana, password=None))
    assert [give("Ана", WORD), give("Ана", "")] == [None, None]


def test_nothing_that_lets_in_is_stored(db: Database) -> None:
    ana = add(db, "Ана")
    db.run_write(partial(people.set_password, person=ana, password=WORD))
    token = link(db, ana)
    session = enter(db, link(db, ana)) or ""
    with db.read() as connection:
        rows = [*connection.execute(select(table)), *connection.execute(select(sign_ins))]
    stored = " ".join(str(value) for row in rows for value in row)
    assert [word in stored for word in (WORD, token, session)] == [False] * 3


def test_of_too_many_sign_ins_the_oldest_go(db: Database) -> None:
    ana = add(db, "Ана")
    sessions = [enter(db, link(db, ana, NOW + number), NOW + number) for number in range(MOST_SIGN_INS + 1)]
    assert (who(db, sessions[0]), who(db, sessions[1])) == (None, "Ана")


def test_a_session_or_a_calendar_used_as_a_link_stays(db: Database) -> None:
    person = add(db, "Ана")
    session = enter(db, link(db, person))
    calendar = db.run_write(partial(people.new_calendar, person=person, now=NOW))
    assert session
    assert [enter(db, token) for token in (session, calendar)] == [None, None]
    assert who(db, session) == "Ана"
    assert db.run_read(partial(people.person_of, token=calendar, now=NOW, kind="calendar")) is not None
