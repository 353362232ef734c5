"""The criteria, each a function of its named inputs. Equal parts are shared."""

from collections.abc import Callable, Collection
from functools import cache, lru_cache, partial

from sale_sofia.advice.costs import renovation_band
from sale_sofia.advice.scoring import settings
from sale_sofia.advice.scoring.judging import Criterion, CriterionPart, YesNo, known_part, unknown_part, weigh
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.yardsticks import Prices, Rents
from sale_sofia.advice.settings import PARTS_REMEMBERED
from sale_sofia.flats.prices import Band
from sale_sofia.flats.settings import ACTS
from sale_sofia.flats.walks import MetroWalk, travel_to, what_is_near
from sale_sofia.geography.shapes import Point
from sale_sofia.geography.surroundings import ROAD_CLASSES, Road

Words = tuple[str, ...]


def location(profile: Profile, neighbourhood: str | None, walk: MetroWalk | None) -> Criterion:
    """The buyer's tier of the neighbourhood, and the walk to the metro."""
    tier = None if neighbourhood is None else profile.neighbourhoods.tier(neighbourhood)
    return weigh("location", (_tier(neighbourhood, tier), _metro(walk)))


@lru_cache(maxsize=PARTS_REMEMBERED)
def _tier(neighbourhood: str | None, tier: str | None) -> CriterionPart:
    if tier is None:
        return unknown_part("location", "tier")
    return known_part(
        "location", "tier", settings.TIERS[tier], "tier", neighbourhood=neighbourhood, tier=tier
    )


@lru_cache(maxsize=PARTS_REMEMBERED)
def _metro(walk: MetroWalk | None) -> CriterionPart:
    """A range counts only where its ends are worth nearly the same, and then as the lower worth."""
    if walk is None:
        return unknown_part("location", "metro")
    best, worst = (
        between(minutes, settings.METRO_WORST_MINUTES, settings.METRO_BEST_MINUTES)
        for minutes in (walk.least, walk.most)
    )
    if walk.least == walk.most:
        return known_part("location", "metro", worst, "metro", minutes=walk.most)
    bounds = {"least": walk.least, "most": walk.most}
    if best - worst > settings.METRO_SAME_WORTH:
        return unknown_part("location", "metro", "metro_range", **bounds)
    return known_part("location", "metro", worst, "metro_range", **bounds)


def travel(profile: Profile, exact: Point | None, city: str | None, neighbourhood: str | None) -> Criterion:
    """Minutes to the buyer's own places, equally weighted; unknown if any is unknown or a wide range."""
    worths, ways = [], []
    for own_place in profile.places:
        way = travel_to(own_place.place, exact, (city, neighbourhood))
        if way is None:
            break
        best, worst = (
            between(minutes, settings.TRAVEL_WORST_MINUTES, settings.TRAVEL_BEST_MINUTES)
            for minutes in (way.least, way.most)
        )
        if best - worst > settings.METRO_SAME_WORTH:
            break
        worths.append(worst)
        ways.append(f"{own_place.name} {'–'.join(dict.fromkeys((str(way.least), str(way.most))))}")
    if not worths or len(worths) < len(profile.places):
        return weigh("travel", (unknown_part("travel", "places"),))
    worth = sum(worths) / len(worths)
    return weigh("travel", (known_part("travel", "places", worth, "places", ways=", ".join(ways)),))


def nearby(_profile: Profile, exact: Point | None, city: str | None, neighbourhood: str | None) -> Criterion:
    """Stop, supermarket and school on foot, the school's exam, and how far a big road is."""
    near = what_is_near(exact, (city, neighbourhood))
    walks = {"stop": near.stop, "shop": near.shop, "school": near.school}
    parts = [
        _ranged(name, walk and walk[:2], partial(between, worst=worst, best=best))
        for (name, walk), (worst, best) in zip(walks.items(), settings.NEARBY_MINUTES.values(), strict=True)
    ]
    worst, best = settings.EXAM_RANKS
    ranks = near.school.ranks if near.school else None
    parts.append(_ranged("exam", ranks, partial(between, worst=worst, best=best)))
    return weigh("nearby", (*parts, _road(near.road)))


