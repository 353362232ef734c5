"""Portals as large as the real ones, made within seconds and asked without a server.

All adverts are for sale in Sofia. They are spread as real ones are: of 33 500 a few neighbourhoods hold more
than a thousand each, most hold few, some none, and nothing stands where imot.bg has no neighbourhood.
"""

from dataclasses import replace
from functools import cache, partial
from itertools import accumulate
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

from sale_sofia.listings.places import Neighbourhood, neighbourhoods
from sale_sofia_simulator.homes import NO_SUCH_HOODS, in_sofia, make_home
from sale_sofia_simulator.model import Advert, Property, World
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.portal import AS_REAL, Answer, Portal, PortalOptions, Robots, Stock
from sale_sofia_simulator.simulation import PORTALS
from sale_sofia_simulator.twins import twin_adverts
from sale_sofia_simulator.world import make_world

BASE_URL: Final = "http://127.0.0.1:8700"
_SEED: Final = 1
_CACHE_BYTES: Final = 50_000_000
_HUGE: Final = {"Център": 0.07, "Витоша": 0.06, "Манастирски ливади": 0.055, "Младост 4": 0.045}
_NEXT_SMALLER: Final = 0.97


def large_portal(
    site: str,
    adverts: int,
    options: PortalOptions = AS_REAL,
    *,
    originals: int = 3000,
    flats: bool = True,
    base_url: str = BASE_URL,
) -> Portal[Any]:
    """A portal with exactly so many adverts, of which so many are `originals` and the others copies of them.

    `flats`: nothing but flats.
    """
    portal = PORTALS[site](base_url, Robots(), PageCache(_CACHE_BYTES), options)
    world = _world(originals, flats=flats)
    portal.show(Stock(_adverts(world, site), adverts), world.now)
    return portal


def answer_to(portal: Portal[Any], url: str) -> Answer:
    """What the portal answers to a GET of this address."""
    parts = urlsplit(url)
    return portal.answer(parts.path, parts.query)


def advert_ids(portal: Portal[Any]) -> set[str]:
    """The id of every advert that is up."""
    return {portal.stock.advert(number).external_id for number in range(len(portal.stock))}


@cache
def _world(originals: int, *, flats: bool) -> World:
    return make_world(originals, _SEED, partial(_settled, flats=flats))


def _adverts(world: World, site: str) -> tuple[Advert, ...]:
    if site in {"imot.bg", "bazar.bg"}:
        return world.imot if site == "imot.bg" else world.bazar
    return twin_adverts(world, site)


def _settled(rng: Random, home: Property, *, flats: bool) -> Property:
    """On sale somewhere in Sofia; what was a flat stays one, for bazar.bg has nothing else."""
    only_flats = flats or home.kind.flat
    while home.deal != "sale" or (only_flats and not home.kind.flat):
        home = make_home(rng, home.number)
    hoods, weights = _spread()
    return replace(home, place=in_sofia(rng.choices(hoods, cum_weights=weights)[0], home.place.street))


@cache
def _spread() -> tuple[tuple[Neighbourhood, ...], tuple[float, ...]]:
    """Each neighbourhood and, summed up, the share of the adverts that stand in it."""
    real = [hood for hood in neighbourhoods() if hood.slug not in NO_SUCH_HOODS]
    others = Random("spread").sample(real, len(real))
    shares = {hood: _NEXT_SMALLER**place for place, hood in enumerate(others) if hood.name not in _HUGE}
    scale = (1 - sum(_HUGE.values())) / sum(shares.values())
    all_shares = [_HUGE.get(hood.name, shares.get(hood, 0) * scale) for hood in real]
    return tuple(real), tuple(accumulate(all_shares))
