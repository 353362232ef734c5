"""How two adverts compare, field by field: a level for each, the same whichever comes first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dc_field
from functools import cache, cached_property, reduce
from importlib import resources
from operator import or_
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.flats import settings as fixed
from sale_sofia.flats.matching.candidates import are_near
from sale_sofia.flats.matching.fingerprint import (
    DOOR_MASK,
    ROUND_AREAS,
    ROUND_PRICES,
    UNKNOWN_FLOOR,
    Adverts,
    Array,
    area_roundness,
    is_chosen_price,
    price_roundness,
)
from sale_sofia.settings.files import read_yaml

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
Levels = NDArray[np.int8]

LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "place": ("unknown", "same", "near", "other"),
    "rooms": ("unknown", "same", "one_more", "other"),
    "area": ("unknown", "same", "rounded", "close", "other"),
    "price": ("unknown", "same", "rival", "near", "close", "other"),
    "floor": ("unknown", "same", "other"),
    "floors": ("unknown", "same", "one_more", "other"),
    "year": ("unknown", "same", "close", "other"),
    "contact": ("unknown", "phone", "agency", "other"),
    "text": ("unknown", "same", "alike", "akin", "touching", "other"),
    "address": ("unknown", "same", "street", "other_door", "other"),
    "unit": ("unknown", "same", "entrance", "other"),
    "photos": ("unknown", "several", "one", "other"),
    "pictures": ("unknown", "several", "one", "other"),
    "reference": ("unknown", "same", "other"),
}
"""Each field's levels by number. `unknown`: one of the two does not say."""

_TEXT_STEPS: Final = (0.7, 0.4, 0.15, 0.03)
_CLOSE_PRICE: Final = 0.10
_CLOSE_YEARS: Final = 2


@dataclass(frozen=True)
class PairComparison:
    """Pairs of adverts, `left[i]` with `right[i]`; results are computed when first used."""

    adverts: Adverts
    left: Rows
    right: Rows
    _levels: dict[str, Levels] = dc_field(default_factory=dict, init=False, repr=False)

    def both(self, field: str) -> tuple[Array, Array]:
        """The two values of a field."""
        column = self.adverts[field]
        return column[self.left], column[self.right]

    def levels(self, field: str) -> Levels:
        """The level of a field for each pair, an index in `LEVELS`."""
        if field not in self._levels:
            self._levels[field] = _COMPARED[field](self)
        return self._levels[field]

    def at(self, field: str, *levels: str) -> Flags:
        """Whether a field is at one of these levels."""
        found = self.levels(field)
        return reduce(or_, (found == LEVELS[field].index(level) for level in levels))

    @cached_property
    def family(self) -> Flags:
        """The same imot.bg advert, unless the id was reused: area and floor both differ."""
        left, right = self.both("family")
        reused = self.at("area", "close", "other") & self.at("floor", "other")
        return (left == right) & (left != 0) & ~reused & ~self.same_id

    @cached_property
    def same_id(self) -> Flags:
        """Two adverts that had the same id of a portal, one after the other."""
        left, right = self.both("identity")
        return left == right

    @cached_property
    def price_gap(self) -> Array:
        """The difference of the prices as a share of the higher."""
        left, right = self.both("price")
        return np.abs(left - right) / np.maximum(left, right)

    @cached_property
    def area_gap(self) -> Array:
        """The difference of the areas as a share of the larger."""
        left, right = self.both("area")
        return np.abs(left - right) / np.maximum(left, right)

    @cached_property
    def vetoed(self) -> Flags:
        """Pairs that are never one property, whatever the score. Only a family id overrides it."""
        left_family, right_family = self.both("family")
        left_agency, right_agency = self.both("agency")
        same_agency = (left_agency == right_agency) & (left_agency != 0)
        contradicted = (
            self.at("floor", "other")
            | self.at("floors", "other")
            | self.at("year", "other")
            | self.at("unit", "other")
            | (self.price_gap > fixed.PRICE_VETO)
            | self._areas_contradict()
            | (same_agency & self.at("reference", "other"))
            | differ(*self.both("deal"))
            | differ(*self.both("kind"))
            | ((left_family == right_family) & (left_family != 0))  # an id that another flat was given
        )
        return (contradicted & ~self.family) | self.same_id

    def _areas_contradict(self) -> Flags:
        """Too far apart, unless one advert's area is the other's net area."""
        left, right = self.both("area")
        left_net, right_net = self.both("net_area")
        may_be_net = (np.abs(left_net - right) <= fixed.HALF_AREA_SQM) | (
            np.abs(right_net - left) <= fixed.HALF_AREA_SQM
        )
        share = np.minimum(left, right) / np.maximum(left, right)
        net = (share >= fixed.NET_OF_GROSS[0]) & (share <= fixed.NET_OF_GROSS[1]) & may_be_net
        return (self.area_gap > fixed.AREA_TOLERANCE) & ~net


