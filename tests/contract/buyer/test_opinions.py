"""What each person thinks of a flat, and what the household makes of it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from app_runs import put_adverts, store
from contract.storage.helpers import advert, database, wait_for_waiter
from sale_sofia.buyer.evaluations import (
    By,
    WrongEvaluation,
    evaluate,
    evaluation_of,
    history_of,
    mark,
    statuses,
)
from sale_sofia.buyer.opinions import (
    agree,
    dismiss,
    liked_by_all,
    opinions_on,
    say_stars,
    say_status,
    statuses_for,
    waiting_for,
    welcome,
)
from sale_sofia.buyer.people import Person, all_people
from sale_sofia.buyer.visitors import all_put_off, put_off, visitor_of
from sale_sofia.flats.store import ListingSource, save_sources
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.revisions import latest
from sale_sofia.history.tables import listings
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


def told(db: Database) -> list[tuple[str, str | None, str | None]]:
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


def test_a_hidden_flat_is_shown_again_to_who_asks_for_it_alone(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    assert say(db, ana, "hidden") == "hidden"
    assert say(db, boris, "rejected") == "hidden", "nobody asked to see it"
    assert seen_by(db, ana) == "hidden"
    assert say(db, boris, "new") == "new"
    say(db, boris, "hidden")
    assert say(db, boris, "shortlist") == "shortlist"
    say(db, ana, "hidden")
    remove(db, boris)
    assert seen_by(db, ana) == "hidden", "who leaves shows nothing"
    assert say(db, ana, "rejected") == "rejected", "all reject it"


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
    remove(db, boris)
    assert [one.name for one in db.run_read(all_people)] == ["Ана"]
    assert told(db) == []
    assert say(db, ana, "rejected") == "rejected"


def remove(db: Database, person: Person) -> None:
    db.run_write(partial(dismiss, person=person, by=By("Ана", NOW + 1)))


def matched(db: Database, *, joined: bool, now: float) -> None:
    """Both adverts become one flat, or one each; the scores follow, and see it."""
    found = [ListingSource(number, FLAT if joined else number, 1.0, "buyer", {}) for number in (FLAT, OTHER)]
    db.run_write(partial(save_sources, sources=found, now=now))
    db.run_write(partial(agree, now=now))


def test_flats_that_are_joined_have_the_status_of_what_all_said_and_parted_their_own(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    assert say(db, ana, "rejected") == "new"
    assert say(db, boris, "rejected", flat=OTHER) == "new"
    matched(db, joined=True, now=NOW + 1)
    joined = db.run_read(lambda connection: evaluation_of(connection, OTHER))
    assert (joined.property_id, joined.status, joined.decision, joined.changed_by) == (
        FLAT, "rejected", "no", "match",
    )  # fmt: skip
    seen = db.run_read(latest)
    db.run_write(partial(agree, now=NOW + 2))
    assert db.run_read(latest) == seen, "nothing is written twice"
    matched(db, joined=False, now=NOW + 3)
    assert [db.run_read(statuses).get(number, "new") for number in (FLAT, OTHER)] == ["new", "new"]


def test_another_word_on_a_joined_flat_is_no_status(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    say(db, ana, "rejected")
    say(db, boris, "rejected", flat=OTHER)
    estimate = partial(evaluate, property_id=FLAT, field="renovation_eur", value=9_000.0)
    db.run_write(partial(estimate, by=By("Ана", NOW + 2)))
    matched(db, joined=True, now=NOW + 1)
    assert db.run_read(statuses)[FLAT] == "rejected"
    db.run_write(partial(estimate, value=8_000.0, by=By("Ана", NOW + 3)))
    matched(db, joined=False, now=NOW + 4)
    assert db.run_read(statuses)[FLAT] == "new"


def test_a_status_given_after_flats_were_joined_stays(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    say(db, ana, "shortlist")
    say(db, boris, "rejected", flat=OTHER)
    matched(db, joined=True, now=NOW + 1)
    assert db.run_read(statuses) == {FLAT: "shortlist"}
    db.run_write(partial(mark, property_id=FLAT, status="rejected", by=By("a command", NOW + 2)))
    db.run_write(partial(agree, now=NOW + 3))
    assert db.run_read(statuses) == {FLAT: "rejected"}
    surer = [ListingSource(number, FLAT, 0.9, "score", {}) for number in (FLAT, OTHER)]
    db.run_write(partial(save_sources, sources=surer, now=NOW + 4))
    db.run_write(partial(agree, now=NOW + 4))
    assert db.run_read(statuses) == {FLAT: "rejected"}, "they were joined before, whatever is known of it now"


def test_what_followed_from_joined_flats_stays_when_nobody_is_left(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    say(db, ana, "rejected")
    say(db, boris, "rejected", flat=OTHER)
    matched(db, joined=True, now=NOW + 1)
    remove(db, boris)
    remove(db, ana)
    db.run_write(partial(agree, now=NOW + 3))
    assert db.run_read(statuses) == {FLAT: "rejected"}


@pytest.mark.slow
def test_what_somebody_says_while_the_status_follows_counts(postgres_url: str) -> None:
    """On a server: all was read before it was committed. A file has one writer at a time."""
    db = database(postgres_url)
    db.run_write(lambda one: save_listings(one, [Sighting(advert(n), NOW) for n in (1, 2)]) and None)
    first, second = db.run_read(lambda one: one.scalars(select(listings.c.id).order_by(listings.c.id)).all())
    ana, boris = add(db, "Ана", "Борис")
    say(db, ana, "rejected", flat=first)
    say(db, boris, "rejected", flat=second)
    joined = [ListingSource(number, first, 1.0, "buyer", {}) for number in (first, second)]
    db.run_write(partial(save_sources, sources=joined, now=NOW + 1))
    with ThreadPoolExecutor(1) as pool:
        with db.write() as connection:
            say_status(connection, first, "new", boris, None, now=NOW + 2)
            following = pool.submit(db.run_write, partial(agree, now=NOW + 3))
            wait_for_waiter(db)
        following.result()
    assert db.run_read(statuses).get(first, "new") == "new"
    db.dispose()


def test_an_advert_that_joins_them_later_does_not_undo_a_status_given_meanwhile(db: Database) -> None:
    (ana,) = add(db, "Ана")
    say(db, ana, "shortlist")
    say(db, ana, "shortlist", flat=OTHER)
    matched(db, joined=True, now=NOW + 1)
    db.run_write(partial(mark, property_id=FLAT, status="rejected", by=By("a command", NOW + 2)))
    db.run_write(partial(save_sources, sources=[ListingSource(3, FLAT, 1.0, "photo", {})], now=NOW + 3))
    db.run_write(partial(agree, now=NOW + 3))
    assert db.run_read(statuses)[FLAT] == "rejected"


def test_a_flat_beyond_the_shortlist_stays_there_whatever_was_said_of_its_copy(db: Database) -> None:
    (ana,) = add(db, "Ана")
    say(db, ana, "shortlist")
    say(db, ana, "rejected", flat=OTHER)
    db.run_write(partial(mark, property_id=FLAT, status="viewing", by=By("Ана", NOW)))
    matched(db, joined=True, now=NOW + 1)
    assert db.run_read(statuses)[FLAT] == "viewing"


def test_no_rejection_stays_with_a_flat_of_which_nobody_said_anything(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    say(db, ana, "rejected", flat=OTHER)
    say(db, boris, "rejected", flat=3)
    together = [ListingSource(number, FLAT, 1.0, "buyer", {}) for number in (FLAT, OTHER, 3)]
    db.run_write(partial(save_sources, sources=together, now=NOW + 1))
    db.run_write(partial(agree, now=NOW + 1))
    assert db.run_read(statuses)[FLAT] == "rejected"
    apart = [ListingSource(number, number, 1.0, "buyer", {}) for number in (FLAT, OTHER, 3)]
    db.run_write(partial(save_sources, sources=apart, now=NOW + 2))
    db.run_write(partial(agree, now=NOW + 2))
    assert db.run_read(statuses).get(FLAT, "new") == "new"


def test_what_the_others_said_decides_when_one_has_left(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    say(db, ana, "rejected", flat=1)
    say(db, boris, "shortlist", flat=1)
    say(db, boris, "shortlist", flat=2)
    say(db, boris, "shortlist", flat=3)
    say(db, boris, "offer", flat=3)
    remove(db, boris)
    assert db.run_read(statuses) == {1: "rejected", 2: "new", 3: "offer"}, "what was begun goes on"
    last = db.run_read(lambda connection: history_of(connection, 1))[-1]
    assert last.changed_by == "Ана", "who removed the person changed it"


def test_what_all_others_reject_is_rejected_when_one_leaves_who_said_nothing(db: Database) -> None:
    ana, boris, silent = add(db, "Ана", "Борис", "Вера")
    for flat, people in ((1, (ana, boris)), (2, (ana,))):
        for person in people:
            assert say(db, person, "rejected", flat=flat) == "new"
    db.run_write(partial(mark, property_id=2, status="shortlist", by=By("me", 5.0)))
    remove(db, silent)
    assert db.run_read(statuses) == {1: "rejected", 2: "shortlist"}


def test_the_last_one_leaves_all_as_it_is(db: Database) -> None:
    (ana,) = add(db, "Ана")
    say(db, ana, "shortlist")
    remove(db, ana)
    assert db.run_read(statuses) == {FLAT: "shortlist"}


def test_who_comes_after_another_has_not_been_here(db: Database) -> None:
    _, boris = add(db, "Ана", "Борис")
    name = f"{visitor_of(boris.id)}:default"
    db.run_write(partial(put_off, visitor=name, property_id=FLAT, now=NOW))
    remove(db, boris)
    (vera,) = add(db, "Вера")
    found = db.run_read(partial(all_put_off, visitor=f"{visitor_of(vera.id)}:default"))
    assert (vera.id, found) == (boris.id, {}), "the number is given again"


def rate(db: Database, person: Person, stars: int | None) -> list[tuple[str, str | None, int | None]]:
    db.run_write(partial(say_stars, property_id=FLAT, stars=stars, person=person, now=NOW))
    found = db.run_read(lambda connection: opinions_on(connection, [FLAT]))
    return [(one.person, one.opinion, one.stars) for one in found.get(FLAT, ())]


def test_stars_are_each_persons_own_beside_the_opinion(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    say(db, ana, "shortlist")
    assert rate(db, ana, 4) == [("Ана", "liked", 4)]
    assert rate(db, boris, 2) == [("Ана", "liked", 4), ("Борис", None, 2)]
    assert (seen_by(db, boris), told(db)[1]) == ("new", ("Борис", None, None)), "stars decide nothing"
    assert say(db, ana, "rejected", "dark") == "new", "who gave stars alone has not rejected it"
    assert rate(db, boris, None) == [("Ана", "rejected", 4)]
    for wrong in (0, 6):
        with pytest.raises(WrongEvaluation, match="stars go from 1 to 5"):
            rate(db, ana, wrong)


def test_every_word_is_in_the_history_with_who_said_it(db: Database) -> None:
    ana, boris = add(db, "Ана", "Борис")
    say(db, ana, "shortlist")
    seen = db.run_read(latest)
    rate(db, boris, 3)
    assert db.run_read(latest) > seen, "followers see it"
    say(db, boris, "rejected", "noise")
    say(db, boris, "rejected", "noise")
    remove(db, boris)
    changes = db.run_read(lambda connection: history_of(connection, FLAT))
    assert [(one.changed_by, one.field, one.old, one.new) for one in changes] == [
        ("Ана", "opinion", None, "liked"),
        ("Ана", "status", "new", "shortlist"),
        ("Борис", "stars", None, 3),
        ("Борис", "opinion", None, "rejected"),
        ("Борис", "opinion_reason", None, "noise"),
    ]
    now = db.run_read(lambda connection: evaluation_of(connection, FLAT))
    assert (now.status, now.changed_by) == ("shortlist", "Ана"), "the household's word is its own"


def test_what_all_like_and_what_waits_for_whom(db: Database) -> None:
    nobody = db.run_read(liked_by_all), db.run_read(partial(waiting_for, person=None))
    assert nobody == (frozenset(), frozenset())
    ana, boris = add(db, "Ана", "Борис")
    for flat in (1, 2, 3):
        say(db, ana, "shortlist", flat=flat)
    say(db, boris, "shortlist", flat=1)
    say(db, boris, "rejected", flat=2)
    assert db.run_read(liked_by_all) == {1}
    assert [set(db.run_read(partial(waiting_for, person=one))) for one in (ana, boris, None)] == [
        set(),
        {3},
        {3},
    ]
    say(db, ana, "contacted", flat=3)
    assert db.run_read(partial(waiting_for, person=boris)) == set(), "it was begun: nobody is asked any more"


def test_no_such_status(db: Database) -> None:
    (ana,) = add(db, "Ана")
    with pytest.raises(WrongEvaluation, match="no status 'loved'"):
        say(db, ana, "loved")
    assert told(db) == []
