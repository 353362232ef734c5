from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.model import NOW, BazarAdvert, ImotAdvert, World
from sale_sofia_simulator.portals import bazar_bg, imot_bg
from sale_sofia_simulator.truth import bazar_truth, imot_truth
from sale_sofia_simulator.world import DAYS_AWAY, advance, make_world, world_on_day

SEED = 11
PROPERTIES = 4000


class Pair(NamedTuple):
    imot: ImotAdvert
    bazar: BazarAdvert


class Night(NamedTuple):
    old: Pair
    new: Pair


@pytest.fixture(scope="module")
def first() -> World:
    return make_world(PROPERTIES, SEED)


@pytest.fixture(scope="module")
def second(first: World) -> World:
    return advance(first, 1, SEED)


@pytest.fixture(scope="module")
def changed(first: World, second: World) -> list[Night]:
    before = _pairs(first)
    return [Night(before[key], pair) for key, pair in _pairs(second).items() if before.get(key, pair) != pair]


def _pairs(world: World) -> dict[str, Pair]:
    return {imot.external_id: Pair(imot, bazar) for imot, bazar in zip(world.imot, world.bazar, strict=True)}


def _reused(night: Night) -> bool:
    return night.old.imot.home.area_sqm != night.new.imot.home.area_sqm


def _vat_only(night: Night) -> bool:
    return night.old.imot.home.vat != night.new.imot.home.vat


def _repriced(night: Night) -> bool:
    return not _reused(night) and night.old.imot.home.price_eur != night.new.imot.home.price_eur


def _edited(night: Night) -> bool:
    return not _reused(night) and night.old.imot.prose != night.new.imot.prose


@pytest.mark.slow
def test_a_day_is_the_same_whenever_it_is_made(first: World, second: World) -> None:
    assert advance(first, 1, SEED) == second
    assert advance(first, 1, SEED + 1) != second
    assert world_on_day(60, SEED, 0) == make_world(60, SEED)
    assert world_on_day(60, SEED, 3) == advance(world_on_day(60, SEED, 2), 3, SEED)


def test_the_clock_moves_by_a_day(second: World) -> None:
    assert (second.day, second.now) == (1, NOW + timedelta(days=1))


def test_about_as_many_come_and_go_as_in_sofia(first: World, second: World) -> None:
    old, new = set(_pairs(first)), set(_pairs(second))
    assert len(new - old) == 60
    assert 40 < len(old - new) < 90
    assert second.made == PROPERTIES + 60
    assert len(second.imot) == len(second.bazar) == len(new)


@pytest.mark.slow
def test_new_adverts_are_of_that_day_and_no_id_comes_twice(first: World, second: World) -> None:
    old = _pairs(first)
    for imot, bazar in (pair for key, pair in _pairs(second).items() if key not in old):
        assert timedelta(0) < second.now - imot.posted < timedelta(hours=11)
        assert int(imot.external_id[2:12]) == int(imot.posted.timestamp())
        assert (imot.corrected, imot.updated) == (False, imot.posted.replace(second=0))
        assert bazar.updated == imot.updated
    everything = [world_on_day(200, SEED, day) for day in range(6)]
    for site in ("imot", "bazar"):
        for world in everything:
            adverts = getattr(world, site)
            assert len({advert.external_id for advert in adverts}) == len(adverts)
    assert len({advert.home.number for advert in everything[-1].imot}) == len(everything[-1].imot)


@pytest.mark.slow
def test_a_few_of_the_gone_come_back_as_they_were_and_soon() -> None:
    world, gone, back = make_world(600, SEED), dict[str, tuple[int, ImotAdvert]](), 0
    for day in range(1, 25):
        before, world = _pairs(world), advance(world, day, SEED)
        now = _pairs(world)
        for key in (now.keys() - before.keys()) & gone.keys():
            since, imot = gone.pop(key)
            assert now[key].imot == imot
            assert 0 < day - since <= DAYS_AWAY
            back += 1
        gone |= {key: (day, before[key].imot) for key in before.keys() - now.keys()}
    assert 5 <= back <= len(gone) / 5


