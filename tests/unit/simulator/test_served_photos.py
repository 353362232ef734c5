"""Photos that a simulated portal serves: at the addresses its pages name, and of flats that are known."""

import io
from collections import defaultdict

import pytest
from PIL import Image

from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.model import BazarAdvert
from sale_sofia_simulator.portal import PortalOptions
from sale_sofia_simulator.simulation import FAMILY, Simulation, SimulatorConfig

URLS = {site: f"http://127.0.0.1:{port}" for port, site in enumerate(FAMILY, 8701)}


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    options = dict.fromkeys(FAMILY, PortalOptions(photos=True))
    return Simulation(SimulatorConfig(properties=60, rivals=True, options=options), URLS)


@pytest.mark.slow
@pytest.mark.parametrize("site", FAMILY)
def test_pages_name_the_addresses_at_which_photos_are_served(simulation: Simulation, site: str) -> None:
    portal = simulation.portals[site]
    for number, truth in enumerate(portal.truths()):
        page = portal.answer(truth["url"].removeprefix(portal.origin.base_url))
        read = read_page(get_scraper(site), Page(truth["url"], page.body))
        assert read["photo_urls"] == truth["photo_urls"]
        paths = list(portal.shown_on(number))
        assert [f"https://{URLS[site].removeprefix('http://')}{path}" for path in paths] == truth[
            "photo_urls"
        ]
    body = portal.answer(paths[0]).body
    assert Image.open(io.BytesIO(body)).format == "JPEG"
    assert portal.answer(paths[0]).body == body
    assert portal.answer("/__photos__/cdn3.focus.bg/nothing.jpg").status == 404


def test_it_is_known_which_flat_a_photo_is_of(simulation: Simulation) -> None:
    shared = reused = mirrored = 0
    flats_of: dict[str, set[int]] = defaultdict(set)
    for portal in simulation.portals.values():
        for number in range(len(portal.stock)):
            advert = portal.stock.advert(number)
            for photo in portal.shown_on(number).values():
                flats_of[photo.scene].add(advert.home.number)
                kind, _, rest = photo.scene.partition(":")
                assert kind != "flat" or int(rest.partition(":")[0]) == advert.home.number
                reused += isinstance(advert, BazarAdvert) and advert.native and photo.treatment > 0
                mirrored += photo.mirrored
    for scene, flats in flats_of.items():
        if scene.startswith("flat:"):
            assert len(flats) == 1
        else:
            shared += len(flats) > 1
    assert min(shared, reused, mirrored) > 0


def test_without_the_option_no_photo_is_served() -> None:
    portal = Simulation(SimulatorConfig(properties=5), URLS).portals["imot.bg"]
    truth = next(truth for truth in portal.truths() if truth["photo_urls"])
    assert all(".focus.bg/" in url and "127.0.0.1" not in url for url in truth["photo_urls"])
    assert portal.answer("/__photos__/cdn3.focus.bg/x.jpg").status == 404