def _ranged(name: str, bounds: tuple[int, int] | None, worth: Callable[[float], float]) -> CriterionPart:
    """A range counts only where its ends are worth nearly the same, and then as the lower worth."""
    if bounds is None or worth(bounds[0]) - worth(bounds[1]) > settings.METRO_SAME_WORTH:
        return unknown_part("nearby", name)
    text = "–".join(dict.fromkeys(map(str, bounds)))
    return known_part("nearby", name, worth(bounds[1]), name, told=text)


def _road(road: Road | None) -> CriterionPart:
    """Several possible classes count only where worth nearly the same, and then as the lowest."""
    if road is None:
        return unknown_part("nearby", "road")
    worths = settings.ROAD_VALUES[road.least : road.most + 1]
    if worths[-1] - worths[0] > settings.METRO_SAME_WORTH:
        return unknown_part("nearby", "road")
    classes = tuple(f"road_{name}" for name in ROAD_CLASSES[road.least : road.most + 1])
    return known_part("nearby", "road", worths[0], "road", told=classes)


def between(value: float, worst: float, best: float) -> float:
    """0 at the worst and beyond, 5 at the best and beyond, in between in proportion."""
    return settings.BEST * min(max((value - worst) / (best - worst), 0.0), 1.0)


def condition(profile: Profile, state: str | None, area_sqm: float | None) -> Criterion:
    """The condition; where it has to be renovated, against what the buyer would spend on it."""
    if state is None:
        part = unknown_part("condition", "condition")
    elif state in settings.CONDITIONS:
        part = known_part("condition", "condition", settings.CONDITIONS[state], "condition", condition=state)
    elif not (cost := renovation_band(profile, state, area_sqm)).exact:
        part = unknown_part("condition", "condition", "area_unknown", condition=state)
    else:
        budget = profile.renovation_eur
        worth = settings.RENOVATION_BEST * max(1 - cost.least / budget, 0.0) if budget else 0.0
        spent = {"cost": cost.least, "budget": budget}
        part = known_part("condition", "condition", worth, "renovation", condition=state, **spent)
    return weigh("condition", (part,))


