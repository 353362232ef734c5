"""The buyer's word, which no run takes back."""

from pathlib import Path

import pytest
from sqlalchemy import select

from property_worlds import OWN_WORDS, advert, ids_of, new_matching, parts, save, stored
from sale_sofia.flats.overrides import WrongDecision, link, part, split
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import match_decisions
from sale_sofia.flats.views import review_queue

TWINS = [advert("a1"), advert("a2", site="bazar.bg"), advert("a3", site="alo.bg")]
OTHERS = [advert(f"b{n}", site=site, floor=7) for n, site in ((1, "imot.bg"), (2, "bazar.bg"))]
A, B = frozenset({"a1/1", "a2/1", "a3/1"}), frozenset({"b1/1", "b2/1"})


@pytest.fixture
def matching(store_url: str) -> PropertyMatching:
    made = new_matching(store_url)
    save(made.database, [*TWINS, *OTHERS])
    made.match_new()
    assert parts(made.database) == {A, B}
    return made


def test_a_join_holds_whatever_contradicts_it(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)
    assert link(matching, ids["b2"], ids["a1"]) == ids["a1"]
    assert parts(matching.database) == {A | B}
    matching.match_all()
    assert parts(matching.database) == {A | B}


def test_adverts_that_come_later_go_where_theirs_went(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)
    link(matching, ids["a1"], ids["b1"])
    save(matching.database, [advert("b3", site="alo.bg", floor=7)])
    matching.match_new()
    assert parts(matching.database) == {A | B | {"b3/1"}}


def test_two_that_were_parted_stay_two_and_are_not_asked_about_again(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)
    part(matching, ids["a1"], ids["b1"])
    matching.match_all()
    assert parts(matching.database) == {A, B}
    with matching.database.read() as connection:
        asked = {frozenset((line.property_id, line.other_id)) for line in review_queue(connection, limit=100)}
    assert frozenset((ids["a1"], ids["b1"])) not in asked
    with pytest.raises(WrongDecision, match="are one property"):
        part(matching, ids["a1"], ids["a2"])
    assert link(matching, ids["a1"], ids["b1"]) == ids["a1"]


def test_it_is_kept_who_said_so_last(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)

    def said() -> list[tuple[bool, str | None]]:
        with matching.database.read() as connection:
            rows = connection.execute(select(match_decisions.c.same, match_decisions.c.said_by).distinct())
            return sorted(map(tuple, rows))

    split(matching, ids["a1"], [ids["a2"]], by="Ана")
    assert said() == [(False, "Ана")]
    link(matching, ids["a1"], ids["a2"], by="Борис")
    assert (True, "Борис") in said()
    part(matching, ids["a1"], ids["b1"], by="Вера")
    assert (False, "Вера") in said()


def test_a_split_holds_whatever_speaks_against_it(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)
    assert split(matching, ids["a1"], [ids["a2"]]) == ids["a2"]
    apart = {frozenset({"a1/1", "a3/1"}), frozenset({"a2/1"}), B}
    assert parts(matching.database) == apart
    matching.match_all()
    assert parts(matching.database) == apart
    save(matching.database, [advert("a4", site="homes.bg")])
    matching.match_new()
    assert frozenset({"a1/1", "a2/1"}) not in {part & {"a1/1", "a2/1"} for part in parts(matching.database)}


def test_joined_and_split_again_gives_back_the_same_links(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)
    before = stored(matching.database)
    link(matching, ids["a1"], ids["b1"])
    assert stored(matching.database) != before
    split(matching, ids["a1"], [ids["b1"], ids["b2"]])
    assert stored(matching.database) == before


def test_split_and_joined_again_is_one(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)
    split(matching, ids["a1"], [ids["a2"], ids["a3"]])
    assert frozenset({"a2/1", "a3/1"}) in parts(matching.database)
    link(matching, ids["a3"], ids["a1"])
    assert parts(matching.database) == {A, B}


def test_what_makes_no_sense_is_one_sentence_and_changes_nothing(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)
    before = stored(matching.database)
    with pytest.raises(WrongDecision, match=f"are one property already: {ids['a1']}"):
        link(matching, ids["a1"], ids["a2"])
    with pytest.raises(WrongDecision, match=f"property {ids['a1']} has no advert {ids['b1']}; it has "):
        split(matching, ids["a1"], [ids["b1"]])
    with pytest.raises(WrongDecision, match="these are all adverts of property"):
        split(matching, ids["b1"], [ids["b1"], ids["b2"]])
    assert stored(matching.database) == before


def test_a_join_outlives_a_change_of_the_advert(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    save(matching.database, [advert("one"), advert("two", floor=7)])
    matching.match_new()
    ids = ids_of(matching.database)
    link(matching, ids["one"], ids["two"])
    save(matching.database, [advert("two", floor=7, description=OWN_WORDS)], seen_at=2.0)
    matching.match_new()
    assert parts(matching.database) == {frozenset({"one/1", "two/1"})}
