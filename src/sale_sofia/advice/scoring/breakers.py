"""Deal breakers. Each is a function of a few facts, and says so where they do not decide it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Literal

from sale_sofia.advice.scoring.judging import BreakerFinding, YesNo, fails, not_known, passes
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.flats.flat import Trap
from sale_sofia.flats.prices import Band
from sale_sofia.flats.settings import ACTS
from sale_sofia.flats.walks import MetroWalk, what_is_near
from sale_sofia.geography.shapes import Point
from sale_sofia.geography.surroundings import ROAD_CLASSES, Nearest, is_within
from sale_sofia.listings.places import SOFIA

_NO_TRAP: Final = passes("traps", "none")
_NOT_READ: Final = not_known("traps")


def offer(profile: Profile, deal: str | None, kind: str | None) -> BreakerFinding:
    """A flat for sale, of a kind that the buyer looks for."""
    if deal not in {"sale", None}:
        return fails("offer", "deal", deal=deal)
    if kind is not None and kind not in profile.property_types:
        return fails("offer", "kind", kind=kind)
    return not_known("offer") if deal is None or kind is None else passes("offer", "sale", kind=kind)


def place(_profile: Profile, city: str | None, flags: Collection[str]) -> BreakerFinding:
    """In Sofia, and the advert's own words do not place it elsewhere."""
    if "place_conflict" in flags:
        return fails("place", "conflict")
    if city is None:
        return not_known("place")
    return passes("place", "sofia") if city == SOFIA else fails("place", "elsewhere", city=city)


def neighbourhood(profile: Profile, name: str | None) -> BreakerFinding:
    """Not where the buyer does not want to live."""
    if name is None:
        return not_known("neighbourhood")
    tier = profile.neighbourhoods.tier(name)
    verdict = fails if tier == "poor" else passes
    return verdict("neighbourhood", "tier", neighbourhood=name, tier=tier)


def budget(limit: float, cost: Band | None) -> BreakerFinding:
    """All costs within the budget; unknown while they may be more, or may be less."""
    if cost is None:
        return not_known("budget", "no_price")
    if cost.least > limit:
        return fails("budget", "above", least=cost.least, most=cost.most, budget=limit)
    if cost.most is None:
        return not_known("budget", "no_most", least=cost.least, budget=limit)
    if cost.most > limit:
        return not_known("budget", "band", least=cost.least, most=cost.most, budget=limit)
    return passes("budget", "within", least=cost.least, most=cost.most, budget=limit)


def at_least(name: str, key: str) -> Callable[[Profile, float | None], BreakerFinding]:
    """A breaker of a number that must not be below the `key` of the profile's `must`."""

    def judge(profile: Profile, value: float | None) -> BreakerFinding:
        least = getattr(profile.must, key)
        if value is None:
            return not_known(name, least=least)
        return (passes if value >= least else fails)(name, "number", value=value, least=least)

    return judge


def ground_floor(_profile: Profile, floor: int | None) -> BreakerFinding:
    """Not on the ground floor, nor below it."""
    if floor is None:
        return not_known("ground_floor")
    return (passes if floor > 0 else fails)("ground_floor", "floor", floor=floor)


def last_floor(_profile: Profile, floor: int | None, floors: int | None) -> BreakerFinding:
    """Not on the last floor."""
    if floor is None or floors is None:
        return not_known("last_floor")
    return (passes if floor < floors else fails)("last_floor", "floor", floor=floor, floors=floors)


def elevator(profile: Profile, floor: int | None, there: YesNo) -> BreakerFinding:
    """Above a floor only with an elevator."""
    limit = profile.must.elevator_above_floor or 0
    if there:
        return passes("elevator", "there")
    if floor is not None and floor <= limit:
        return passes("elevator", "low", floor=floor)
    if floor is None or there is None:
        return not_known("elevator", floor=floor)
    return fails("elevator", "missing", floor=floor, limit=limit)


