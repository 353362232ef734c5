"""What the buyer says of a property: only what may be said, all of it kept, no window's words lost."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import pytest
from sqlalchemy import Connection, select

from contract.storage.helpers import advert, database
from contract.storage.many_threads import in_threads
from sale_sofia.buyer.evaluations import (
    ANYTHING,
    By,
    ChangedMeanwhile,
    Evaluation,
    WrongEvaluation,
    add_note,
    checked,
    evaluate,
    evaluation_of,
    evaluations,
    history_of,
    mark,
    notes_of,
    statuses,
)
from sale_sofia.buyer.settings import LONGEST_LINE, LONGEST_NOTE
from sale_sofia.buyer.tables import evaluation_changes
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.storage.database import Database
from tables import each_row

ANNA, BORIS = By("anna", 10.0), By("boris", 20.0)


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    made.run_write(lambda connection: save_listings(connection, [Sighting(advert(n), 1.0) for n in (1, 2)]))
    yield made
    made.dispose()


def changes(connection: Connection) -> list[tuple[object, ...]]:
    names = ("property_id", "field", "old", "new", "changed_by", "changed_at")
    columns = [evaluation_changes.c[name] for name in names]
    return [tuple(row) for row in connection.execute(select(*columns).order_by(evaluation_changes.c.id))]


def test_nothing_said_is_new(db: Database) -> None:
    with db.read() as connection:
        assert evaluation_of(connection, 1) == Evaluation(1, "new", None, None, None, None, None)
        assert (evaluations(connection), statuses(connection), history_of(connection, 1)) == ({}, {}, [])


def test_each_field_is_written_and_every_change_kept(db: Database) -> None:
    with db.write() as connection:
        assert evaluate(connection, 1, "status", "contacted", ANNA)
        assert evaluate(connection, 1, "reason", "  светло и тихо ", ANNA)
        assert evaluate(connection, 1, "decision", "maybe", BORIS)
        assert evaluate(connection, 1, "renovation_eur", 15_000, BORIS)
        assert not evaluate(connection, 1, "renovation_eur", 15_000.0, BORIS)
        assert evaluate(connection, 1, "renovation_eur", None, By("anna", 30.0))
    with db.read() as connection:
        now = Evaluation(1, "contacted", "maybe", "светло и тихо", None, "anna", 30.0)
        assert evaluation_of(connection, 1) == now
        assert evaluations(connection) == {1: now}
        told = [(one.field, one.old, one.new, one.changed_by) for one in history_of(connection, 1)]
    assert told == [
        ("status", "new", "contacted", "anna"),
        ("reason", None, "светло и тихо", "anna"),
        ("decision", None, "maybe", "boris"),
        ("renovation_eur", None, 15_000.0, "boris"),
        ("renovation_eur", 15_000.0, None, "anna"),
    ]


ALLOWED_STATUSES = "new, contacted, viewing, shortlist, offer, ours, rejected, hidden"
TOO_LONG = f"reason has {LONGEST_LINE + 1} characters; allowed are {LONGEST_LINE}"


@each_row(
    ("field", "value", "sentence"),
    [
        ("price_eur", 1, "'price_eur' cannot be written; allowed: status, decision, reason, renovation_eur"),
        ("property_id", 2, "'property_id' cannot be written"),
        ("changed_by", "x", "'changed_by' cannot be written"),
        ("status", "sold", f"no status 'sold'; allowed: {ALLOWED_STATUSES}"),
        ("status", None, "no status None"),
        ("status", ["new"], "no status ['new']"),
        ("decision", "perhaps", "no decision 'perhaps'; allowed: buy, maybe, no"),
        ("reason", "", "reason is empty"),
        ("reason", "x" * (LONGEST_LINE + 1), TOO_LONG),
        ("reason", "a\0b", "reason holds characters that cannot be printed"),
        ("reason", "\udcff", "reason holds characters that cannot be printed"),
        ("reason", 5, "reason must be a text, not 5"),
        ("renovation_eur", -1, "renovation_eur -1 is not between 0 and 10000000"),
        ("renovation_eur", float("nan"), "renovation_eur must be a number of euros, not nan"),
        ("renovation_eur", True, "renovation_eur must be a number of euros, not True"),
        ("renovation_eur", "15", "renovation_eur must be a number of euros, not '15'"),
    ],
)
def test_what_may_not_be_written_is_one_sentence(field: str, value: object, sentence: str) -> None:
    with pytest.raises(WrongEvaluation) as refused:
        checked(field, value)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_what_is_refused_changes_nothing(db: Database) -> None:
    with db.write() as connection:
        for field, value in (("price_eur", 1), ("status", "sold"), ("reason", "a\0b")):
            with pytest.raises(WrongEvaluation):
                evaluate(connection, 1, field, value, ANNA)
        with pytest.raises(WrongEvaluation):
            mark(connection, 1, "rejected", ANNA, reason=" ")
        assert changes(connection) == []


def test_words_as_people_paste_them_are_taken(db: Database) -> None:
    pasted = "1 200 €/м²\u00a0– „тихо“\u00ad 👨‍👩‍👧\r\nвтори ред"
    with db.write() as connection:
        add_note(connection, 1, pasted, ANNA)
        assert [one.text for one in notes_of(connection, 1)] == [pasted.replace("\r\n", "\n")]


def test_an_unknown_property_is_one_sentence(db: Database) -> None:
    works: list[Callable[[Connection, int], object]] = [
        partial(evaluate, field="status", value="hidden", by=ANNA),
        partial(mark, status="hidden", by=ANNA),
        partial(add_note, text="x", by=ANNA),
        notes_of,
        history_of,
        evaluation_of,
    ]
    with db.write() as connection:
        for work, property_id in product(works, (0, -1, 3, 2**63, 10**30)):
            with pytest.raises(UnknownProperty) as refused:
                work(connection, property_id)
            assert str(refused.value) == f"no property {property_id}; `sale-sofia properties` lists them"


def test_rejecting_decides_no_and_a_turn_forgets_what_stood_for_the_opposite(db: Database) -> None:
    def now(connection: Connection) -> tuple[str, str | None, str | None]:
        said = evaluation_of(connection, 1)
        return said.status, said.decision, said.reason

    with db.write() as connection:
        mark(connection, 1, "shortlist", ANNA, reason="светло")
        mark(connection, 1, "contacted", ANNA)
        assert now(connection) == ("contacted", None, "светло")
        mark(connection, 1, "rejected", ANNA)
        assert now(connection) == ("rejected", "no", None)
        mark(connection, 1, "hidden", ANNA, reason="до булеварда")
        assert now(connection) == ("hidden", "no", "до булеварда")
        mark(connection, 1, "new", ANNA)
        assert now(connection) == ("new", None, None)
        evaluate(connection, 1, "decision", "buy", ANNA)
        evaluate(connection, 1, "status", "offer", ANNA)
        assert now(connection) == ("offer", "buy", None)


def test_saying_it_again_writes_nothing(db: Database) -> None:
    with db.write() as connection:
        assert mark(connection, 1, "shortlist", ANNA, reason="светло")
        before = changes(connection)
        assert not mark(connection, 1, "shortlist", BORIS)
        assert not mark(connection, 1, "shortlist", BORIS, reason="светло")
        assert changes(connection) == before
        assert mark(connection, 1, "shortlist", BORIS, reason="тихо")


def test_an_expected_value_that_is_no_longer_there_changes_nothing(db: Database) -> None:
    with db.write() as connection:
        evaluate(connection, 1, "status", "shortlist", ANNA, expected="new")
        before = changes(connection)
        with pytest.raises(ChangedMeanwhile) as refused:
            evaluate(connection, 1, "status", "rejected", BORIS, expected="new")
        assert str(refused.value) == ("the status of property 1 is 'shortlist' by now, not 'new'; look again")
        with pytest.raises(ChangedMeanwhile):
            evaluate(connection, 1, "renovation_eur", 5, BORIS, expected=7.0)
        evaluate(connection, 1, "renovation_eur", 5, BORIS, expected=None)
        assert changes(connection)[: len(before)] == before
        assert evaluation_of(connection, 1).status == "shortlist"


def test_of_many_who_expect_the_same_one_is_first(db: Database) -> None:
    won: list[int] = []

    def work(number: int) -> None:
        try:
            db.run_write(
                lambda connection: evaluate(
                    connection, 1, "renovation_eur", float(number + 1), By(f"window {number}", 1.0), None
                )
            )
            won.append(number)
        except ChangedMeanwhile:
            pass

    in_threads(work, 6)
    assert len(won) == 1
    with db.read() as connection:
        [only] = history_of(connection, 1)
        assert (only.new, only.changed_by) == (won[0] + 1.0, f"window {won[0]}")


def test_windows_that_write_at_once_lose_nothing(db: Database) -> None:
    def work(number: int) -> None:
        by = By(f"window {number}", float(number))
        for turn in range(5):
            db.run_write(partial(add_note, property_id=1, text=f"{number}/{turn}", by=by))
            status = ("contacted", "viewing", "offer")[turn % 3]
            db.run_write(partial(mark, property_id=1, status=status, by=by, expected=ANYTHING))

    in_threads(work, 4)
    with db.read() as connection:
        notes = notes_of(connection, 1)
        history = [one for one in history_of(connection, 1) if one.field == "status"]
    assert sorted(one.text for one in notes) == sorted(f"{n}/{turn}" for n in range(4) for turn in range(5))
    for window in range(4):
        own = [one.text for one in notes if one.written_by == f"window {window}"]
        assert own == [f"{window}/{turn}" for turn in range(5)]
    # Each began where the one before it had ended: nobody overwrote what they had not seen.
    assert [one.old for one in history] == ["new", *(one.new for one in history[:-1])]


def test_a_note_too_long_or_empty_is_refused(db: Database) -> None:
    with db.write() as connection:
        add_note(connection, 1, "x" * LONGEST_NOTE, ANNA)
        with pytest.raises(WrongEvaluation, match=f"the note has {LONGEST_NOTE + 1} characters"):
            add_note(connection, 1, "x" * (LONGEST_NOTE + 1), ANNA)
        with pytest.raises(WrongEvaluation, match="the note is empty; write some words"):
            add_note(connection, 1, " \n ", ANNA)
        assert len(notes_of(connection, 1)) == 1


def test_who_writes_has_a_name() -> None:
    with pytest.raises(WrongEvaluation, match="the name of who writes is empty"):
        By(" ", 1.0)
