"""The criteria of the flat itself: location, condition, layout. Each is a function of its named inputs.

A part is a function of one or two facts, of which there are few: equal ones are made once.
"""

from collections.abc import Collection
from functools import cache, lru_cache
from typing import Final

from sale_sofia.advice.costs import Band, renovation_band
from sale_sofia.advice.scoring.judging import Criterion, Part, Told, YesNo, known, unknown, weigh
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.settings import (
    ACT_VALUES,
    ACTS,
    AREA_WORST_SHARE,
    BATHROOM_SHORT,
    BEST,
    CLIMB,
    CONDITIONS,
    CONSTRUCTIONS,
    FINISHED_YEARS,
    GROUND_FLOOR,
    LAST_FLOOR,
    METRES_PER_MINUTE,
    METRO_BEST_MINUTES,
    METRO_WORST_MINUTES,
    OLD_CONSTRUCTIONS,
    PARKING,
    PARKING_EXTRA,
    PARKING_NOT_INCLUDED,
    RENOVATION_BEST,
    ROOM_SHORT,
    SEPARATE_TOILET,
    TIERS,
    VIEW_FEATURES,
    YEARS,
    YIELD_BEST,
    YIELD_WORST,
)
from sale_sofia.advice.scoring.yardsticks import Prices, Rents
from sale_sofia.advice.settings import PARTS_REMEMBERED

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


# The criteria of the house and of what belongs to the flat: building, extras.

FINISHED: Final = ACTS[-1]
_FLOOR_SAYS: Final = {True: "floor_and_elevator", False: "floor_without_elevator", None: "floor"}
Words = tuple[str, ...]


def building(  # noqa: PLR0913, PLR0917 - the named inputs of the criterion
    profile: Profile,
    construction: str | None,
    year_built: int | None,
    act: str | None,
    floor: int | None,
    floors_total: int | None,
    elevator: YesNo,
) -> Criterion:
    """Construction, year, how far the building is, and floor and elevator together."""
    climb = profile.must.elevator_above_floor or 0
    parts = (
        _construction(construction),
        _year(year_built),
        _act(act),
        _floor(floor, floors_total, elevator, climb),
    )
    return weigh("building", parts)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _construction(construction: str | None) -> Part:
    if construction is None:
        return unknown("building", "construction")
    worth = CONSTRUCTIONS[construction]
    return known("building", "construction", worth, "construction", construction=construction)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _year(year_built: int | None) -> Part:
    if year_built is None:
        return unknown("building", "year")
    worth = next(worth for since, worth in YEARS if year_built >= since)
    return known("building", "year", worth, "year", year=year_built)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _act(act: str | None) -> Part:
    if act is None:
        return unknown("building", "act")
    return known("building", "act", ACT_VALUES[ACTS.index(act)], "act", act=act)


def act_reached(
    act_status: str | None,
    under_construction: YesNo,
    year_built: int | None,
    construction: str | None,
    first_seen_year: int,
) -> str | None:
    """How far the building is: what is printed; else finished, where its age or its kind leaves no doubt."""
    if act_status is not None:
        return act_status
    if under_construction:
        return None
    aged = year_built is not None and year_built <= first_seen_year - FINISHED_YEARS
    return FINISHED if aged or construction in OLD_CONSTRUCTIONS else None


@lru_cache(maxsize=PARTS_REMEMBERED)
def _floor(floor: int | None, floors: int | None, elevator: YesNo, climb: int) -> Part:
    if floor is None:
        return unknown("building", "floor")
    if floor > climb and elevator is None:
        return unknown("building", "floor", "elevator_unknown", floor=floor)
    worth = _floor_worth(floor, floors, climb, elevator=bool(elevator))
    return known("building", "floor", worth, _FLOOR_SAYS[elevator], floor=floor, floors=floors)


def _floor_worth(floor: int, floors_total: int | None, climb: int, *, elevator: bool) -> float:
    if floor <= 0:
        return GROUND_FLOOR
    if not elevator:
        return CLIMB if floor <= climb else 0.0
    return LAST_FLOOR if floor == floors_total else BEST


def extras(
    _profile: Profile,
    parking: Words,
    parking_status: str | None,
    storage: Words,
    has_balcony: YesNo,
    view: YesNo,
) -> Criterion:
    """Parking, storage, balcony, view."""
    parts = (_parking(parking, parking_status), _storage(storage), _balcony(has_balcony), _view(view))
    return weigh("extras", parts)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _parking(parking: Words, status: str | None) -> Part:
    if not parking:
        return unknown("extras", "parking")
    if status in PARKING_NOT_INCLUDED:
        return known("extras", "parking", PARKING_EXTRA, "parking_extra", parking=parking)
    worth = max(PARKING[one] for one in parking)
    return known("extras", "parking", worth, "parking", parking=parking)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _storage(storage: Words) -> Part:
    if not storage:
        return unknown("extras", "storage")
    return known("extras", "storage", BEST, "storage", storage=storage)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _balcony(has_balcony: YesNo) -> Part:
    if has_balcony is None:
        return unknown("extras", "balcony")
    worth, say = (BEST, "balcony") if has_balcony else (0.0, "no_balcony")
    return known("extras", "balcony", worth, say)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _view(view: YesNo) -> Part:
    return known("extras", "view", BEST, "view") if view else unknown("extras", "view")


def has_view(features: Collection[str]) -> bool | None:
    """Whether the portal lists a view; that it lists none says nothing."""
    return True if any(one.strip().lower() in VIEW_FEATURES for one in features) else None


# The criteria that look at the market: price per m² among its neighbours, and what the flat would earn.

_MONTHS = 12
_PERCENT = 100


def price(paid: Band | None, area_sqm: float | None, prices: Prices | None) -> Criterion:
    """The place of the price per m² among the neighbourhood's; the dearest that the flat may be counts."""
    if paid is None or paid.most is None:
        return _unknown("price", "place", "price_unknown" if paid is None else "price_from")
    if not area_sqm:
        return _unknown("price", "place", "area_unknown")
    if prices is None:
        return _unknown("price", "place", "too_few")
    eur_sqm = paid.most / area_sqm
    cheaper = prices.place(eur_sqm)
    told = {"eur_sqm": eur_sqm, "cheaper": cheaper, "flats": prices.flats}
    return _known("price", "place", BEST * (1 - cheaper), f"place_{prices.scope}", told)


def rental(paid: Band | None, area_sqm: float | None, rents: Rents | None) -> Criterion:
    """The gross yield: a year's rent at what flats alike are let for, of the price."""
    if paid is None or paid.most is None or not area_sqm:
        return _unknown("rental", "yield", "price_unknown")
    if rents is None:
        return _unknown("rental", "yield", "too_few")
    rent = rents.eur_sqm * area_sqm
    percent = rent * _MONTHS / paid.most * _PERCENT
    told = {"percent": percent, "rent": rent, "flats": rents.flats}
    return _known("rental", "yield", between(percent, YIELD_WORST, YIELD_BEST), "yield", told)


def _known(criterion: str, part: str, value: float, say: str, told: Told) -> Criterion:
    return weigh(criterion, (known(criterion, part, value, say, **told),))


@cache
def _unknown(criterion: str, part: str, say: str) -> Criterion:
    return weigh(criterion, (unknown(criterion, part, say),))
