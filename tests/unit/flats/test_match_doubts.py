"""Pairs of which the buyer is not sure: kept, asked last, and told since when."""

import pytest
from sqlalchemy import delete, insert, select

from property_worlds import advert, ids_of, new_matching, save
from sale_sofia.flats.overrides import WrongDecision, leave_open, link, part
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import match_links
from sale_sofia.flats.views import ReviewLine, review_queue

# Floors differ, so that no two are one property by themselves.
FLATS = [advert(f"f{floor}", floor=floor) for floor in range(1, 5)]


@pytest.fixture
def matching(store_url: str) -> PropertyMatching:
    made = new_matching(store_url)
    save(made.database, FLATS)
    made.match_new()
    ids = ids_of(made.database)
    pairs = {("f1", "f2"): 0.9, ("f2", "f3"): 0.8, ("f3", "f4"): 0.7}
    rows = [
        {"low": ids[one], "high": ids[two], "probability": share, "kind": 0}
        for (one, two), share in pairs.items()
    ]
    with made.database.write() as connection:
        connection.execute(delete(match_links))
        connection.execute(insert(match_links), rows)
    return made


def queue(matching: PropertyMatching, limit: int = 100) -> list[ReviewLine]:
    with matching.database.read() as connection:
        return review_queue(connection, limit=limit)


def told(matching: PropertyMatching, limit: int = 100) -> list[tuple[float, float | None]]:
    return [(line.probability, line.unsure_since) for line in queue(matching, limit)]


def say_unsure(matching: PropertyMatching, line: ReviewLine, at: float) -> None:
    later = PropertyMatching(matching.settings, matching.database, clock=lambda: at)
    leave_open(later, line.property_id, line.other_id)


def test_an_unsure_pair_is_asked_after_all_others_and_the_longest_unsure_first(
    matching: PropertyMatching,
) -> None:
    first, second, third = queue(matching)
    say_unsure(matching, first, 100.0)
    assert told(matching) == [(0.8, None), (0.7, None), (0.9, 100.0)]
    say_unsure(matching, second, 200.0)
    assert told(matching) == [(0.7, None), (0.9, 100.0), (0.8, 200.0)]
    assert told(matching, limit=2) == [(0.7, None), (0.9, 100.0)]
    assert told(matching, limit=1) == [(0.7, None)]
    say_unsure(matching, third, 300.0)
    say_unsure(matching, first, 400.0)
    assert told(matching) == [(0.8, 200.0), (0.7, 300.0), (0.9, 400.0)]


def test_the_answer_that_settles_most_is_asked_first(matching: PropertyMatching) -> None:
    assert [line.joins for line in queue(matching)] == [1, 1, 1]
    with matching.database.write() as connection:
        kept = [dict(row) for row in connection.execute(select(match_links)).mappings()]
        connection.execute(delete(match_links))
    save(matching.database, [advert("f4 again", floor=4), advert("f4 once more", floor=4)])
    matching.match_new()
    with matching.database.write() as connection:
        connection.execute(delete(match_links))
        connection.execute(insert(match_links), kept)
    # Three adverts of the fourth floor wait for one answer, which is likely enough.
    assert [(line.probability, line.joins) for line in queue(matching)] == [(0.7, 3), (0.9, 1), (0.8, 1)]
    assert [line.joins for line in queue(matching, limit=1)] == [3]


def test_a_doubt_follows_the_adverts_into_the_property_they_are_in_now(matching: PropertyMatching) -> None:
    first, *_ = queue(matching)
    ids = ids_of(matching.database)
    say_unsure(matching, first, 100.0)
    with matching.database.write() as connection:
        connection.execute(delete(match_links))
    link(matching, ids["f2"], ids["f4"])
    with matching.database.write() as connection:
        row = {"low": ids["f1"], "high": ids["f4"], "probability": 0.6, "kind": 0}
        connection.execute(insert(match_links).values(row))
    assert queue(matching) == [ReviewLine(0.6, ids["f1"], ids["f2"], ids["f1"], ids["f4"], 2, 100.0)]


def test_two_that_were_parted_are_not_asked_about_for_a_later_advert(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)
    with matching.database.write() as connection:
        connection.execute(delete(match_links))
    part(matching, ids["f1"], ids["f2"])
    link(matching, ids["f2"], ids["f4"])
    pairs = [(ids["f1"], ids["f4"], 0.6), (ids["f3"], ids["f4"], 0.5)]
    rows = [{"low": low, "high": high, "probability": share, "kind": 0} for low, high, share in pairs]
    with matching.database.write() as connection:
        connection.execute(insert(match_links), rows)
    assert [(line.property_id, line.other_id) for line in queue(matching)] == [(ids["f3"], ids["f2"])]


def test_of_one_property_nobody_can_be_unsure(matching: PropertyMatching) -> None:
    ids = ids_of(matching.database)
    link(matching, ids["f1"], ids["f2"])
    with pytest.raises(WrongDecision, match="are one property"):
        leave_open(matching, ids["f1"], ids["f2"])
