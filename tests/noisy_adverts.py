"""Many adverts of few flats, as noisy as real ones are, with the truth of which are the same.

The noise among re-posts of one flat is as measured on real adverts of Sofia: the quarter agrees in 70 % of
pairs, the room type in 82 %, the area in 98.7 %, the price in 95.5 %, the floor in 95.4 %, the storeys in
99.1 %; 58 % have a phone in common, 36 % nearly the same text and 60 % much of it. Of all adverts about 45 %
are re-posts. A third of the flats stand in new buildings with units above each other that differ in nothing
but the floor and a little in the price.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator.text import WORDS

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]
_Bits = NDArray[np.uint64]
_ADVERTS_PER_CITY: Final = 40_000
"""So many adverts Sofia has; more adverts make more cities, and never a denser one."""
_NEAREST: Final = 3
_LENGTH: Final = 26
_SHARE_OWN: Final = 0.225
_SHARE_EDITED: Final = 0.175
_KEPT: Final = 19
"""Words of the flat's own text that an edited one begins with."""


@dataclass(frozen=True, slots=True)
class City:
    """The quarters of Sofia by number, as often again as the number of adverts asks for."""

    names: NDArray[np.str_]
    near: Numbers
    """For each quarter the nearest others, one column each."""
    weight: Values
    """Some quarters have many times more buildings than others."""
    price_per_sqm: Values


def _city(adverts: int) -> City:
    known = [place for place in neighbourhoods() if place.lat is not None and place.lon is not None]
    position = np.array([(place.lat, place.lon) for place in known], float) * (111.2, 81.8)
    distance = np.linalg.norm(position[:, None] - position[None], axis=2)
    near = np.argsort(distance, axis=1, kind="stable")[:, 1 : _NEAREST + 1]
    copies = max(1, round(adverts / _ADVERTS_PER_CITY))
    weight = 1.0 / (3 + np.arange(len(known) * copies) % len(known))
    suffixes = ["", *(f" ({copy + 1})" for copy in range(1, copies))]
    return City(
        names=np.array([place.name + suffix for suffix in suffixes for place in known]),
        near=np.concatenate([near + copy * len(known) for copy in range(copies)]),
        weight=weight / weight.sum(),
        price_per_sqm=np.resize(np.linspace(1800, 4200, len(known)), len(known) * copies),
    )


