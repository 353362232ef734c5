"""A seeded world: the same number and seed always give the same adverts, down to the byte."""

from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import NamedTuple

from sale_sofia.simulator.bazar_adverts import import_to_bazar, write_on_bazar
from sale_sofia.simulator.clock import NOW
from sale_sofia.simulator.homes import chance, make_home
from sale_sofia.simulator.imot_adverts import make_imot
from sale_sofia.simulator.model import BazarAdvert, ImotAdvert, Property, World
from sale_sofia.simulator.sellers import make_seller

Settle = Callable[[Random, Property], Property]
"""Puts a property that was made somewhere else, or makes something else of it."""
_SHARE_WRITTEN_TWICE = 0.03


class Slot(NamedTuple):
    """What one number of the world holds: a property or two, and an advert on each portal."""

    homes: tuple[Property, ...]
    imot: ImotAdvert
    bazar: BazarAdvert


def _as_made(_rng: Random, home: Property) -> Property:
    return home


def make_world(properties: int, seed: int, settle: Settle = _as_made) -> World:
    """Exactly `properties` adverts on each portal; a smaller world of one seed begins a larger one."""
    slots = [
        make_slot(Random(f"{seed}:{number}"), number, seed, settle=settle) for number in range(properties)
    ]
    return World(
        seed=seed,
        now=NOW,
        properties=tuple(home for slot in slots for home in slot.homes),
        imot=tuple(slot.imot for slot in slots),
        bazar=tuple(slot.bazar for slot in slots),
        made=properties,
    )


def make_slot(
    rng: Random,
    number: int,
    seed: int,
    *,
    posted_today: datetime | None = None,
    settle: Settle = _as_made,
) -> Slot:
    """A flat is on both portals; bazar.bg fills the slot of anything else with a flat of its own."""
    home = settle(rng, make_home(rng, 2 * number))
    seller = make_seller(rng, seed)
    imot = make_imot(rng, home, seller, posted_today=posted_today)
    if not home.kind.flat:
        own = settle(rng, make_home(rng, 2 * number + 1, flat=True))
        return Slot((home, own), imot, write_on_bazar(rng, number, own, make_seller(rng, seed)))
    if chance(rng, _SHARE_WRITTEN_TWICE) and home.kind.rooms:
        return Slot((home,), imot, write_on_bazar(rng, number, home, seller))
    return Slot((home,), imot, import_to_bazar(rng, number, imot))
