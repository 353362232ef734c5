"""What follows a crawl killed at every point: all is read, matched and scored as if nothing had happened."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from crash_crawls import DAY, LATER, Clock, Knowledge, knowledge_in, own_clock, unlike
from crash_points import COMMIT, Enumeration, count_points
from property_worlds import advert
from ready_files import put_ready_file
from sale_sofia.advice.scoring import runs
from sale_sofia.crawl.runners.local import match_crawled
from sale_sofia.flats import projection
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.market_events import set_gone
from sale_sofia.history.tables import listings
from sale_sofia.installation import open_database
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import DATABASE_FILE, Settings
from sale_sofia.storage.database import Database

FLATS = 6


@pytest.fixture
def clock() -> Iterator[Clock]:
    with own_clock() as told:
        yield told


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SCORES_AT_ONCE", 2)
    monkeypatch.setattr(projection, "FLATS_SAVED_AT_ONCE", 4)


class Installation:
    """A data folder, and what a crawl leaves to do in it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.settings = Settings(data_dir=data)
        self.database: Database = open_database(self.settings)

    def conclude(self) -> None:
        match_crawled(self.settings, self.database)
        self.database.dispose()

    def knowledge(self) -> Knowledge:
        try:
            return self.database.run_read(knowledge_in)
        finally:
            self.database.dispose()


def flat(number: int, site: str, **fields: object) -> Listing:
    """The same flat on each portal, told by its size, its floor and its words."""
    own = {
        "site": site,
        "area_sqm": 60.0 + 7 * number,
        "price_eur": 150_000.0 + 11_000 * number,
        "floor": 1 + number,
        "description": f"Тристаен под знак {number}, гараж, асансьор, изглед към парка и Витоша {number}.",
    }
    return advert(f"{site[0]}{number}", **{**own, **fields})


def crawled(database: Database, now: float, *adverts: Listing) -> None:
    with database.write() as connection:
        save_listings(connection, [Sighting(one, now, None, None) for one in adverts])


def changed_market(data: Path, clock: Clock) -> None:
    """Flats that were matched and scored a day ago; since, one is cheaper, one is new twice, one is gone."""
    put_ready_file(data / DATABASE_FILE)
    there = Installation(data)
    crawled(there.database, clock(), *(flat(number, "imot.bg") for number in range(FLATS)))
    crawled(there.database, clock(), *(flat(number, "bazar.bg") for number in range(2)))
    there.conclude()
    clock.now += DAY
    crawled(there.database, clock(), flat(1, "imot.bg", price_eur=120_000.0, rooms=2), flat(3, "bazar.bg"))
    crawled(there.database, clock(), flat(9, "imot.bg"), flat(9, "bazar.bg"))
    with there.database.write() as connection:
        [gone] = connection.execute(select(listings.c.id).where(listings.c.external_id == "i5")).scalars()
        set_gone(connection, {gone: clock()}, now=clock(), reason="missed")
    there.database.dispose()


def test_conclusions_killed_at_every_point(tmp_path: Path, clock: Clock) -> None:
    changed_market(tmp_path / "before", clock)
    alone, place = (Installation(tmp_path / name) for name in ("alone", "place"))
    for one in (alone, place):
        shutil.copytree(tmp_path / "before", one.data)
    before = alone.knowledge()
    counted = count_points(alone.data, alone.conclude)
    known = alone.knowledge()
    assert all(known[name] != before[name] for name in ("homes", "descriptions", "scores"))

    crash = Enumeration(place.data, tmp_path / "states", lambda: None)
    crash.run(place.conclude)
    clock.now += LATER
    wrong = {}
    for state in crash.recovered(place.data):
        place.conclude()
        if faults := [*unlike(place.knowledge(), known), *place.database.faults()]:
            wrong[str(state)] = faults
        place.database.dispose()
    assert wrong == {}
    crash.check_complete(counted, least=75)
    assert crash.counted[COMMIT] >= 8, "descriptions, matching, and scores in batches"
