"""What the buyer said of a flat stays with it, whatever matching joins and parts."""

from pathlib import Path

import pytest

from property_worlds import advert, ids_of, new_matching, parts, save
from sale_sofia.buyer import own_photos
from sale_sofia.buyer.evaluations import (
    By,
    WrongEvaluation,
    add_note,
    evaluate,
    evaluation_of,
    evaluations,
    history_of,
    mark,
    notes_of,
    statuses,
)
from sale_sofia.buyer.own_photos import keep_photo, own_photos_of
from sale_sofia.buyer.viewings import add_viewing, viewings_of
from sale_sofia.flats.overrides import link, split
from sale_sofia.flats.runs import PropertyMatching

EARLY, LATE, LATEST = By("anna", 10.0), By("boris", 20.0), By("anna", 30.0)
ONE = [advert("a1"), advert("a2", site="bazar.bg")]
TWO = [advert("b1", floor=7), advert("b2", site="bazar.bg", floor=7)]
NOON = 1_800_000_000.0


@pytest.fixture
def matching(store_url: str) -> PropertyMatching:
    made = new_matching(store_url)
    save(made.database, [*ONE, *TWO])
    made.match_new()
    assert parts(made.database) == {frozenset({"a1/1", "a2/1"}), frozenset({"b1/1", "b2/1"})}
    assert ids_of(made.database) == {"a1": 1, "a2": 2, "b1": 3, "b2": 4}
    return made


def test_any_advert_of_a_property_leads_to_what_was_said_of_it(matching: PropertyMatching) -> None:
    with matching.database.write() as connection:
        mark(connection, 4, "shortlist", EARLY, reason="светло")
        add_note(connection, 4, "питай за мазето", EARLY)
        for one in (3, 4):
            assert evaluation_of(connection, one).status == "shortlist"
            assert [note.text for note in notes_of(connection, one)] == ["питай за мазето"]
        assert statuses(connection) == {3: "shortlist"}
        assert evaluation_of(connection, 1).status == "new"


def test_joined_the_later_word_counts_and_both_are_kept(matching: PropertyMatching) -> None:
    with matching.database.write() as connection:
        mark(connection, 1, "rejected", EARLY, reason="тъмно")
        mark(connection, 3, "shortlist", LATE)
        evaluate(connection, 1, "renovation_eur", 9_000, EARLY)
        add_note(connection, 1, "първа", EARLY)
        add_note(connection, 3, "втора", LATE)
        add_viewing(connection, 3, {"starts_at": NOON}, LATE)
    assert link(matching, 1, 3) == 1
    with matching.database.read() as connection:
        now = evaluation_of(connection, 3)
        assert (now.property_id, now.status, now.decision, now.reason) == (1, "shortlist", None, None)
        assert now.renovation_eur == 9_000
        assert [note.text for note in notes_of(connection, 1)] == ["първа", "втора"]
        assert [one.property_id for one in viewings_of(connection, 1)] == [1]
        told = {(one.property_id, one.new) for one in history_of(connection, 1) if one.field == "status"}
        assert told == {(1, "rejected"), (3, "shortlist")}
        assert set(evaluations(connection)) == {1}


def test_what_is_said_of_the_joined_one_is_whole(matching: PropertyMatching) -> None:
    """The older half was rejected for a reason; a later mark of the whole must not bring that back."""
    with matching.database.write() as connection:
        mark(connection, 1, "rejected", EARLY, reason="тъмно")
        mark(connection, 3, "shortlist", LATE)
    link(matching, 1, 3)
    with matching.database.write() as connection:
        mark(connection, 1, "contacted", LATEST)
        now = evaluation_of(connection, 1)
        assert (now.status, now.decision, now.reason) == ("contacted", None, None)


@pytest.mark.slow
def test_parted_each_has_its_own_again(matching: PropertyMatching) -> None:
    with matching.database.write() as connection:
        mark(connection, 1, "rejected", EARLY, reason="тъмно")
        mark(connection, 3, "shortlist", LATE, reason="светло")
    link(matching, 1, 3)
    with matching.database.write() as connection:
        mark(connection, 3, "offer", LATEST)
        add_note(connection, 3, "за цялото", LATEST)
        assert statuses(connection) == {1: "offer"}
    split(matching, 1, [3, 4])
    with matching.database.read() as connection:
        # The word on the whole was on the older property, whose id it had.
        assert statuses(connection) == {1: "offer", 3: "shortlist"}
        assert evaluation_of(connection, 4).reason == "светло"
        assert [note.text for note in notes_of(connection, 1)] == ["за цялото"]
        assert notes_of(connection, 3) == []
    matching.match_all()
    with matching.database.read() as connection:
        assert statuses(connection) == {1: "offer", 3: "shortlist"}


def test_the_oldest_advert_takes_the_word_along_when_it_leaves(matching: PropertyMatching) -> None:
    with matching.database.write() as connection:
        mark(connection, 1, "shortlist", EARLY)
    split(matching, 1, [2])
    with matching.database.read() as connection:
        assert statuses(connection) == {1: "shortlist"}
        assert evaluation_of(connection, 2).status == "new"


def test_an_advert_that_was_never_matched_can_be_spoken_of(store_url: str) -> None:
    matching = new_matching(store_url)
    save(matching.database, ONE)
    with matching.database.write() as connection:
        mark(connection, 2, "shortlist", EARLY)
        assert statuses(connection) == {2: "shortlist"}
    matching.match_new()
    with matching.database.read() as connection:
        assert statuses(connection) == {1: "shortlist"}
        assert evaluation_of(connection, 2).property_id == 1


def test_joined_a_later_rejection_ends_the_day_of_the_other_half(matching: PropertyMatching) -> None:
    with matching.database.write() as connection:
        mark(connection, 1, "shortlist", EARLY)
        evaluate(connection, 1, "decide_by", "2030-12-01", EARLY)
        mark(connection, 3, "rejected", LATE)
    link(matching, 1, 3)
    with matching.database.read() as connection:
        now = evaluation_of(connection, 1)
        assert (now.status, now.decide_by) == ("rejected", None)


def test_joined_the_photos_of_both_count_to_the_limit(
    matching: PropertyMatching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_photos, "MOST_OWN_PHOTOS", 2)
    for number in (1, 3):
        keep_photo(matching.database, tmp_path, number, b"", EARLY)
    link(matching, 1, 3)
    with pytest.raises(WrongEvaluation):
        keep_photo(matching.database, tmp_path, 1, b"", LATE)
    with matching.database.read() as connection:
        assert len(own_photos_of(connection, 3)) == 2
