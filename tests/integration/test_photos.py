"""Photos of simulated portals: a crawl fetches those in doubt by itself, and finds more flats by them."""

from itertools import combinations
from pathlib import Path

import pytest
from sqlalchemy import func, select

from crawls import FAST, answer, crawl_arguments, run
from forked_simulators import start_forked
from sale_sofia.flats.tables import advert_photos, listing_sources
from sale_sofia.history.tables import listings
from sale_sofia.installation import open_database
from sale_sofia.settings.model import Settings
from sale_sofia_simulator.portal import PortalOptions
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import FAMILY, Simulation, SimulatorConfig

CONFIG = SimulatorConfig(
    properties=120, seed=1, rivals=True, port=0, options=dict.fromkeys(FAMILY, PortalOptions(photos=True))
)
Pair = frozenset[tuple[str, str]]


def pairs(groups: dict[tuple[str, str], int]) -> set[Pair]:
    """Every two adverts of one flat."""
    members: dict[int, list[tuple[str, str]]] = {}
    for advert, group in groups.items():
        members.setdefault(group, []).append(advert)
    return {frozenset(pair) for group in members.values() for pair in combinations(group, 2)}


def found(data: Path) -> set[Pair]:
    database = open_database(Settings(data_dir=data))
    chosen = select(listings.c.site, listings.c.external_id, listing_sources.c.property_id).join(
        listing_sources, listing_sources.c.listing_id == listings.c.id
    )
    with database.read() as connection:
        groups = {(row[0], row[1]): row[2] for row in connection.execute(chosen)}
    database.dispose()
    return pairs(groups)


def asked(data: Path) -> tuple[int, int]:
    """How many adverts there are, and how many photos were asked for."""
    database = open_database(Settings(data_dir=data))
    with database.read() as connection:
        adverts = connection.scalar(select(func.count()).select_from(listings)) or 0
        photos = connection.scalar(select(func.sum(advert_photos.c.requests))) or 0
    database.dispose()
    return adverts, photos


def truth(simulator: RunningSimulator) -> set[Pair]:
    portals = Simulation(CONFIG, simulator.urls).portals
    adverts = [portal.stock.advert(n) for portal in portals.values() for n in range(len(portal.stock))]
    return pairs({(advert.site, advert.external_id): advert.home.number for advert in adverts})


@pytest.mark.slow
def test_a_crawl_finds_more_flats_by_their_photos(tmp_path: Path) -> None:
    with start_forked(CONFIG) as simulator:
        for site in FAMILY:
            told = run(tmp_path, *crawl_arguments(simulator, site), **FAST, PHOTO_ENABLED="false")
            assert told.returncode == 0, told.stderr
        one_flat, without = truth(simulator), found(tmp_path)
        assert asked(tmp_path) == (240, 0)
        told = run(tmp_path, *crawl_arguments(simulator, "imot.bg"), **FAST)
        assert told.returncode == 0, told.stderr
        again = answer(run(tmp_path, "properties", "photos", "--json", **FAST))
    by_photos = found(tmp_path)
    assert by_photos > without
    assert by_photos <= one_flat
    assert (len(by_photos) - len(without)) / len(one_flat) >= 0.03
    adverts, photos = asked(tmp_path)
    assert 0 < photos <= 0.3 * adverts
    assert (again["asked"], again["failed"], again["ended"]) == (0, 0, "done")
