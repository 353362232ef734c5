"""The criteria of the flat itself: location, condition, layout. Each is a function of its named inputs.

A part is a function of one or two facts, of which there are few: equal ones are made once.
"""

from functools import lru_cache

from sale_sofia.config.insights import PARTS_REMEMBERED
from sale_sofia.config.scoring import (
    AREA_WORST_SHARE,
    BATHROOM_SHORT,
    BEST,
    CONDITIONS,
    METRES_PER_MINUTE,
    METRO_BEST_MINUTES,
    METRO_WORST_MINUTES,
    RENOVATION_BEST,
    ROOM_SHORT,
    SEPARATE_TOILET,
    TIERS,
)
from sale_sofia.insights.costs import Band, renovation_band
from sale_sofia.insights.judging import Criterion, Part, YesNo, known, unknown, weigh
from sale_sofia.insights.profile import Profile

Sides = tuple[str, ...]


def location(
    profile: Profile, neighbourhood: str | None, metro_minutes: int | None, metro_distance_m: int | None
) -> Criterion:
    """The buyer's tier of the neighbourhood, and the walk to the metro."""
    tier = None if neighbourhood is None else profile.neighbourhoods.tier(neighbourhood)
    return weigh("location", (_tier(neighbourhood, tier), _metro(metro_minutes, metro_distance_m)))


@lru_cache(maxsize=PARTS_REMEMBERED)
def _tier(neighbourhood: str | None, tier: str | None) -> Part:
    if tier is None:
        return unknown("location", "tier")
    return known("location", "tier", TIERS[tier], "tier", neighbourhood=neighbourhood, tier=tier)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _metro(told_minutes: int | None, metres: int | None) -> Part:
    minutes = walk_minutes(told_minutes, metres)
    if minutes is None:
        return unknown("location", "metro")
    worth = between(minutes, METRO_WORST_MINUTES, METRO_BEST_MINUTES)
    return known("location", "metro", worth, "metro", minutes=minutes)


def walk_minutes(minutes: float | None, metres: float | None) -> float | None:
    """How long the walk to the metro is; of two that are told the longer one."""
    told = [minutes, None if metres is None else metres / METRES_PER_MINUTE]
    return max((one for one in told if one is not None), default=None)


def between(value: float, worst: float, best: float) -> float:
    """0 at the worst and beyond, 5 at the best and beyond, in between in proportion."""
    return BEST * min(max((value - worst) / (best - worst), 0.0), 1.0)


def condition(profile: Profile, told: str | None, area_sqm: float | None) -> Criterion:
    """The condition; where it has to be renovated, against what the buyer would spend on it."""
    if told is None:
        return weigh("condition", (unknown("condition", "condition"),))
    if told in CONDITIONS:
        return weigh(
            "condition", (known("condition", "condition", CONDITIONS[told], "condition", condition=told),)
        )
    return weigh("condition", (_renovation(profile, told, renovation_band(profile, told, area_sqm)),))


def _renovation(profile: Profile, told: str, cost: Band) -> Part:
    if not cost.exact:
        return unknown("condition", "condition", "area_unknown", condition=told)
    budget = profile.renovation_eur
    worth = RENOVATION_BEST * max(1 - cost.least / budget, 0.0) if budget else 0.0
    spent = {"cost": cost.least, "budget": budget}
    return known("condition", "condition", worth, "renovation", condition=told, **spent)


def layout(
    profile: Profile,
    rooms: int | None,
    bathrooms: int | None,
    wc_separate: YesNo,
    orientation: Sides,
    area_net_sqm: float | None,
) -> Criterion:
    """Rooms, bathrooms and toilets, sides and net area, against the buyer's wishes."""
    wishes = profile.wishes
    parts = (
        _rooms(rooms, wishes.rooms),
        _bathrooms(bathrooms, wc_separate, wishes.bathrooms),
        _orientation(orientation, wishes.orientation),
        _area(area_net_sqm, wishes.area_net_sqm),
    )
    return weigh("layout", parts)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _rooms(rooms: int | None, wished: int) -> Part:
    if rooms is None:
        return unknown("layout", "rooms")
    worth = {0: BEST, 1: ROOM_SHORT}.get(max(wished - rooms, 0), 0.0)
    return known("layout", "rooms", worth, "rooms", rooms=rooms, wished=wished)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _bathrooms(bathrooms: int | None, wc_separate: YesNo, wished: int) -> Part:
    if bathrooms is None:
        return unknown("layout", "bathrooms")
    worth = {0: BEST, 1: BATHROOM_SHORT}.get(max(wished - bathrooms, 0), 0.0)
    worth = min(worth + (SEPARATE_TOILET if wc_separate else 0.0), BEST)
    say = "bathrooms_and_toilet" if wc_separate else "bathrooms"
    return known("layout", "bathrooms", worth, say, bathrooms=bathrooms, wished=wished)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _orientation(sides: Sides, wished: Sides) -> Part:
    """Sides are compared whole: SW is neither S nor W."""
    if not sides or not wished:
        return unknown("layout", "orientation", None if wished else "orientation_not_wished")
    worth = BEST if set(sides) & set(wished) else 0.0
    return known("layout", "orientation", worth, "orientation", sides=sides, wished=wished)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _area(area_net_sqm: float | None, wished: float) -> Part:
    if area_net_sqm is None:
        return unknown("layout", "area_net")
    worth = between(area_net_sqm, wished * AREA_WORST_SHARE, wished)
    return known("layout", "area_net", worth, "area_net", area=area_net_sqm, wished=wished)
