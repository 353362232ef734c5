"""The demo's city: known places, prices that follow them, texts that agree with the facts but for a few."""

import re
from collections import Counter
from datetime import timedelta
from statistics import median

import pytest

from sale_sofia.geography.gazetteer import metres_outside
from sale_sofia.geography.metro import walk_from
from sale_sofia.geography.shapes import Point
from sale_sofia.listings.places import find_neighbourhood
from sale_sofia_simulator.homes import settle_in_city
from sale_sofia_simulator.model import World
from sale_sofia_simulator.world import advance, make_world, moved, on_bazar, with_rivals

SEED = 20
ADVERTS = 500


@pytest.fixture(scope="module")
def city() -> World:
    return make_world(ADVERTS, SEED, settle_in_city)


def test_flats_lie_inside_neighbourhoods_that_are_known_at_what_is_asked_for_there(city: World) -> None:
    asked: dict[str, list[float]] = {}
    for advert in city.imot:
        home, position = advert.home, advert.home.position
        assert position is not None
        place = find_neighbourhood(home.place.neighbourhood)
        assert place is not None
        assert metres_outside(place.id, Point(*position)) == 0
        if home.kind.flat and home.deal == "sale":
            asked.setdefault(home.place.neighbourhood, []).append(home.price_eur / home.area_sqm)
    assert len(asked) == 25
    medians = {name: median(found) for name, found in asked.items()}
    assert medians["Лозенец"] > 1.5 * medians["Люлин 5"]
    assert sum(advert.home.kind.flat for advert in city.imot) / ADVERTS > 0.97


def test_texts_agree_with_the_facts_but_for_a_few(city: World) -> None:
    said = Counter[str]()
    for advert in city.imot:
        home, text = advert.home, advert.prose.text
        assert home.position is not None
        truth = {
            r"(\d+) спални": home.kind.rooms and home.kind.rooms - 1,
            r"Метростанцията е на (\d+) мин": walk_from(Point(*home.position)).least,
            r"Сградата е на (\d+) етажа": home.floors_total,
        }
        for pattern, fact in truth.items():
            for found in re.findall(pattern, text):
                said["right" if int(found) == fact else "wrong"] += 1
        said["act"] += "Акт 14" in text and home.age.form != "will"
    assert said["right"] > 300
    assert 0 < said["wrong"] < 0.08 * said["right"]
    assert said["act"] < 0.02 * ADVERTS


def test_a_small_bazar_has_the_same_adverts_on_all_days(city: World) -> None:
    next_day = advance(city, 1, SEED, settle_in_city)
    assert all(advert.home.position for advert in next_day.imot)
    today, tomorrow = (
        {one.external_id for one in on_bazar(with_rivals(world), SEED)} for world in (city, next_day)
    )
    still = {one.external_id for one in next_day.bazar}
    assert today & still == tomorrow & {one.external_id for one in city.bazar}
    assert 0.3 < len(today) / ADVERTS < 0.5


def test_an_advert_moves_in_time_with_the_id_that_tells_when_it_was_posted(city: World) -> None:
    by = timedelta(days=200)
    for imot, bazar in zip(city.imot[:50], city.bazar[:50], strict=True):
        later, copy = moved(imot, by), moved(bazar, by)
        assert (later.posted - imot.posted, later.updated - imot.updated) == (by, by)
        assert str(int(later.posted.timestamp())) in later.external_id
        assert later.external_id in later.url
        assert all(later.external_id in photo for photo in later.photos)
        assert copy.imot_id in (None, later.external_id)
