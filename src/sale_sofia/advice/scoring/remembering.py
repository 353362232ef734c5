"""What each criterion and breaker looks at. Flats have few different facts: equal ones are judged once."""

import time
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sale_sofia.advice.costs import Purchase, purchase
from sale_sofia.advice.scoring import breakers
from sale_sofia.advice.scoring.criteria import (
    act_reached,
    building,
    condition,
    extras,
    has_view,
    layout,
    location,
    price,
    rental,
)
from sale_sofia.advice.scoring.judging import Criterion, Finding
from sale_sofia.advice.scoring.profile import Must, Profile
from sale_sofia.advice.scoring.yardsticks import Cell, Yardstick, cell_of
from sale_sofia.flats.flat import Flat

T = TypeVar("T")
Alike = list[dict[tuple[Any, ...], tuple[Any, ...]]]
"""Facts by themselves, for each of `JUDGES`: what is equal for one may differ for another (1 and True)."""


class Seen(NamedTuple):
    """A flat, with what follows from its facts for every buyer."""

    flat: Flat
    act: str | None
    """How far the building is."""
    view: bool | None
    bought: Purchase | None
    """What it costs whoever buys it; None without a price."""
    money: tuple[Criterion, Criterion]
    """Price per m² and rental: the same for every buyer."""
    facts: tuple[tuple[Any, ...], ...] = ()
    """What each judge of `JUDGES` looks at."""


def look(flat: Flat, measure: Callable[[Cell], Yardstick], alike: Alike | None = None) -> Seen:
    """The flat, looked at beside its neighbours; it shares equal facts with others of the same `alike`."""
    first_year = time.gmtime(flat.first_seen_at).tm_year
    act = act_reached(
        flat.act_status, flat.under_construction, flat.year_built, flat.construction, first_year
    )
    bought, cell = purchase(flat), cell_of(flat.neighbourhood, flat.rooms)
    paid = bought and bought.price
    by = measure(cell) if cell else Yardstick()
    money = (price(paid, flat.area_sqm, by.prices), rental(paid, flat.area_sqm, by.rents))
    seen = Seen(flat, act, has_view(flat.features), bought, money)
    facts = [one.read(seen) for one in JUDGES]
    if alike is not None:
        facts = [known.setdefault(one, one) for known, one in zip(alike, facts, strict=True)]
    return seen._replace(facts=tuple(facts))


class Judge(NamedTuple, Generic[T]):
    """A criterion or a deal breaker: whether a profile asks for it, what it looks at, and its judgement."""

    name: str
    wanted: Callable[[Must], object]
    read: Callable[[Seen], tuple[Any, ...]]
    judge: Callable[..., T]


def _of(*names: str) -> Callable[[Seen], tuple[Any, ...]]:
    """These facts; always as a tuple."""
    found = attrgetter(*names)
    return found if len(names) > 1 else lambda seen: (found(seen),)


def _always(_must: Must) -> bool:
    return True


def _number(name: str, limit: str, fact: str) -> Judge[Finding]:
    return Judge(name, attrgetter(limit), _of(fact), breakers.at_least(name, limit))


CRITERIA: Final[tuple[Judge[Criterion], ...]] = (
    Judge(
        "location",
        _always,
        _of("flat.neighbourhood", "flat.metro_minutes", "flat.metro_distance_m"),
        location,
    ),
    Judge("condition", _always, _of("flat.condition", "flat.area_sqm"), condition),
    Judge(
        "layout",
        _always,
        _of("flat.rooms", "flat.bathrooms", "flat.wc_separate", "flat.orientation", "flat.area_net_sqm"),
        layout,
    ),
    Judge(
        "building",
        _always,
        _of(
            "flat.construction", "flat.year_built", "act", "flat.floor", "flat.floors_total", "flat.elevator"
        ),
        building,
    ),
    Judge(
        "extras",
        _always,
        _of("flat.parking", "flat.parking_status", "flat.storage", "flat.has_balcony", "view"),
        extras,
    ),
)  # fmt: skip

BREAKERS: Final[tuple[Judge[Finding], ...]] = (
    Judge("offer", _always, _of("flat.deal", "flat.property_type"), breakers.offer),
    Judge("place", _always, _of("flat.city", "flat.flags"), breakers.place),
    _number("rooms", "rooms_least", "flat.rooms"),
    _number("area", "area_least_sqm", "flat.area_sqm"),
    _number("area_net", "area_net_least_sqm", "flat.area_net_sqm"),
    _number("bathrooms", "bathrooms_least", "flat.bathrooms"),
    Judge("ground_floor", attrgetter("not_ground_floor"), _of("flat.floor"), breakers.ground_floor),
    Judge(
        "last_floor",
        attrgetter("not_last_floor"),
        _of("flat.floor", "flat.floors_total"),
        breakers.last_floor,
    ),
    Judge(
        "elevator", attrgetter("elevator_above_floor"), _of("flat.floor", "flat.elevator"), breakers.elevator
    ),
    Judge("panel", attrgetter("not_panel"), _of("flat.construction"), breakers.panel),
    Judge("act15", attrgetter("act15_or_later"), _of("act"), breakers.act15),
    Judge(
        "metro",
        attrgetter("metro_most_minutes"),
        _of("flat.metro_minutes", "flat.metro_distance_m"),
        breakers.metro,
    ),
    Judge("orientation", attrgetter("orientation"), _of("flat.orientation"), breakers.orientation),
    Judge(
        "outdoors",
        attrgetter("balcony_or_garden"),
        _of("flat.has_balcony", "flat.balconies", "flat.yard_sqm", "flat.floor"),
        breakers.outdoors,
    ),
)
JUDGES: Final[tuple[Judge[Any], ...]] = (*CRITERIA, *BREAKERS)


class Remembered(Generic[T]):
    """Judges in a row. Flats have few different facts: equal ones are judged once."""

    def __init__(self, profile: Profile, judges: Sequence[Judge[T]]) -> None:
        self._profile = profile
        made: list[dict[Any, T]] = [{} for _ in judges]
        places = [JUDGES.index(one) for one in judges]
        self._judges = list(zip(places, made, [one.judge for one in judges], strict=True))

    def judge(self, seen: Seen) -> list[T]:
        """What each of them says of this flat."""
        found = []
        for place, made, judge in self._judges:
            facts = seen.facts[place]
            one = made.get(facts)
            if one is None:
                one = made[facts] = judge(self._profile, *facts)
            found.append(one)
        return found
