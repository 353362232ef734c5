"""A world with rivals: some flats have two prices, some two sellers; the rest is as it was."""

from functools import cache

from sale_sofia_simulator.model import BazarAdvert, World
from sale_sofia_simulator.simulation import Simulation, SimulatorConfig
from sale_sofia_simulator.world import advance, make_world, with_rivals

ADDRESSES = {"imot.bg": "http://127.0.0.1:1", "bazar.bg": "http://127.0.0.1:2"}


@cache
def world() -> World:
    return make_world(600, 4)


def changed() -> list[tuple[BazarAdvert, BazarAdvert]]:
    return [(old, new) for old, new in zip(world().bazar, with_rivals(world()), strict=True) if old != new]


def test_some_have_another_price_and_nothing_else_is_other() -> None:
    priced = [(old, new) for old, new in changed() if not new.native]
    assert 15 < len(priced) < 60
    for old, new in priced:
        assert new.money.amount_eur != old.money.amount_eur
        assert 0.92 < new.money.amount_eur / old.money.amount_eur < 1.07
        assert (new.imot_id, new.home, new.photos, new.floor) == (
            old.imot_id,
            old.home,
            old.photos,
            old.floor,
        )


def test_some_are_written_by_another_seller_of_the_same_flat() -> None:
    rivals = [(old, new) for old, new in changed() if new.native]
    assert 20 < len(rivals) < 80
    for old, new in rivals:
        assert (new.external_id, new.url, new.posted) == (old.external_id, old.url, old.posted)
        assert (new.home.number, new.floor, new.imot_id) == (old.home.number, None, None)
        assert abs(new.home.area_sqm - old.home.area_sqm) <= 1
        assert 0.97 < new.money.amount_eur / old.money.amount_eur < 1.03
        assert not set(new.photos) & set(old.photos)
    assert sum(new.seller.phones != old.seller.phones for old, new in rivals) == len(rivals)


def test_what_becomes_of_an_advert_stays_so_on_the_next_day() -> None:
    today = {advert.external_id: advert for advert in with_rivals(world())}
    tomorrow = advance(world(), 1, 4)
    unmoved = {old.external_id for old, new in _both(tomorrow.bazar) if old == new}
    assert len(unmoved) > 500
    then = {advert.external_id: advert for advert in with_rivals(tomorrow)}
    assert {one: then[one] for one in unmoved} == {one: today[one] for one in unmoved}


def _both(later: tuple[BazarAdvert, ...]) -> list[tuple[BazarAdvert, BazarAdvert]]:
    there = {advert.external_id: advert for advert in later}
    return [(old, there[old.external_id]) for old in world().bazar if old.external_id in there]


def test_only_who_asks_for_rivals_has_them() -> None:
    configs = [SimulatorConfig(properties=60, seed=4, rivals=rivals) for rivals in (False, True)]
    portals = [Simulation(config, ADDRESSES).portals["bazar.bg"] for config in configs]
    prices = [{truth["external_id"]: truth["price_eur"] for truth in portal.truths()} for portal in portals]
    assert prices[0].keys() == prices[1].keys()
    plain = {advert.external_id: advert.money.eur for advert in make_world(60, 4).bazar}
    assert prices[0] == plain
    assert sum(prices[1][one] != price for one, price in plain.items()) == 11
