"""The table of flats is what merging their adverts gives, though only what was touched is merged anew."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select, update

from sale_sofia.buyer.corrections import correct
from sale_sofia.buyer.evaluations import By, mark
from sale_sofia.descriptions.enrichment import read_new
from sale_sofia.flats import overrides, projection
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.outliers import refresh_outliers
from sale_sofia.flats.projection import flat_changes, load_flats, refresh_flats
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.settings import PHOTOS_REMEMBERED
from sale_sofia.flats.tables import flats
from sale_sofia.geography import imported
from sale_sofia.history.cards import Scope, SeenCard, see_cards
from sale_sofia.history.jobs import create_job
from sale_sofia.history.listings import SameAgain, Sighting, save_listings, save_unmodified
from sale_sofia.history.market_events import set_gone
from sale_sofia.history.news import release_all
from sale_sofia.history.revisions import Changes, changes_since, latest, touch, touch_scores
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.tables import listings, scopes
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

NOW = 1_790_000_000.0
HOUR = 3600.0
TO_BE_BUILT: dict[str, Any] = {"year_built": 2027, "act_status": "act16"}
WORDS = "Апартамент с две тераси, южно изложение и ипотека върху имота. Цената е без ДДС."


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    opened = Database(store_url, busy_timeout_seconds=30, busy_retries=5)
    yield opened
    opened.dispose()


def see(database: Database, number: int, at: float = NOW, **facts: Any) -> None:  # noqa: ANN401 - fields of any kind
    own = {"site": "imot.bg", "external_id": f"1b{number}", "url": f"https://www.imot.bg/obiava-1b{number}"}
    told = {
        "deal": "sale", "property_type": "apartment", "rooms": 3, "price_eur": 100_000.0 + number,
        "area_sqm": 80.0 + number, "floor": number, "city": "София", "neighbourhood": "Лозенец",
        "photo_urls": [f"https://www.imot.bg/{number}/{place}.jpg" for place in range(3)],
    }  # fmt: skip
    listing = Listing.model_validate(own | told | facts)
    database.run_write(lambda connection: save_listings(connection, [Sighting(listing, at)]))


def merged(database: Database) -> dict[int, Flat]:
    """Every flat, merged from its adverts now."""
    return database.run_read(
        lambda connection: {one.property_id: one for one in read_flats(connection, photos=PHOTOS_REMEMBERED)}
    )


def stored(database: Database) -> dict[int, Flat]:
    """Every flat as the table has it, once it is up to date."""
    refresh_flats(database)
    found = database.run_read(lambda connection: {one.property_id: one for one in load_flats(connection)})
    assert searched(database) == {number: tuple(projection.searched(flat)) for number, flat in found.items()}
    return found


def searched(database: Database) -> dict[int, tuple[Any, ...]]:
    rows = database.run_read(lambda connection: connection.execute(select(flats)).all())
    return {row.property_id: tuple(row)[3:] for row in rows}


def revisions(database: Database) -> dict[int, int]:
    columns = select(flats.c.property_id, flats.c.revision)
    return database.run_read(lambda connection: {row[0]: row[1] for row in connection.execute(columns)})


def change(connection: Connection, number: int, **values: Any) -> None:  # noqa: ANN401 - columns of any kind
    connection.execute(update(listings).where(listings.c.id == number).values(values))
    touch(connection, [number])


def test_every_kind_of_change_is_noticed_and_nothing_else_is_merged(
    database: Database, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = Settings(data_dir=tmp_path_factory.mktemp("match"))
    matching, by = PropertyMatching(settings, database), By("me", NOW)
    for number in range(1, 12):
        see(database, number)
    assert stored(database) == merged(database)
    before, said = revisions(database)[10], By("me", NOW + 1)

    def write(work: Callable[[Connection], object]) -> Callable[[], object]:
        return lambda: database.run_write(work)

    steps: dict[str, Callable[[], object]] = {
        "another price": lambda: see(database, 1, NOW + HOUR, price_eur=90_000.0),
        "a new advert": lambda: see(database, 12, NOW + HOUR, heating=["gas"], parking=["garage"]),
        "another address": lambda: see(database, 2, NOW + HOUR, url="https://www.imot.bg/obiava-1b2-new"),
        "a late sighting": lambda: see(database, 2, NOW - 5 * HOUR, price_eur=150_000.0),
        "another flat under a known id": lambda: see(database, 3, NOW + 2 * HOUR, area_sqm=200.0, floor=15),
        "gone": write(lambda c: set_gone(c, {4: NOW + HOUR}, now=NOW + 3 * HOUR, reason="missed")),
        "only seen again": write(
            lambda c: c.execute(update(listings).where(listings.c.id == 5).values(last_seen_at=NOW + HOUR))
        ),
        "held back": write(partial(change, number=8, held_by="job", new_at=NOW + 5 * HOUR)),
        "let go": write(lambda c: release_all(c, "imot.bg", now=NOW + 6 * HOUR)),
        "placed": write(partial(change, number=8, lat=42.67, lon=23.32)),
        "contradicted": lambda: see(database, 9, NOW + HOUR, floor=9, floors_total=4),
        "described": lambda: see(database, 7, NOW + HOUR, description=WORDS),
        "read": lambda: read_new(database),
        "put right": write(lambda c: correct(c, 9, "floor", "3", by)),
        "taken back": write(lambda c: correct(c, 9, "floor", None, said)),
        "evaluated": write(lambda c: mark(c, 9, "shortlist", by)),
        "matched": matching.match_all,
        "joined": lambda: overrides.link(matching, 6, 7),
        "put right together": write(lambda c: correct(c, 6, "rooms", "4", by)),
        "parted": lambda: overrides.split(matching, 6, [7]),
        "dear": lambda: see(database, 11, NOW + HOUR, price_eur=90_000_000.0),
        "outlying": lambda: refresh_outliers(database, settings),
    }  # fmt: skip
    for name, step in steps.items():
        step()
        assert stored(database) == merged(database), name
        assert revisions(database)[10] == before, name
    assert refresh_flats(database) == 0


def test_what_was_only_scored_is_not_read_again_but_told_to_those_who_follow_scores(
    database: Database,
) -> None:
    see(database, 1)
    refresh_flats(database)
    database.run_write(  # which nobody could have done without a touch: it shows what is read
        lambda connection: connection.execute(update(listings).values(price_eur=90_000.0))
    )
    before = database.run_read(latest)
    database.run_write(lambda connection: touch_scores(connection, [1]))
    assert refresh_flats(database) == 0
    told = {
        scores: database.run_read(partial(flat_changes, since=before, scores=scores))
        for scores in (True, False)
    }
    assert told == {
        True: Changes(frozenset({1}), before, before + 1),
        False: Changes(frozenset(), before, before + 1),
    }
    database.run_write(lambda connection: touch(connection, [1]))
    assert refresh_flats(database) == 1


def test_a_score_or_a_word_of_the_buyer_makes_no_flat_another(database: Database) -> None:
    see(database, 1)
    assert refresh_flats(database) == 1
    database.run_write(lambda connection: touch(connection, [1]))
    assert refresh_flats(database) == 0
    see(database, 1, NOW + HOUR)
    assert refresh_flats(database) == 0


def test_who_is_stopped_between_two_transactions_leaves_the_rest_to_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "FLATS_SAVED_AT_ONCE", 2)
    for number in range(1, 8):
        see(database, number)

    def stop(done: int, _all: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refresh_flats(database, stop)
    count = select(func.count()).select_from(flats)
    assert database.run_read(lambda connection: connection.scalar(count)) == 4
    see(database, 1, NOW + HOUR, price_eur=90_000.0)
    assert stored(database) == merged(database)
    told: list[tuple[int, int]] = []
    for number in range(1, 6):
        see(database, number, NOW + 2 * HOUR, price_eur=80_000.0 + number)
    assert refresh_flats(database, lambda done, total: told.append((done, total))) == 5
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_of_two_at_once_the_later_finds_what_is_left(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "FLATS_SAVED_AT_ONCE", 2)
    for number in range(1, 6):
        see(database, number)
    others: list[int] = []

    def meanwhile(_done: int, _all: int) -> None:
        if not others:
            others.append(0)
            see(database, 1, NOW + HOUR, price_eur=90_000.0)
            others.append(refresh_flats(database))
            see(database, 2, NOW + HOUR, price_eur=95_000.0)

    assert refresh_flats(database, meanwhile) == 1
    assert others == [0, 4]
    assert stored(database) == merged(database)


def test_other_rules_of_merging_reach_every_flat(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2):
        see(database, number)
    refresh_flats(database)
    with database.write() as connection:  # as older rules had made of the same adverts
        connection.execute(update(flats).where(flats.c.property_id == 1).values(price_eur=1.0))
    before = database.run_read(latest)
    monkeypatch.setattr(projection, "_version", lambda: "newer rules")
    assert refresh_flats(database) == 2
    assert database.run_read(lambda c: changes_since(c, before).listing_ids) == {1, 2}  # scores follow that
    assert stored(database) == merged(database)
    assert refresh_flats(database) == 0


def _page(database: Database, at: float) -> None:
    see(database, 1, at, **TO_BE_BUILT)


def _not_modified(database: Database, at: float) -> None:
    same = [SameAgain("1b1", at)]
    save = partial(save_unmodified, site="imot.bg", same=same, job_id="job", rules=HistoryRules())
    database.run_write(save)


def _card(database: Database, at: float) -> None:
    scope = Scope(1, "imot.bg", at)
    database.run_write(partial(see_cards, scope=scope, seen_cards=[SeenCard("1b1", "h", {})], at=at))


@pytest.mark.parametrize("seen_again", [_page, _not_modified, _card])
def test_what_cannot_be_yet_is_asked_again_when_the_year_has_come(
    database: Database, seen_again: Callable[[Database, float], None]
) -> None:
    """Seen once more is no change, but a building of next year is none of the future when that has come."""
    at = 1_798_700_000.0  # the last days of 2026
    with database.write() as connection:
        create_job(connection, job_id="job", site="imot.bg", start_urls=["x"], listing_limit=None, now=at)
        connection.execute(insert(scopes).values(id=1, site="imot.bg", digest="d", start_urls=[]))
    see(database, 1, at, **TO_BE_BUILT)
    assert "built_in_future" in stored(database)[1].flags
    seen_again(database, at + 7 * 24 * HOUR)
    assert "built_in_future" not in stored(database)[1].flags
    assert stored(database) == merged(database)


def test_imported_places_make_every_flat_another_once_it_is_touched(
    database: Database, tmp_path: Path
) -> None:
    see(database, 1, lat=42.6737, lon=23.3252)
    assert stored(database)[1].nearby.school is None
    imported.keep(
        tmp_path, "schools", {"schools": [["1 СУ", 42.6737, 23.33, 4]], "meta": {"imported_at": 5.0}}
    )
    try:
        database.run_write(lambda connection: touch(connection, [1]))
        assert stored(database)[1].nearby.school is not None
        row = database.run_read(lambda connection: connection.execute(select(flats)).one())
        assert (row.school_least, row.school_most, row.rank_least, row.rank_most) == (7, 7, 4, 4)
    finally:
        imported.use(tmp_path / "nothing")
