"""What changed: whoever changes an advert, or what is said of it, touches it, and no follower misses that."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select

from sale_sofia.advice.scoring.store import ScoreRow, forget_scores, save_scores
from sale_sofia.buyer.corrections import correct
from sale_sofia.buyer.evaluations import By, evaluate
from sale_sofia.crawl.tables import jobs
from sale_sofia.descriptions.enrichment import DescriptionRead, save_reads
from sale_sofia.flats.agencies import save_phones
from sale_sofia.flats.contradictions import Outlier
from sale_sofia.flats.flat import Code
from sale_sofia.flats.outliers import save_outliers
from sale_sofia.flats.photos.store import PhotoResult, save_photo
from sale_sofia.flats.store import ListingSource, save_sources
from sale_sofia.history.listings import SameAgain, Sighting, save_listings, save_unmodified
from sale_sofia.history.market_events import set_back, set_gone
from sale_sofia.history.news import hold_first_seen, release_all
from sale_sofia.history.revisions import Changes, advance, changes_since, is_at, position, touch
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.tables import revisions
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database

NOW = 1_790_000_000.0


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    opened = Database(store_url, busy_timeout_seconds=30, busy_retries=5)
    yield opened
    opened.dispose()


def see(connection: Connection, number: int, at: float, job_id: str | None = None, **facts: Any) -> None:  # noqa: ANN401
    own = {"site": "imot.bg", "external_id": f"1b{number}", "url": f"https://www.imot.bg/obiava-1b{number}"}
    told = {"deal": "sale", "price_eur": 100_000.0, "area_sqm": 80.0, "floor": number}
    save_listings(connection, [Sighting(Listing.model_validate(own | told | facts), at, job_id=job_id)])


def touched(database: Database, *works: Callable[[Connection], object], scores: bool = True) -> set[int]:
    """The adverts that a follower has to look at after these were done."""
    before = database.run_read(lambda c: changes_since(c, 0)).upto
    for work in works:
        database.run_write(work)
    return set(database.run_read(partial(changes_since, since=before, scores=scores)).listing_ids)


def source(listing_id: int, property_id: int, probability: float = 1.0) -> ListingSource:
    return ListingSource(listing_id, property_id, probability, "evidence", {})


def photo(listing_id: int, position: int, signature: bytes | None = bytes(160)) -> PhotoResult:
    return PhotoResult(listing_id, position, "https://x", 1, signature=signature)


def score(property_id: int) -> ScoreRow:
    return ScoreRow(property_id, "default", "d", 1.0, 1.0, 1.0, "pass", "[]", "[]", "{}", NOW)


def test_every_change_touches_its_advert_and_nothing_else_does(database: Database) -> None:
    job = {"id": "j", "site": "imot.bg", "state": "running", "start_urls": [], "created_at": NOW}
    database.run_write(lambda c: c.execute(insert(jobs).values(job)))
    read = DescriptionRead(3, "hash", "rules", {}, ())
    odd = {(3, Code.PRICE_OUT_OF_MARKET): Outlier(Code.PRICE_OUT_OF_MARKET, 1_000.0, 9_000.0)}
    same, rules = [SameAgain("1b1", NOW + 5)], HistoryRules()
    steps: list[tuple[str, Callable[[Connection], object], set[int]]] = [
        ("a new advert", partial(see, number=1, at=NOW), {1}),
        ("the same again", partial(see, number=1, at=NOW + 1), set()),
        ("another price", partial(see, number=1, at=NOW + 2, price_eur=90_000.0), {1}),
        ("late", partial(see, number=1, at=NOW - 9, price_eur=95_000.0), {1}),
        ("a second", partial(see, number=2, at=NOW), {2}),
        ("a third", partial(see, number=3, at=NOW, job_id="j"), {3}),
        ("another flat under its id", partial(see, number=2, at=NOW + 3, area_sqm=200.0, floor=15), {2, 4}),
        ("not modified", partial(save_unmodified, site="imot.bg", same=same, job_id="j", rules=rules), set()),
        ("gone", partial(set_gone, since={1: NOW}, now=NOW + 9, reason="missed"), {1}),
        ("back by a card", partial(set_back, listing_ids=[1], at=NOW + 10), {1}),
        ("gone again", partial(set_gone, since={1: NOW + 11}, now=NOW + 11, reason="missed"), {1}),
        ("back by its page", partial(see, number=1, at=NOW + 12, price_eur=90_000.0), {1}),
        ("held back", partial(hold_first_seen, job_id="j", now=NOW), {3}),
        ("let go", partial(release_all, site="imot.bg", now=NOW), {3}),
        ("phones forgotten", partial(save_phones, listing_id=1, phones=["+359"]), {1}),
        ("a description read", partial(save_reads, reads=[read], now=NOW), {3}),
        ("matched", partial(save_sources, sources=[source(1, 1), source(3, 3)], now=NOW), {1, 3}),
        ("matched as before", partial(save_sources, sources=[source(1, 1), source(3, 3)], now=NOW), set()),
        ("surer of it", partial(save_sources, sources=[source(3, 3, 0.9)], now=NOW), set()),
        ("joined", partial(save_sources, sources=[source(3, 1)], now=NOW), {3}),
        ("parted", partial(save_sources, sources=[source(3, 3)], now=NOW), {1, 3}),
        ("a photo", partial(save_photo, photo=photo(3, 0), number=7, now=NOW), {3}),
        ("no photo", partial(save_photo, photo=photo(3, 1, None), number=None, now=NOW), set()),
        ("a picture on two flats", partial(save_photo, photo=photo(2, 0), number=7, now=NOW), {2, 3}),
        ("another in its place", partial(save_photo, photo=photo(3, 0, None), number=None, now=NOW), {2, 3}),
        ("the buyer's word", lambda c: evaluate(c, 1, "decision", "maybe", By("me", NOW)), {1}),
        ("a fact put right", lambda c: correct(c, 1, "floor", "4", By("me", NOW)), {1}),
        ("taken back", lambda c: correct(c, 1, "floor", None, By("me", NOW)), {1}),
        ("out of the market", partial(save_outliers, found=odd), {3}),
        ("still so", partial(save_outliers, found=odd), set()),
        ("no longer", partial(save_outliers, found={}), {3}),
    ]  # fmt: skip
    for name, work, expected in steps:
        assert touched(database, work, scores=False) == expected, name


@pytest.mark.parametrize(
    "scored",
    [partial(save_scores, rows=[score(1)]), partial(forget_scores, profile="default", property_ids=[1])],
)
def test_a_score_hides_no_other_touch_from_those_who_pass_over_scores(
    database: Database, scored: Callable[[Connection], object]
) -> None:
    database.run_write(partial(see, number=1, at=NOW))

    def both(connection: Connection) -> None:
        touch(connection, [1])
        scored(connection)

    def both_otherwise(connection: Connection) -> None:
        scored(connection)
        touch(connection, [1])

    other = partial(touch, listing_ids=[1])
    for works in ([scored], [other, scored], [scored, other], [both], [both_otherwise]):
        assert touched(database, *works) == {1}
    assert touched(database, scored, scores=False) == set()
    for works in ([other, scored], [scored, other], [both], [both_otherwise]):
        assert touched(database, *works, scores=False) == {1}
    database.run_write(lambda c: c.execute(delete(revisions)))
    assert touched(database, scored, scores=False) == set()
    assert touched(database, other, scores=False) == {1}


def test_a_transaction_that_fails_touches_nothing_nor_does_the_next_for_it(database: Database) -> None:
    database.run_write(partial(see, number=1, at=NOW))

    def fails(connection: Connection) -> None:
        see(connection, 1, NOW + 1, price_eur=90_000.0)
        raise KeyError

    with pytest.raises(KeyError):
        touched(database, fails)
    assert touched(database, partial(see, number=2, at=NOW)) == {2}


def test_a_follower_goes_on_where_it_was_and_of_two_the_first(database: Database) -> None:
    database.run_write(partial(see, number=1, at=NOW))
    first = database.run_read(lambda c: changes_since(c, position(c, "scores", "v1")))
    assert (set(first.listing_ids), first.since) == ({1}, 0)
    assert database.run_write(lambda c: advance(c, "scores", "v1", first))
    assert not database.run_write(lambda c: advance(c, "scores", "v1", first))
    database.run_write(partial(see, number=2, at=NOW))
    assert database.run_write(lambda c: is_at(c, "scores", "v1", first.upto))
    second = database.run_read(lambda c: changes_since(c, position(c, "scores", "v1")))
    assert (set(second.listing_ids), second.since) == ({2}, first.upto)
    assert database.run_write(lambda c: advance(c, "scores", "v1", second))
    assert not database.run_write(lambda c: advance(c, "scores", "v1", second))
    assert not database.run_write(lambda c: is_at(c, "scores", "v1", first.upto))
    idle = database.run_read(lambda c: changes_since(c, position(c, "scores", "v1")))
    assert idle == Changes(frozenset(), second.upto, second.upto)
    assert database.run_read(lambda c: position(c, "scores", "v2")) == 0
    again = database.run_read(lambda c: changes_since(c, 0))
    assert database.run_write(lambda c: advance(c, "scores", "v2", again))
    assert database.run_read(lambda c: position(c, "scores", "v1")) == 0


def test_a_transaction_that_commits_late_has_a_later_number(database: Database) -> None:
    if database.url.get_backend_name() == "sqlite":
        pytest.skip("a file has one writer at a time")
    for number in (1, 2):
        database.run_write(partial(see, number=number, at=NOW))
    before = database.run_read(lambda c: changes_since(c, 0)).upto
    with database.write() as connection:
        touch(connection, [1])
        database.run_write(partial(touch, listing_ids=[2]))
        first = database.run_read(partial(changes_since, since=before))
        assert set(first.listing_ids) == {2}
    second = database.run_read(partial(changes_since, since=first.upto))
    assert set(second.listing_ids) == {1}


def test_numbers_are_committed_in_their_order_also_where_many_write_at_once(database: Database) -> None:
    """A follower that reads all the time sees every touch once, though writers overtake each other."""
    writers, rounds = 4, 25

    def many(connection: Connection) -> None:
        for number in range(1, writers + 1):
            see(connection, number, NOW)

    database.run_write(many)
    done, position_now = threading.Event(), database.run_read(lambda c: changes_since(c, 0)).upto
    seen: list[tuple[int, int]] = []

    def write(number: int) -> None:
        for _ in range(rounds):
            database.run_write(partial(touch, listing_ids=[number]))

    def follow() -> None:
        nonlocal position_now
        last = False
        while not last:
            last = done.is_set()
            found = database.run_read(partial(changes_since, since=position_now))
            assert found.upto >= position_now
            seen.extend((listing_id, found.upto) for listing_id in found.listing_ids)
            position_now = found.upto

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, writers + 1)]
    follower = threading.Thread(target=follow)
    follower.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    follower.join()
    last = {
        row.listing_id: row.revision
        for row in database.run_read(lambda c: c.execute(select(revisions)).all())
    }
    for number in range(1, writers + 1):
        noticed = [upto for listing_id, upto in seen if listing_id == number]
        assert noticed, number
        assert max(noticed) >= last[number], number
    assert position_now == 1 + writers * rounds