def differ(left: Array, right: Array) -> Flags:
    """Where both are known and differ."""
    return (left != right) & (left != 0) & (right != 0)


def _stepped(is_known: Flags, *steps: Flags) -> Levels:
    """Level 0 if unknown, else the number of the first step that holds, else the last level."""
    levels = np.full(len(is_known), len(steps) + 1, np.int8)
    for number in range(len(steps), 0, -1):
        levels[steps[number - 1]] = number
    levels[~is_known] = 0
    return levels


def _place(pairs: PairComparison) -> Levels:
    left, right = pairs.both("quarter")
    return _stepped((left != 0) & (right != 0), left == right, are_near(left, right))


def _rooms(pairs: PairComparison) -> Levels:
    left, right = pairs.both("rooms")
    return _stepped((left != 0) & (right != 0), left == right, np.abs(left - right) == 1)


def _area(pairs: PairComparison) -> Levels:
    left, right = pairs.both("area")
    gap = np.abs(left - right)
    return _stepped(
        ~np.isnan(gap),
        gap <= fixed.SAME_AREA_SQM,
        gap <= fixed.HALF_AREA_SQM,
        pairs.area_gap <= fixed.AREA_TOLERANCE,
    )


def _price(pairs: PairComparison) -> Levels:
    gap = pairs.price_gap
    near = gap <= fixed.NEAR_PRICE
    return _stepped(~np.isnan(gap), gap <= fixed.SAME_PRICE, near & _rivals(pairs), near, gap <= _CLOSE_PRICE)


def _rivals(pairs: PairComparison) -> Flags:
    """Two sellers with chosen prices in the same quarter.

    For one flat, sellers ask nearly the same; but one seller with two prices, or the same words at two
    prices, has two flats, and so has a developer's list of computed prices.
    """
    left, right = pairs.both("price")
    return (
        is_chosen_price(left)
        & is_chosen_price(right)
        & pairs.at("place", "same")
        & pairs.at("contact", "unknown", "other")
        & pairs.at("text", "unknown", "touching", "other")
    )


def _floor(pairs: PairComparison) -> Levels:
    left, right = pairs.both("floor")
    return _stepped((left != UNKNOWN_FLOOR) & (right != UNKNOWN_FLOOR), left == right)


def _floors(pairs: PairComparison) -> Levels:
    left, right = pairs.both("floors")
    return _stepped((left != 0) & (right != 0), left == right, np.abs(left - right) < fixed.FLOORS_VETO)


def _year(pairs: PairComparison) -> Levels:
    left, right = pairs.both("year")
    gap = np.abs(left - right)
    return _stepped((left != 0) & (right != 0), gap <= _CLOSE_YEARS, gap < fixed.YEAR_VETO)


def _contact(pairs: PairComparison) -> Levels:
    left, right = pairs.both("agency")
    left_phones, right_phones = pairs.both("phones")
    phone = _shared(left_phones, right_phones) > 0
    agency = (left == right) & (left != 0)
    both = (
        phone | agency | ((left_phones[:, 0] != 0) & (right_phones[:, 0] != 0)) | ((left != 0) & (right != 0))
    )
    return _stepped(both, phone, agency)


def _text(pairs: PairComparison) -> Levels:
    # The widest column, and so the peak of memory: one copy of both sides, sorted in place
    both = np.concatenate(pairs.both("text"), axis=1)
    sizes = np.minimum(*((side != 0).sum(axis=1) for side in np.split(both, 2, axis=1)))
    # As `_shared`, but for long rows without repeats: equal values are adjacent once sorted
    both.sort(axis=1)
    shared = both[:, 1:] == both[:, :-1]
    shared &= both[:, 1:] != 0
    share = shared.sum(axis=1) / np.maximum(sizes, 1)
    return _stepped(sizes >= fixed.TEXT_LEAST, *(share >= step for step in _TEXT_STEPS))


