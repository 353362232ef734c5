"""Flats that bazar.bg shows otherwise than imot.bg does: at another price, or from another seller."""

from dataclasses import replace
from random import Random
from typing import Final

from sale_sofia.simulator.bazar_adverts import write_on_bazar
from sale_sofia.simulator.model import BazarAdvert, ImotAdvert, Money, World
from sale_sofia.simulator.sellers import make_seller

SHARE_PRICED_APART: Final = 0.06
"""The seller keeps two prices: the advert on bazar.bg was forgotten, or brings other buyers."""
SHARE_RIVALS: Final = 0.08
"""Another agency has the same flat and writes of it on bazar.bg in its own words, without the floor."""
_PRICE_STEPS: Final = (0.93, 0.95, 0.97, 1.03, 1.06)
_RIVAL_STEPS: Final = (0.98, 0.99, 1.01, 1.02)
_MEASURED_APART: Final = (-1, 0, 1)


def with_rivals(world: World) -> tuple[BazarAdvert, ...]:
    """What bazar.bg shows in a world with rivals; what becomes of an advert is its own fate, for all days."""
    pairs = zip(world.imot, world.bazar, strict=True)
    return tuple(_rival(world.seed, imot, bazar) for imot, bazar in pairs)


def _rival(seed: int, imot: ImotAdvert, bazar: BazarAdvert) -> BazarAdvert:
    if bazar.native or not bazar.money.shown:
        return bazar
    rng = Random(f"{seed}:rival:{imot.external_id}")
    draw = rng.random()
    if draw < SHARE_PRICED_APART:
        return replace(bazar, money=_apart(bazar.money, rng.choice(_PRICE_STEPS)))
    return _of_another(rng, seed, bazar) if draw < SHARE_PRICED_APART + SHARE_RIVALS else bazar


def _apart(money: Money, step: float) -> Money:
    return Money(money.layout, round(money.amount_eur * step))


def _of_another(rng: Random, seed: int, bazar: BazarAdvert) -> BazarAdvert:
    """An advert of its own under the same id and moment: the flat is the same, measured and priced anew."""
    home = replace(bazar.home, area_sqm=bazar.home.area_sqm + rng.choice(_MEASURED_APART))
    own = write_on_bazar(rng, 0, home, make_seller(rng, seed))
    kept = {name: getattr(bazar, name) for name in ("external_id", "url", "posted", "updated")}
    money = _apart(Money("both", bazar.money.amount_eur), rng.choice(_RIVAL_STEPS))
    return replace(own, **kept, floor=None, money=money)
