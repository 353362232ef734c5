"""Makes properties: places, sizes, floors and ages that could be true."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from sale_sofia.listings.places import Neighbourhood, neighbourhoods
from sale_sofia.simulator import names
from sale_sofia.simulator.kinds import (
    CONSTRUCTION_WEIGHTS,
    CONSTRUCTIONS,
    FEATURES,
    FLATS,
    OPEN_LAND,
    OTHERS,
    Kind,
)
from sale_sofia.simulator.model import Age, Place, Property

_FLAT_WEIGHTS = (14, 34, 30, 10, 6, 6)
_SHARE_OTHER_KINDS = 0.08
_SHARE_RENT = 0.18
_SHARE_ELSEWHERE = 0.025
_AREAS = {
    1: (28, 62), 2: (45, 95), 3: (70, 140), 4: (110, 200), 5: (140, 320), 6: (90, 260), 7: (25, 400),
    8: (20, 80), 9: (60, 200), 10: (80, 600), 11: (50, 250), 12: (8, 300), 13: (60, 500), 14: (30, 900),
    15: (12, 40), 16: (100, 2000), 17: (400, 3000), 18: (300, 3000), 19: (1000, 20000), 20: (80, 900),
}  # fmt: skip
ELSEWHERE = (("Вароша", "varosha"), ("Запад 2", "zapad-2"))
NO_SUCH_HOODS = frozenset({"m-t-batareyata", "m-t-yubileyna-gora", "m-t-yaladzha"})
"""Neighbourhoods of the list that imot.bg itself does not have: nothing stands in them."""
_YEARS = {"use": (1998, 2026), "will": (2026, 2030), "bare": (2005, 2028), "used": (1960, 2020)}
_DECADES = (1950, 1999)


class _Storeys(NamedTuple):
    floor: int | None
    total: int | None


def chance(rng: Random, share: float) -> bool:
    """True in `share` of the cases."""
    return rng.random() < share


def pick(rng: Random, values: Sequence[str], weights: Sequence[float]) -> str:
    """One of the values, by weight."""
    return rng.choices(values, weights)[0]


def make_home(rng: Random, number: int, *, flat: bool = False) -> Property:
    """A property of any kind, or a flat with a number of rooms when asked for one."""
    kind = _kind(rng, flat=flat)
    deal = "rent" if chance(rng, _SHARE_RENT) and kind.property_type not in OPEN_LAND else "sale"
    area = rng.randint(*_AREAS[kind.number])
    storeys = _storeys(rng, kind)
    construction = _construction(rng, kind, deal)
    age = _age(rng) if construction else Age("none", 2000)
    return Property(
        number=number,
        kind=kind,
        deal=deal,
        place=_place(rng),
        area_sqm=area,
        yard_sqm=rng.randint(60, 900) if kind.storeys_only else None,
        floor=storeys.floor,
        floors_total=storeys.total,
        construction=construction,
        age=age,
        district_heating=_flag(rng, kind, ("ДА", "НЕ", "Лок.отопл.", "Прокарва се"), (55, 10, 6, 4, 25)),
        gas=_flag(rng, kind, ("ДА", "НЕ"), (14, 10, 76)),
        features=_features(rng, kind, construction, age),
        price_eur=_price(rng, kind, deal, area),
        vat=_vat(rng),
    )


def _kind(rng: Random, *, flat: bool) -> Kind:
    if not flat and chance(rng, _SHARE_OTHER_KINDS):
        return rng.choice(OTHERS)
    if flat:
        return rng.choice(FLATS[:-1])
    return rng.choices(FLATS, _FLAT_WEIGHTS)[0]


def _place(rng: Random) -> Place:
    street = names.street(rng) if chance(rng, 0.35) else None
    if chance(rng, _SHARE_ELSEWHERE):
        name, slug = rng.choice(ELSEWHERE)
        return Place("Търговище", "grad-targovishte", name, slug, None, None, None, street)
    known = neighbourhoods()
    start = int(len(known) * rng.random() ** 2)
    return in_sofia(next(hood for hood in known[start:] if hood.slug not in NO_SUCH_HOODS), street)


def in_sofia(hood: Neighbourhood, street: str | None) -> Place:
    """A place in this neighbourhood."""
    return Place("София", "grad-sofiya", hood.name, hood.slug, hood.district, hood.lat, hood.lon, street)


def _storeys(rng: Random, kind: Kind) -> _Storeys:
    if kind.storeys_only:
        return _Storeys(None, rng.randint(1, 4))
    if kind.property_type in OPEN_LAND or kind.property_type in {"garage", "hotel"} or chance(rng, 0.04):
        return _Storeys(None, None)
    total = rng.randint(2, 20)
    level = rng.random()
    if level < 0.07:  # noqa: PLR2004
        return _Storeys(0 if level > 0.015 else -1, total)  # noqa: PLR2004
    return _Storeys(rng.randint(1, total), total)


def _construction(rng: Random, kind: Kind, deal: str) -> str | None:
    if kind.property_type in OPEN_LAND or chance(rng, 0.85 if deal == "rent" else 0.05):
        return None
    return pick(rng, tuple(CONSTRUCTIONS), CONSTRUCTION_WEIGHTS)


def _age(rng: Random) -> Age:
    form = pick(
        rng, ("use", "will", "bare", "decade", "used_decade", "used", "none"), (38, 22, 8, 6, 12, 6, 8)
    )
    return Age(form, rng.randint(*_YEARS.get(form, _DECADES)))


def _flag(rng: Random, kind: Kind, values: tuple[str, ...], weights: Sequence[int]) -> str | None:
    if kind.property_type in OPEN_LAND:
        return None
    return pick(rng, (*values, ""), weights) or None


def _features(rng: Random, kind: Kind, construction: str | None, age: Age) -> tuple[str, ...]:
    if kind.property_type in OPEN_LAND or chance(rng, 0.06):
        return ()
    chosen = set(rng.sample(FEATURES, rng.randint(0, 7)))
    if age.state.startswith("Въведен"):
        chosen.discard("В строеж")
    first = (construction,) if construction and chance(rng, 0.85) else ()
    return (*first, *(feature for feature in FEATURES if feature in chosen))


def _price(rng: Random, kind: Kind, deal: str, area: int) -> int:
    per_sqm = rng.uniform(2, 60) if kind.property_type in OPEN_LAND else rng.uniform(1300, 4200)
    if deal == "rent":
        return max(90, round(area * rng.uniform(6, 18)))
    step = rng.choice((1, 10, 100, 500, 1000))
    return max(1000, round(area * per_sqm / step) * step)


def _vat(rng: Random) -> str | None:
    return pick(rng, ("none", "included", "excluded", ""), (48, 30, 12, 10)) or None