def _address(pairs: PairComparison) -> Levels:
    column, levels = pairs.adverts["addresses"], np.zeros(len(pairs.left), np.int8)
    both = np.flatnonzero((column[pairs.left, 0] != 0) & (column[pairs.right, 0] != 0))  # few
    left, right = column[pairs.left[both]][:, :, None], column[pairs.right[both]][:, None, :]
    mask = np.uint64(DOOR_MASK)
    street = ((left | mask) == (right | mask)) & (left != 0)
    doors = street & (left & mask != 0) & (right & mask != 0)
    same, other, streets = (
        found.any(axis=(1, 2)) for found in (doors & (left == right), doors & (left != right), street)
    )
    levels[both] = _stepped(np.ones(len(both), bool), same, streets & ~other, streets)
    return levels


def _unit(pairs: PairComparison) -> Levels:
    (left_entrance, right_entrance), (left, right) = pairs.both("entrance"), pairs.both("flat")
    flats, entrances = (left != 0) & (right != 0), (left_entrance != 0) & (right_entrance != 0)
    agree = ~differ(left, right) & ~differ(left_entrance, right_entrance)
    return _stepped(flats | entrances, flats & agree, agree)


def _photos(pairs: PairComparison) -> Levels:
    left, right = pairs.both("photos")
    shared = _shared(left, right)
    return _stepped((left[:, 0] != 0) & (right[:, 0] != 0), shared > 1, shared > 0)


def _pictures(pairs: PairComparison) -> Levels:
    """By what their photos show, if both were looked at; `photos` compares only names of files."""
    left, right = pairs.both("pictures")
    shared = _shared(left, right)
    return _stepped((left[:, 0] != 0) & (right[:, 0] != 0), shared > 1, shared > 0)


def _reference(pairs: PairComparison) -> Levels:
    left, right = pairs.both("references")
    return _stepped((left[:, 0] != 0) & (right[:, 0] != 0), _shared(left, right) > 0)


def _shared(left: Array, right: Array) -> NDArray[np.intp]:
    """How many values each two rows have in common, without zeros."""
    equal = (left[:, :, None] == right[:, None, :]) & (left[:, :, None] != 0)
    return equal.sum(axis=(1, 2))


_COMPARED: Final[Mapping[str, Callable[[PairComparison], Levels]]] = {
    "place": _place,
    "rooms": _rooms,
    "area": _area,
    "price": _price,
    "floor": _floor,
    "floors": _floors,
    "year": _year,
    "contact": _contact,
    "text": _text,
    "address": _address,
    "unit": _unit,
    "photos": _photos,
    "pictures": _pictures,
    "reference": _reference,
}


# The weights of evidence: `weights.yaml`, made by `bench/matching_fit.py`.

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MatchWeights:
    """Log-odds that two adverts are one property: the prior, and what each level adds or subtracts."""

    prior: float
    levels: Mapping[str, NDArray[np.float64]]
    same_area: NDArray[np.float64]
    """What an equal area adds, by how round it is: many flats have 80 m²."""
    same_price: NDArray[np.float64]
    """What an equal price adds, by how round it is."""

    def field(self, pairs: PairComparison, field: str) -> Scores:
        """What one field adds for each pair."""
        levels = pairs.levels(field)
        added = self.levels[field][levels]
        if field == "area":
            return np.where(levels == 1, self.same_area[area_roundness(pairs.both("area")[0])], added)
        if field == "price":
            return np.where(levels == 1, self.same_price[price_roundness(pairs.both("price")[0])], added)
        return added

    def log_odds(self, pairs: PairComparison) -> Scores:
        """The sum of all evidence for each pair."""
        return self.prior + sum(
            (self.field(pairs, field) for field in self.levels), np.zeros(len(pairs.left))
        )


@cache
def load_weights() -> MatchWeights:
    """The weights of this installation."""
    text = resources.files(__package__).joinpath("weights.yaml").read_text("utf-8")
    return weights_from(read_yaml(text))


def weights_from(data: Mapping[str, Any]) -> MatchWeights:
    """The weights of a table; a missing level adds nothing."""
    return MatchWeights(
        prior=data["prior"],
        levels={field: _row(LEVELS[field], weights) for field, weights in data["levels"].items()},
        same_area=_row(ROUND_AREAS, data["same_area"]),
        same_price=_row(ROUND_PRICES, data["same_price"]),
    )


def _row(names: tuple[str, ...], weights: Mapping[str, float]) -> NDArray[np.float64]:
    return np.array([weights.get(name, 0.0) for name in names])