def panel(_profile: Profile, construction: str | None) -> BreakerFinding:
    """Not a panel building."""
    if construction is None:
        return not_known("panel")
    return (fails if construction == "panel" else passes)("panel", "construction", construction=construction)


def act15(_profile: Profile, act: str | None, ready_in: int | None) -> BreakerFinding:
    """The building has act 15 or a later one; "before act 15" fails, and so does a year to come."""
    if act is None:
        return not_known("act15") if ready_in is None else fails("act15", "later", year=ready_in)
    return (passes if ACTS.index(act) >= ACTS.index("act15") else fails)("act15", "act", act=act)


def metro(profile: Profile, walk: MetroWalk | None) -> BreakerFinding:
    """Not too far from the metro."""
    return _walk("metro", walk, profile.must.metro_most_minutes or 0)


def _walk(name: str, walk: MetroWalk | Nearest | None, limit: int) -> BreakerFinding:
    """Not too far on foot; a range decides only where all of it is on one side of the limit."""
    if walk is None:
        return not_known(name)
    verdict = _VERDICTS[is_within(walk.least, walk.most, limit)]
    if walk.least == walk.most:
        finding = verdict("metro", "walk", minutes=walk.most, limit=limit)
    else:
        finding = verdict("metro", "range", least=walk.least, most=walk.most, limit=limit)
    return finding._replace(name=name)  # the sentence is the same wherever the walk leads


_VERDICTS: Final[Mapping[YesNo, Callable[..., BreakerFinding]]] = {
    True: passes,
    False: fails,
    None: not_known,
}


def nearest(
    name: Literal["stop", "shop", "school"],
) -> Callable[[Profile, Point | None, str | None, str | None], BreakerFinding]:
    """A breaker of what must not be too far from where the flat is."""

    def judge(
        profile: Profile, exact: Point | None, city: str | None, neighbourhood: str | None
    ) -> BreakerFinding:
        near = what_is_near(exact, (city, neighbourhood))
        return _walk(name, getattr(near, name), getattr(profile.must, f"{name}_most_minutes"))

    return judge


def road(
    profile: Profile, exact: Point | None, city: str | None, neighbourhood: str | None
) -> BreakerFinding:
    """The distance to a big road is an allowed class; where several are possible, all of them must agree."""
    near = what_is_near(exact, (city, neighbourhood)).road
    classes = tuple(f"road_{name}" for name in ROAD_CLASSES[near.least : near.most + 1]) if near else ()
    if near is None or len(classes) == len(ROAD_CLASSES):
        return not_known("road")
    return _VERDICTS[near.is_one_of(profile.must.road)]("road", "class", road=classes)


def orientation(profile: Profile, sides: Sequence[str]) -> BreakerFinding:
    """At least one of the wanted sides; each is compared as a whole word."""
    wanted = profile.must.orientation
    if not sides:
        return not_known("orientation")
    verdict = passes if set(sides) & set(wanted) else fails
    return verdict("orientation", "sides", sides=tuple(sides), wanted=wanted)


def outdoors(
    _profile: Profile,
    has_balcony: YesNo,
    balconies: int | None,
    yard_sqm: float | None,
    floor: int | None,
) -> BreakerFinding:
    """A balcony or a garden. Only a flat above the ground without a balcony surely has neither."""
    if has_balcony or balconies:
        return passes("outdoors", "balcony")
    if yard_sqm:
        return passes("outdoors", "yard", yard=yard_sqm)
    if has_balcony is False and floor is not None and floor > 0:
        return fails("outdoors", "none")
    return not_known("outdoors")


def traps(profile: Profile, there: Mapping[str, Trap], *, described: bool) -> BreakerFinding:
    """None of the traps; unknown while nobody has read a description."""
    for name in profile.must.no_traps:
        if name in there:
            return fails("traps", "trap", trap=name)._replace(quote=there[name].quote)
    return _NO_TRAP if described else _NOT_READ
