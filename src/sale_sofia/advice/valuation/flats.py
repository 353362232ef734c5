"""Which flats a fair price rests on, and for which flats there can be one."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.advice import settings as fixed
from sale_sofia.advice.scoring.settings import COMPARED_TYPES
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import asked_eur_sqm, vat_due
from sale_sofia.flats.settings import ACTS
from sale_sofia.geography.settings import SOFIA_METRES
from sale_sofia.geography.shapes import SOFIA_CENTRE, Point, metres
from sale_sofia.listings.places import SOFIA, find_neighbourhood, neighbourhoods

_REASONS: Final[Mapping[str, str]] = {
    "deal": "only flats for sale have a fair price here",
    "type": "it is not known to be a flat",
    "city": "it is not known to be in Sofia",
    "conflict": "its adverts contradict each other about the place",
    "place": "its neighbourhood is not known",
    "area": "its area is not known",
    "odd_area": "its area is not one of a flat",
}


class TooFewFlats(ValueError):
    """There are not enough flats for a fair price; the text says how many are needed."""

    def __init__(self, count: int, needed: int) -> None:
        super().__init__(
            f"{count} flats with a price, an area and a place are known, "
            f"and {needed} are needed (VALUATION_LEAST_FLATS)"
        )
        self.count = count
        self.needed = needed


def log_eur_sqm(flat: Flat) -> float:
    """The logarithm of `asked_eur_sqm`. Raises ValueError for a flat without one."""
    eur_sqm = asked_eur_sqm(flat)
    if eur_sqm is None:
        raise ValueError(f"flat {flat.property_id} has no price for each m²")
    return math.log(eur_sqm)


def why_not_valued(flat: Flat) -> str | None:
    """Why there can be no fair price for this flat, in a sentence; None when there can."""
    reason = not_valued_for(flat)
    return _REASONS[reason] if reason else None


def not_valued_for(flat: Flat) -> str | None:
    """The same reason as its name."""
    area = flat.area_sqm
    reasons = {
        "deal": flat.deal != "sale",
        "type": flat.property_type not in COMPARED_TYPES,
        "city": flat.city != SOFIA,
        "conflict": "place_conflict" in flat.flags,
        "place": flat.neighbourhood is None and flat.lat is None,
        "area": area is None,
        "odd_area": not fixed.LEAST_AREA_SQM <= (area or 0.0) <= fixed.MOST_AREA_SQM,
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def comparable_flats(flats: Iterable[Flat], *, seen_since: float, most: int) -> list[Flat]:
    """The flats to compare with: those with a usual price, seen since then; of too many the newest."""
    usable = [flat for flat in flats if flat.last_seen_at >= seen_since and is_comparable(flat)]
    newest = sorted(usable, key=lambda flat: (-flat.last_seen_at, flat.property_id))[:most]
    return sorted(newest, key=lambda flat: flat.property_id)


def is_comparable(flat: Flat) -> bool:
    """Whether its price says something about the market."""
    eur_sqm = asked_eur_sqm(flat)
    return (
        why_not_valued(flat) is None
        and fixed.DISTORTED.isdisjoint(flat.traps)
        and eur_sqm is not None
        and fixed.LEAST_EUR_SQM <= eur_sqm <= fixed.MOST_EUR_SQM
    )


# A flat as numbers for the fair-price model. Unknown facts are `UNKNOWN`, which no real value is.

Matrix = NDArray[np.float32]

UNKNOWN: Final = -100.0
"""Below every value, and no floor: a basement is -1."""
_CONDITIONS: Final = ("needs_renovation", "bare", "good", "renovated", "turnkey", "new")
_FURNISHINGS: Final = ("unfurnished", "optional", "partially", "furnished")
_CONSTRUCTIONS: Final = ("panel", "prefab", "pk", "epk", "beam", "concrete", "brick", "monolith")
_HEATINGS: Final = ("district", "gas", "electric")
_SOUTH: Final = frozenset({"S", "SE", "SW"})


def matrix(flats: Iterable[Flat]) -> Matrix:
    """A row for each flat."""
    return np.array([features(flat) for flat in flats], np.float32)


def features(flat: Flat) -> list[float]:
    """What the price is judged by: size, height, place, building, papers, state and comfort."""
    area, rooms, floor, floors = flat.area_sqm or 0.0, flat.rooms, flat.floor, flat.floors_total
    has_height = floor is not None and bool(floors)
    place = place_of(flat)
    return [
        math.log(area) if area else UNKNOWN,
        _number(rooms),
        area / rooms if area and rooms else UNKNOWN,
        _number(flat.bedrooms),
        _number(flat.bathrooms),
        float(flat.property_type == "maisonette"),
        _number(floor),
        _number(floors),
        (floor or 0) / (floors or 1) if has_height else UNKNOWN,
        float((floor or 0) >= (floors or 1)) if has_height else UNKNOWN,
        _number(flat.elevator),
        *((place.lat, place.lon, metres(place, SOFIA_CENTRE) / 1000) if place else (UNKNOWN,) * 3),
        _number(flat.metro_distance_m),
        _rank(flat.construction, _CONSTRUCTIONS),
        _number(flat.year_built),
        _rank(flat.act_status, ACTS),
        _number(flat.under_construction),
        _number(vat_due(flat)),
        _rank(flat.condition, _CONDITIONS),
        _rank(flat.furnishing, _FURNISHINGS),
        *(float(kind in flat.heating) if flat.heating else UNKNOWN for kind in _HEATINGS),
        float(not _SOUTH.isdisjoint(flat.orientation)) if flat.orientation else UNKNOWN,
        _number(flat.has_balcony),
        float(bool(flat.parking)),
    ]


def _number(value: float | None) -> float:
    return UNKNOWN if value is None else float(value)


def _rank(value: str | None, order: tuple[str, ...]) -> float:
    return float(order.index(value)) if value in order else UNKNOWN


def place_of(flat: Flat) -> Point | None:
    """The most exact place that is known: the flat's own, its neighbourhood's or its district's."""
    if flat.lat is not None and flat.lon is not None:
        own = Point(flat.lat, flat.lon)
        if metres(own, SOFIA_CENTRE) <= SOFIA_METRES:
            return own
    area = find_neighbourhood(flat.neighbourhood) if flat.neighbourhood else None
    if area and area.lat is not None and area.lon is not None:
        return Point(area.lat, area.lon)
    district = (area and area.district) or flat.district
    return _district_centres().get(district) if district else None


@cache
def _district_centres() -> dict[str, Point]:
    """By district: the mean of the known centres of its neighbourhoods."""
    centres: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for area in neighbourhoods():
        if area.district and area.lat is not None and area.lon is not None:
            centres[area.district].append((area.lat, area.lon))
    return {
        name: Point(*(sum(degrees) / len(points) for degrees in zip(*points, strict=True)))
        for name, points in centres.items()
    }
