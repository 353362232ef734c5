"""The walk from a flat to the metro: from its exact place, else as adverts tell it, else from its area."""

from typing import Literal, NamedTuple

from sale_sofia.flats.settings import METRES_PER_MINUTE
from sale_sofia.geography.metro import Walk, walk_from, walk_within
from sale_sofia.geography.shapes import Point
from sale_sofia.listings.places import SOFIA, find_neighbourhood

METRO_FACTS = ("metro_minutes", "metro_distance_m")


class MetroWalk(NamedTuple):
    """Minutes on foot to the nearest metro, from the least to the most that they can be."""

    least: float
    most: float
    source: Literal["position", "advert", "neighbourhood"]
    """From where that is known."""

    def within(self, minutes: float) -> bool | None:
        """Whether one is there in so many minutes; None where that is not sure."""
        if self.most <= minutes:
            return True
        return None if self.least <= minutes else False


def told_minutes(minutes: float | None, metres: float | None) -> float | None:
    """How long the walk is as adverts tell it; of two that are told the longer one."""
    told = [minutes, None if metres is None else metres / METRES_PER_MINUTE]
    return max((one for one in told if one is not None), default=None)


def walk_around(city: str | None, neighbourhood: str | None) -> Walk | None:
    """The walk from wherever in a neighbourhood of Sofia."""
    place = find_neighbourhood(neighbourhood) if neighbourhood and city == SOFIA else None
    return walk_within(place.id) if place else None


def metro_walk(
    exact: Point | None, told: float | None, around: tuple[str | None, str | None]
) -> MetroWalk | None:
    """The walk by what is known best; `around` are the city and the neighbourhood."""
    if exact:
        return MetroWalk(*walk_from(exact), "position")
    if told is not None:
        return MetroWalk(told, told, "advert")
    walk = walk_around(*around)
    return MetroWalk(*walk, "neighbourhood") if walk else None