def _texts(rng: np.random.Generator, flat: Numbers, stack: Numbers, agency: Numbers) -> NDArray[np.str_]:
    """One text for each advert: its flat's, that one with another ending, or one of its own.

    Flats above each other begin alike, as a developer's adverts do; so do the adverts of one agency.
    """
    words = np.array(WORDS["noise"])
    count = len(flat)
    shared = _word_numbers(3 * flat, _LENGTH)
    shared[:, : _KEPT // 2] = _word_numbers(3 * stack + 1, _KEPT // 2)
    own = rng.integers(0, len(words), (count, _LENGTH))
    chance = rng.random(count)
    from_where = np.where(
        chance < _SHARE_OWN, 0, np.where(chance < _SHARE_OWN + _SHARE_EDITED, _KEPT, _LENGTH)
    )
    chosen = np.where(np.arange(_LENGTH) < from_where[:, None], shared, own)
    greeting = _word_numbers(3 * agency + 2, 3)
    return np.array([" ".join(line) for line in words[np.concatenate((greeting, chosen), axis=1)].tolist()])


def _word_numbers(seeds: Numbers, length: int) -> Numbers:
    """The same words for the same seed, whichever advert asks."""

    def folded(state: _Bits, shift: int) -> _Bits:
        return np.bitwise_xor(state, np.right_shift(state, np.uint64(shift)))

    with np.errstate(over="ignore"):
        state = seeds.astype(np.uint64)[:, None] * np.uint64(0x9E3779B97F4A7C15)
        state = np.add(state, np.arange(length, dtype=np.uint64), dtype=np.uint64)
        state = folded(state, 30) * np.uint64(0xBF58476D1CE4E5B9)
        state = folded(state, 27) * np.uint64(0x94D049BB133111EB)
        return np.asarray(folded(state, 31) % np.uint64(len(WORDS["noise"])), dtype=np.int64)


AGREEMENT: Final = {
    "neighbourhood": 0.70,
    "rooms": 0.82,
    "area_sqm": 0.987,
    "price_eur": 0.955,
    "floor": 0.954,
    "floors_total": 0.991,
}
"""The share of pairs of one flat that agree in a field, where both print it."""
_COPIES: Final = (1, 2, 3, 4, 5, 6, 8, 12)
_COPIES_SHARE: Final = (0.68, 0.15, 0.055, 0.04, 0.03, 0.02, 0.015, 0.01)
_ADVERTS_PER_FLAT: Final = float(np.dot(_COPIES, _COPIES_SHARE))
_STACK: Final = 6
_SHARE_STACKED: Final = 0.33
_SILENT: Final = {"floor": 0.04, "floors_total": 0.35, "year_built": 0.4, "phones": 0.15}
_SAME_AGENCY: Final = 0.76
_SITES: Final = ("imot.bg", "bazar.bg", "imoti.com", "alo.bg", "homes.bg")
_FLATS_PER_AGENCY: Final = 40


@dataclass(frozen=True, slots=True)
class NoisyAdverts:
    """Adverts in no order that helps, and for each the number of the flat it is of."""

    truth: Numbers
    fields: dict[str, Any]

    def rows(self) -> list[dict[str, Any]]:
        """Each as a listing's fields."""
        columns = {name: values.tolist() for name, values in self.fields.items()}
        return [_listing(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def noisy_adverts(count: int, seed: int) -> NoisyAdverts:
    """Exactly `count` adverts; the same count and seed always give the same."""
    rng = np.random.default_rng(seed)
    flats = _flats(rng, round(count / _ADVERTS_PER_FLAT) + 1, count)
    copies = rng.choice(_COPIES, len(flats["area"]), p=_COPIES_SHARE)
    owner = np.resize(rng.permutation(np.repeat(np.arange(len(copies)), copies)), count)
    return NoisyAdverts(owner, _adverts(rng, flats, owner, count))


def _flats(rng: np.random.Generator, number: int, adverts: int) -> dict[str, Any]:
    # Flats above each other have one number; most stand alone.
    size = np.where(rng.random(number) < _SHARE_STACKED / _STACK, _STACK, 1)
    stack = np.repeat(np.arange(number), size)[:number]
    stacks = int(stack.max()) + 1
    city = _city(adverts)
    quarter = rng.choice(len(city.names), stacks, p=city.weight)[stack]
    floors = rng.integers(_STACK, 15, stacks)[stack]
    areas = np.clip(rng.lognormal(4.4, 0.4, stacks), 28, 320)
    area = _rounded(rng, areas, (10, 5, 1, 0.01), (0.08, 0.12, 0.6, 0.2))[stack]
    per_sqm = (city.price_per_sqm[quarter] * rng.lognormal(0, 0.18, stacks)[stack]).round()
    first = np.unique(stack, return_index=True)[1]
    place = np.arange(number) - np.repeat(first, np.diff([*first, number]))
    floor = 1 + (rng.integers(0, 15, stacks)[stack] + place) % floors
    return {
        "quarter": quarter,
        "city": city,
        "stack": stack,
        "floors": floors,
        "floor": floor,
        "area": area,
        "rooms": np.clip((area // 28).astype(np.int64), 1, 5),
        "year": rng.integers(1960, 2028, stacks)[stack],
        "price": _prices(rng, stack, area * per_sqm * (1 + 0.01 * floor)),
    }


def _prices(rng: np.random.Generator, stack: Numbers, values: Values) -> Values:
    """People like round sums; a developer's list is in single euros or hundreds."""
    listed = np.bincount(stack)[stack] > 1
    round_sums = _rounded(rng, values, (10_000, 5_000, 1_000, 10), (0.3, 0.2, 0.3, 0.2))
    return np.where(listed, _rounded(rng, values, (500, 100, 1), (0.3, 0.3, 0.4)), round_sums)


def _rounded(
    rng: np.random.Generator, values: Values, steps: tuple[float, ...], shares: tuple[float, ...]
) -> Values:
    step = rng.choice(steps, len(values), p=shares)
    return np.round(np.round(values / step) * step, 2)


def _adverts(rng: np.random.Generator, flats: dict[str, Any], owner: Numbers, count: int) -> dict[str, Any]:
    agencies = max(10, len(flats["area"]) // _FLATS_PER_AGENCY)
    own_agency = rng.integers(0, agencies, len(flats["area"]))[owner]
    agency = np.where(rng.random(count) < _SAME_AGENCY, own_agency, rng.integers(0, agencies, count))
    site = rng.integers(0, len(_SITES), count)
    return {
        "site": np.array(_SITES)[site],
        "external_id": np.array([f"n{number}" for number in range(count)]),
        "price_eur": _price(rng, flats["price"][owner]),
        "area_sqm": _area(rng, flats["area"][owner]),
        "rooms": _off(rng, flats["rooms"][owner], AGREEMENT["rooms"], 1, 5),
        "floor": _silent(rng, "floor", _off(rng, flats["floor"][owner], AGREEMENT["floor"], 0, 99)),
        "floors_total": _silent(
            rng, "floors_total", _off(rng, flats["floors"][owner], AGREEMENT["floors_total"], 2, 99)
        ),
        "year_built": _silent(rng, "year_built", flats["year"][owner]),
        "neighbourhood": _quarters(rng, flats["city"], flats["quarter"][owner]),
        "seller_name": np.char.add("Агенция ", agency.astype(str)),
        "phones": _silent(rng, "phones", 884_000_000 + agency),
        "description": _texts(rng, owner, flats["stack"][owner], agency),
    }


def _quarters(rng: np.random.Generator, city: City, quarter: Numbers) -> NDArray[np.str_]:
    """The names of the quarters, some of a near one instead."""
    wrong = _wrong(rng, len(quarter), AGREEMENT["neighbourhood"])
    near = city.near[quarter, rng.integers(0, city.near.shape[1], len(quarter))]
    return city.names[np.where(wrong, near, quarter)]


def _wrong(rng: np.random.Generator, count: int, agreement: float) -> NDArray[np.bool_]:
    """Which adverts err, so that two of one flat agree as often as measured: when both are right."""
    return rng.random(count) >= np.sqrt(agreement)


def _off(rng: np.random.Generator, values: Numbers, agreement: float, least: int, most: int) -> Numbers:
    """Some of them one more or less; at an end of the range always to the other side."""
    step = rng.choice((-1, 1), len(values))
    step = np.where(values <= least, 1, np.where(values >= most, -1, step))
    return values + np.where(_wrong(rng, len(values), agreement), step, 0)


def _area(rng: np.random.Generator, values: Values) -> Values:
    wrong = _wrong(rng, len(values), AGREEMENT["area_sqm"])
    return np.where(wrong, np.round(values * rng.uniform(0.98, 1.02, len(values)), 1), values)


def _price(rng: np.random.Generator, values: Values) -> Values:
    """A wrong price is an older one or another agency's: mostly within some per cent."""
    wrong = _wrong(rng, len(values), AGREEMENT["price_eur"])
    return np.where(wrong, np.round(values * rng.normal(1, 0.05, len(values)), -2), values)


def _silent(rng: np.random.Generator, name: str, values: Numbers) -> Numbers:
    """What some adverts do not print is -1."""
    return np.where(rng.random(len(values)) < _SILENT[name], -1, values)


def _listing(fields: dict[str, Any]) -> dict[str, Any]:
    known = {name: None if value == -1 else value for name, value in fields.items()}
    phone = known.pop("phones")
    return known | {
        "url": f"https://{fields['site']}/{fields['external_id']}",
        "deal": "sale",
        "property_type": "apartment",
        "city": "София",
        "seller_kind": "agency",
        "phones": [f"+359{phone}"] if phone else [],
        "photo_urls": [],
    }