def layout(
    profile: Profile,
    rooms: int | None,
    bathrooms: int | None,
    wc_separate: YesNo,
    orientation: Words,
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
def _rooms(rooms: int | None, wished: int) -> CriterionPart:
    if rooms is None:
        return unknown_part("layout", "rooms")
    worth = {0: settings.BEST, 1: settings.ROOM_SHORT}.get(max(wished - rooms, 0), 0.0)
    return known_part("layout", "rooms", worth, "rooms", rooms=rooms, wished=wished)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _bathrooms(bathrooms: int | None, wc_separate: YesNo, wished: int) -> CriterionPart:
    if bathrooms is None:
        return unknown_part("layout", "bathrooms")
    worth = {0: settings.BEST, 1: settings.BATHROOM_SHORT}.get(max(wished - bathrooms, 0), 0.0)
    worth = min(worth + (settings.SEPARATE_TOILET if wc_separate else 0.0), settings.BEST)
    say = "bathrooms_and_toilet" if wc_separate else "bathrooms"
    return known_part("layout", "bathrooms", worth, say, bathrooms=bathrooms, wished=wished)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _orientation(sides: Words, wished: Words) -> CriterionPart:
    """Words are compared whole: SW is neither S nor W."""
    if not sides or not wished:
        return unknown_part("layout", "orientation", None if wished else "orientation_not_wished")
    worth = settings.BEST if set(sides) & set(wished) else 0.0
    return known_part("layout", "orientation", worth, "orientation", sides=sides, wished=wished)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _area(area_net_sqm: float | None, wished: float) -> CriterionPart:
    if area_net_sqm is None:
        return unknown_part("layout", "area_net")
    worth = between(area_net_sqm, wished * settings.AREA_WORST_SHARE, wished)
    return known_part("layout", "area_net", worth, "area_net", area=area_net_sqm, wished=wished)


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
def _construction(construction: str | None) -> CriterionPart:
    if construction is None:
        return unknown_part("building", "construction")
    worth = settings.CONSTRUCTIONS[construction]
    return known_part("building", "construction", worth, "construction", construction=construction)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _year(year_built: int | None) -> CriterionPart:
    if year_built is None:
        return unknown_part("building", "year")
    worth = next(worth for since, worth in settings.YEARS if year_built >= since)
    return known_part("building", "year", worth, "year", year=year_built)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _act(act: str | None) -> CriterionPart:
    if act is None:
        return unknown_part("building", "act")
    return known_part("building", "act", settings.ACT_VALUES[ACTS.index(act)], "act", act=act)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _floor(floor: int | None, floors: int | None, elevator: YesNo, climb: int) -> CriterionPart:
    """A floor that may be the last counts as the last; no floor is worth more without an elevator."""
    if floor is None:
        return unknown_part("building", "floor")
    if floor > climb and elevator is None:
        return unknown_part("building", "floor", "elevator_unknown", floor=floor)
    if floor <= 0:
        worth = settings.GROUND_FLOOR
    else:
        worth = settings.BEST if elevator else settings.CLIMB if floor <= climb else 0.0
        if floors is None or floor == floors:
            worth = min(worth, settings.LAST_FLOOR)
    say = {True: "floor_and_elevator", False: "floor_without_elevator", None: "floor"}[elevator]
    return known_part("building", "floor", worth, say, floor=floor, floors=floors)


def extras(
    _profile: Profile,
    parking: Words,
    parking_status: str | None,
    storage: Words,
    has_balcony: YesNo,
    balconies: int | None,
    view: YesNo,
) -> Criterion:
    """Parking, storage, balcony, view. Counted balconies are there, whatever else is said."""
    balcony = _balcony(True if balconies else has_balcony)
    return weigh("extras", (_parking(parking, parking_status), _storage(storage), balcony, _view(view)))


@lru_cache(maxsize=PARTS_REMEMBERED)
def _parking(parking: Words, status: str | None) -> CriterionPart:
    if not parking:
        return unknown_part("extras", "parking")
    if status in settings.PARKING_NOT_INCLUDED:
        return known_part("extras", "parking", settings.PARKING_EXTRA, "parking_extra", parking=parking)
    worth = max(settings.PARKING[kind] for kind in parking)
    return known_part("extras", "parking", worth, "parking", parking=parking)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _storage(storage: Words) -> CriterionPart:
    if not storage:
        return unknown_part("extras", "storage")
    return known_part("extras", "storage", settings.BEST, "storage", storage=storage)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _balcony(has_balcony: YesNo) -> CriterionPart:
    if has_balcony is None:
        return unknown_part("extras", "balcony")
    worth, say = (settings.BEST, "balcony") if has_balcony else (0.0, "no_balcony")
    return known_part("extras", "balcony", worth, say)


@lru_cache(maxsize=PARTS_REMEMBERED)
def _view(view: YesNo) -> CriterionPart:
    return known_part("extras", "view", settings.BEST, "view") if view else unknown_part("extras", "view")


def has_view(features: Collection[str]) -> bool | None:
    """Whether the portal lists a view; that it lists none says nothing."""
    return True if any(feature.strip().lower() in settings.VIEW_FEATURES for feature in features) else None


def price(paid: Band | None, area_sqm: float | None, prices: Prices | None) -> Criterion:
    """The place of the price per m² among the neighbourhood's; the dearest that the flat may be counts."""
    if paid is None or paid.most is None:
        return _unknown_criterion("price", "place", "price_unknown" if paid is None else "price_from")
    if not area_sqm:
        return _unknown_criterion("price", "place", "area_unknown")
    if prices is None:
        return _unknown_criterion("price", "place", "too_few")
    eur_sqm = paid.most / area_sqm
    cheaper = prices.place(eur_sqm)
    values = {"eur_sqm": eur_sqm, "cheaper": cheaper, "flats": prices.flats}
    part = known_part("price", "place", settings.BEST * (1 - cheaper), f"place_{prices.scope}", **values)
    return weigh("price", (part,))


def rental(paid: Band | None, area_sqm: float | None, rents: Rents | None) -> Criterion:
    """The gross yield: a year's rent at what flats alike are let for, of the price."""
    if paid is None or not area_sqm:
        return _unknown_criterion("rental", "yield", "price_unknown")
    if paid.most is None:
        return _unknown_criterion("rental", "yield", "price_from")
    if rents is None:
        return _unknown_criterion("rental", "yield", "too_few")
    rent = rents.eur_sqm * area_sqm
    percent = rent * 12 / paid.most * 100
    worth = between(percent, settings.YIELD_WORST, settings.YIELD_BEST)
    part = known_part("rental", "yield", worth, "yield", percent=percent, rent=rent, flats=rents.flats)
    return weigh("rental", (part,))


@cache
def _unknown_criterion(criterion: str, part: str, say: str) -> Criterion:
    return weigh(criterion, (unknown_part(criterion, part, say),))
