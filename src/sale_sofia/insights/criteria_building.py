"""The criteria of the house and of what belongs to the flat: building, extras."""

from collections.abc import Collection
from functools import lru_cache
from typing import Final

from sale_sofia.config.insights import PARTS_REMEMBERED
from sale_sofia.config.scoring import (
    ACT_VALUES,
    ACTS,
    BEST,
    CLIMB,
    CONSTRUCTIONS,
    FINISHED_YEARS,
    GROUND_FLOOR,
    LAST_FLOOR,
    OLD_CONSTRUCTIONS,
    PARKING,
    PARKING_EXTRA,
    PARKING_NOT_INCLUDED,
    VIEW_FEATURES,
    YEARS,
)
from sale_sofia.insights.judging import Criterion, Part, YesNo, known, unknown, weigh
from sale_sofia.insights.profile import Profile

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
