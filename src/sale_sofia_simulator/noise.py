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

# A city for noisy adverts: the quarters of Sofia, as often again as the number of adverts asks for.

Numbers = NDArray[np.int64]
_ADVERTS_PER_CITY: Final = 40_000
"""So many adverts Sofia has; more adverts make more cities, and never a denser one."""
_NEAREST: Final = 3


@dataclass(frozen=True, slots=True)
class City:
    """Quarters by number, with their names, weights and prices."""

    names: NDArray[np.str_]
    near: Numbers
    """For each quarter the nearest others, one column each."""
    weight: NDArray[np.float64]
    price_per_sqm: NDArray[np.float64]

    def choose(self, rng: np.random.Generator, count: int) -> Numbers:
        """Quarters of that many buildings; some have many times more than others."""
        return rng.choice(len(self.names), count, p=self.weight)

    def neighbour(self, rng: np.random.Generator, quarter: Numbers) -> Numbers:
        """A near quarter of each."""
        return self.near[quarter, rng.integers(0, self.near.shape[1], len(quarter))]


def quarters(adverts: int) -> City:
    """The city for so many adverts."""
    known = [place for place in neighbourhoods() if place.lat is not None and place.lon is not None]
    position = np.array([(place.lat, place.lon) for place in known], float) * (111.2, 81.8)
    distance = np.linalg.norm(position[:, None] - position[None], axis=2)
    near = np.argsort(distance, axis=1, kind="stable")[:, 1 : _NEAREST + 1]
    copies = max(1, round(adverts / _ADVERTS_PER_CITY))
    weight = 1.0 / (3 + np.arange(len(known) * copies) % len(known))
    return City(
        names=np.array([_name(place.name, copy) for copy in range(copies) for place in known]),
        near=np.concatenate([near + copy * len(known) for copy in range(copies)]),
        weight=weight / weight.sum(),
        price_per_sqm=np.resize(np.linspace(1800, 4200, len(known)), len(known) * copies),
    )


def _name(name: str, copy: int) -> str:
    return name if copy == 0 else f"{name} ({copy + 1})"


# Descriptions for noisy adverts: words of our own, alike where adverts of one flat are.

_Bits = NDArray[np.uint64]
_WORDS: Final = (
    "светъл", "просторен", "тих", "южен", "източен", "западен", "уютен", "слънчев", "обновен", "удобен",
    "нов", "топъл", "сух", "широк", "висок", "спокоен", "зелен", "кухня", "спалня", "дневна", "баня",
    "тераса", "килер", "мазе", "таван", "гараж", "двор", "вход", "асансьор", "паркет", "дограма",
    "климатик", "камина", "улица", "парк", "училище", "градина", "метро", "спирка", "пазар", "магазин",
    "аптека", "болница", "театър", "площад", "булевард", "алея", "река", "планина", "гледка", "изложение",
    "ремонт", "сграда", "тухла", "панел", "етаж", "покрив", "изолация", "отопление", "обзавеждане",
    "мебели", "разпределение", "собственик", "документи", "оглед", "цена", "сделка", "кредит", "среща",
    "ключ", "договор", "плащане", "веднага", "лесно", "бързо", "отлично", "рядко", "съседи", "общност",
    "охрана", "чистота", "ред", "тишина", "светлина", "простор", "уют", "традиция", "качество", "стил",
    "вкус", "характер", "удобство", "коридор", "антре", "трапезария", "библиотека", "гардероб", "балкон",
    "лоджия", "прозорец", "врата", "стена", "под", "лампа", "огледало", "маса",
)  # fmt: skip
_LENGTH: Final = 26
_SHARE_OWN: Final = 0.225
_SHARE_EDITED: Final = 0.175
_KEPT: Final = 19
"""Words of the flat's own text that an edited one begins with."""