def test_the_shares_of_changes(changed: list[Night]) -> None:
    assert 15 < sum(map(_repriced, changed)) < 45
    assert 1 <= sum(map(_vat_only, changed)) < 12
    assert 1 <= sum(map(_reused, changed)) < 12
    assert 5 < sum(map(_edited, changed)) < 30
    kinds = (_repriced, _vat_only, _reused, _edited)
    assert all(sum(kind(night) for kind in kinds) == 1 for night in changed)


def test_a_change_is_dated_and_called_a_correction(changed: list[Night]) -> None:
    for old, new in changed:
        assert new.imot.corrected
        assert NOW < new.imot.updated < NOW + timedelta(days=1)
        assert new.imot.updated > old.imot.updated
        assert new.imot.url == old.imot.url


def test_a_price_change_is_the_same_on_both_portals_and_bazar_shows_the_old_price(
    changed: list[Night],
) -> None:
    for old, new in filter(_repriced, changed):
        assert new.imot.money.amount_eur == new.imot.home.price_eur
        assert new.imot.trend == ("UP" if new.imot.home.price_eur > old.imot.home.price_eur else "DOWN")
        assert new.bazar.money.previous_eur == old.bazar.money.amount_eur
        assert new.bazar.money.previous_eur != new.bazar.money.amount_eur
        assert new.bazar.updated == new.imot.updated
        if not new.bazar.native:
            assert new.bazar.home is new.imot.home
            assert new.bazar.money.amount_eur == new.imot.money.amount_eur


def test_a_vat_change_leaves_the_price(changed: list[Night]) -> None:
    for old, new in filter(_vat_only, changed):
        assert (new.imot.money, new.bazar.money) == (old.imot.money, old.bazar.money)
        if new.bazar.native:
            assert new.bazar == old.bazar
        else:
            assert new.bazar.vat == new.imot.home.vat


def test_a_reused_id_is_another_flat_of_the_same_kind_and_place(changed: list[Night]) -> None:
    for old, new in filter(_reused, changed):
        before, after = old.imot.home, new.imot.home
        assert after.area_sqm != before.area_sqm
        assert after.floor != before.floor
        assert after.floor
        assert (after.kind, after.place, after.deal) == (before.kind, before.place, before.deal)
        assert new.bazar.home is after
        assert new.bazar.floor == after.floor
        assert new.imot.photos == old.imot.photos


def _differences(page: Page, site: str, truth: dict[str, Any]) -> dict[str, Any]:
    answer = read_page(get_scraper(site), page)
    return {key: (value, answer.get(key)) for key, value in truth.items() if answer.get(key) != value}


@pytest.mark.slow
def test_the_changed_and_new_pages_say_exactly_their_truth(
    first: World, second: World, changed: list[Night]
) -> None:
    old = _pairs(first)
    fresh = [pair for key, pair in _pairs(second).items() if key not in old]
    for imot, bazar in [*(night.new for night in changed), *fresh]:
        page = Page(imot.url, imot_bg.listing_page(imot))
        assert _differences(page, "imot.bg", imot_truth(imot)) == {}
        page = Page(bazar.url, bazar_bg.listing_page(bazar, second.now))
        assert _differences(page, "bazar.bg", bazar_truth(bazar)) == {}


def test_the_page_words_the_change(changed: list[Night]) -> None:
    night = next(filter(_repriced, changed))
    text = imot_bg.listing_page(night.new.imot).decode("windows-1251")
    moment = night.new.imot.updated
    assert f"Коригирана в {moment.hour}:{moment:%M} на 22 април, 2026 год." in text
    text = bazar_bg.listing_page(night.new.bazar, NOW + timedelta(days=1)).decode()
    assert "old-price" in text
    assert "днес в" in text


def test_the_world_holds_the_homes_of_its_adverts(second: World) -> None:
    homes = {id(home) for home in second.properties}
    assert all(id(advert.home) in homes for advert in second.imot)
    assert {home.number for home in second.properties} >= {advert.home.number for advert in second.bazar}
