"""The end of a crawl reads what is new, and what goes wrong there is not the crawl's."""

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from property_worlds import advert, dispose_all, new_matching
from sale_sofia.crawl.runners.local import match_crawled
from sale_sofia.descriptions.enrichment import read_new
from sale_sofia.descriptions.tables import description_reads
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.tables import listings
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """With one advert that says how far the metro is."""
    opened = new_matching(tmp_path).database
    seen = Sighting(advert("1", description="Апартамент на 5 минути от метрото."), 1.0)
    opened.run_write(lambda connection: save_listings(connection, [seen]))
    yield opened
    dispose_all()


def minutes_to_the_metro(database: Database) -> list[object]:
    with database.read() as connection:
        found = connection.scalars(select(description_reads.c.attributes))
        return [one["metro_minutes"]["value"] for one in found]


def test_a_description_is_read(database: Database) -> None:
    read_new(database)
    assert minutes_to_the_metro(database) == [5]


def test_a_description_that_is_gone_says_nothing_any_more(database: Database) -> None:
    read_new(database)
    for day in range(1, 6):  # the first sightings without it may be a page that was read badly
        seen = Sighting(advert("1", description=None), day * 86_400.0)
        database.run_write(partial(save_listings, batch=[seen]))
    read_new(database)
    with database.read() as connection:
        assert connection.scalar(select(listings.c.description)) is None
    assert minutes_to_the_metro(database) == []


def test_it_can_be_switched_off(database: Database, tmp_path: Path) -> None:
    match_crawled(Settings(data_dir=tmp_path, read_after_crawl=False), database)
    assert minutes_to_the_metro(database) == []


def test_nothing_that_goes_wrong_is_the_crawls(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    database.run_write(description_reads.drop)
    with caplog.at_level(logging.WARNING):
        read_new(database)
    assert "reading descriptions after a crawl failed" in caplog.text