def texts(rng: np.random.Generator, flat: Numbers, stack: Numbers, agency: Numbers) -> NDArray[np.str_]:
    """One text for each advert: its flat's, that one with another ending, or one of its own.

    Flats above each other begin alike, as a developer's adverts do; so do the adverts of one agency.
    """
    words = np.array(_WORDS)
    count = len(flat)
    shared = _numbers(3 * flat, _LENGTH)
    shared[:, : _KEPT // 2] = _numbers(3 * stack + 1, _KEPT // 2)
    own = rng.integers(0, len(_WORDS), (count, _LENGTH))
    chance = rng.random(count)
    from_where = np.where(
        chance < _SHARE_OWN, 0, np.where(chance < _SHARE_OWN + _SHARE_EDITED, _KEPT, _LENGTH)
    )
    chosen = np.where(np.arange(_LENGTH) < from_where[:, None], shared, own)
    greeting = _numbers(3 * agency + 2, 3)
    return np.array([" ".join(line) for line in words[np.concatenate((greeting, chosen), axis=1)].tolist()])


def _numbers(seeds: Numbers, length: int) -> Numbers:
    """The same words for the same seed, whichever advert asks."""
    with np.errstate(over="ignore"):
        state = _mixed(seeds.astype(np.uint64)[:, None], 0, 0x9E3779B97F4A7C15)
        state = np.asarray(state + np.arange(length, dtype=np.uint64), dtype=np.uint64)
        state = _mixed(_mixed(state, 30, 0xBF58476D1CE4E5B9), 27, 0x94D049BB133111EB)
        return np.asarray(_folded(state, 31) % np.uint64(len(_WORDS)), dtype=np.int64)


def _mixed(state: _Bits, shift: int, factor: int) -> _Bits:
    return np.asarray((_folded(state, shift) if shift else state) * np.uint64(factor), dtype=np.uint64)


def _folded(state: _Bits, shift: int) -> _Bits:
    return np.bitwise_xor(state, np.right_shift(state, np.uint64(shift)))


Values = NDArray[np.float64]

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
        names = tuple(columns)
        return [
            _listing(dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)
        ]


def noisy_adverts(count: int, seed: int) -> NoisyAdverts:
    """Exactly `count` adverts; the same count and seed always give the same."""
    rng = np.random.default_rng(seed)
    flats = _flats(rng, round(count / _ADVERTS_PER_FLAT) + 1, count)
    copies = rng.choice(_COPIES, len(flats["area"]), p=_COPIES_SHARE)
    owner = np.resize(rng.permutation(np.repeat(np.arange(len(copies)), copies)), count)
    return NoisyAdverts(owner, _adverts(rng, flats, owner, count))


def _flats(rng: np.random.Generator, number: int, adverts: int) -> dict[str, Any]:
    stack = _stacks(rng, number)
    stacks = int(stack.max()) + 1
    city = quarters(adverts)
    quarter = city.choose(rng, stacks)[stack]
    floors = rng.integers(_STACK, 15, stacks)[stack]
    area = _areas(rng, stacks)[stack]
    per_sqm = (city.price_per_sqm[quarter] * rng.lognormal(0, 0.18, stacks)[stack]).round()
    floor = 1 + (rng.integers(0, 15, stacks)[stack] + _place_in(stack)) % floors
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


def _stacks(rng: np.random.Generator, number: int) -> Numbers:
    """Flats above each other have one number; most stand alone."""
    size = np.where(rng.random(number) < _SHARE_STACKED / _STACK, _STACK, 1)
    return np.repeat(np.arange(number), size)[:number]


def _place_in(stack: Numbers) -> Numbers:
    _, first = np.unique(stack, return_index=True)
    return np.arange(len(stack)) - np.repeat(first, np.diff([*first, len(stack)]))


def _areas(rng: np.random.Generator, number: int) -> Values:
    area = np.clip(rng.lognormal(4.4, 0.4, number), 28, 320)
    return _rounded(rng, area, (10, 5, 1, 0.01), (0.08, 0.12, 0.6, 0.2))


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
        "neighbourhood": flats["city"].names[_quarter(rng, flats, owner)],
        "seller_name": np.char.add("Агенция ", agency.astype(str)),
        "phones": _silent(rng, "phones", 884_000_000 + agency),
        "description": texts(rng, owner, flats["stack"][owner], agency),
    }


def _quarter(rng: np.random.Generator, flats: dict[str, Any], owner: Numbers) -> Numbers:
    own = flats["quarter"][owner]
    return np.where(
        _wrong(rng, len(owner), AGREEMENT["neighbourhood"]), flats["city"].neighbour(rng, own), own
    )


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
