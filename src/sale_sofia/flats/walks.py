"""How long the ways from a flat are: on foot to the metro, and by public transport to any place."""

import statistics
from typing import Literal, NamedTuple

from sale_sofia.flats.settings import METRES_PER_MINUTE
from sale_sofia.geography.metro import Walk, walk_from, walk_within
from sale_sofia.geography.settings import ONE_PLACE_METRES, SOFIA_METRES
from sale_sofia.geography.shapes import BUYERS_CENTRE, SOFIA_CENTRE, Place, Point, metres
from sale_sofia.geography.surroundings import Nearby, is_within
from sale_sofia.listings.places import SOFIA, find_neighbourhood

# The walk to the metro: from its exact place, else as adverts tell it, else from its area.

NOTHING_NEAR = Nearby(None, None, None, None)
"""Of a flat of which it is not known where it is."""
METRO_FACTS = ("metro_minutes", "metro_distance_m")


class MetroWalk(NamedTuple):
    """Minutes on foot to the nearest metro, from the least to the most that they can be."""

    least: float
    most: float
    source: Literal["position", "advert", "neighbourhood"]
    """From where that is known."""

    def within(self, minutes: float) -> bool | None:
        """Whether one is there in so many minutes; None where that is not sure."""
        return is_within(self.least, self.most, minutes)


def stated_minutes(minutes: float | None, metres: float | None) -> float | None:
    """How long the walk is as adverts tell it; of two that are told the longer one."""
    minutes_told = [minutes, None if metres is None else metres / METRES_PER_MINUTE]
    return max((stated for stated in minutes_told if stated is not None), default=None)


def walk_around(city: str | None, neighbourhood: str | None) -> Walk | None:
    """The walk from wherever in a neighbourhood of Sofia."""
    place = find_neighbourhood(neighbourhood) if neighbourhood and city == SOFIA else None
    return walk_within(place.id) if place else None


def metro_walk(
    exact: Point | None, stated: float | None, around: tuple[str | None, str | None]
) -> MetroWalk | None:
    """The walk by what is known best; `around` are the city and the neighbourhood."""
    if exact:
        return MetroWalk(*walk_from(exact), "position")
    if stated is not None:
        return MetroWalk(stated, stated, "advert")
    walk = walk_around(*around)
    return MetroWalk(*walk, "neighbourhood") if walk else None


def what_is_near(exact: Point | None, around: tuple[str | None, str | None]) -> Nearby:
    """By what is known best of where the flat is; `around` are the city and the neighbourhood."""
    from sale_sofia.geography.nearby import near_point, near_wherever  # noqa: PLC0415 - numpy, which no crawl needs

    if exact:
        return near_point(exact)
    city, neighbourhood = around
    place = find_neighbourhood(neighbourhood) if neighbourhood and city == SOFIA else None
    return (near_wherever(place.id) if place else None) or NOTHING_NEAR


# Minutes to a place by public transport, and what may be called a place.


class Travel(MetroWalk):
    """Minutes by public transport to a place, from the least to the most that they can be."""


def travel_to(place: Place, exact: Point | None, around: tuple[str | None, str | None]) -> Travel | None:
    """By what is known best of where the flat is; `around` are the city and the neighbourhood."""
    from sale_sofia.geography.travel import journeys_to, minutes_within  # noqa: PLC0415 - numpy

    if exact:
        minutes = journeys_to(place).from_point(exact)
        return None if minutes is None else Travel(round(minutes), round(minutes), "position")
    city, neighbourhood = around
    found = find_neighbourhood(neighbourhood) if neighbourhood and city == SOFIA else None
    far = minutes_within(found.id, place) if found else None
    return Travel(*far, "neighbourhood") if far else None


def find_place(text: str) -> Place | None:
    """A stop by its name or code, a neighbourhood's centre, or `latitude/longitude`; None: none of them.

    Coordinates may have a comma between them. Stops of one name far from each other are no place.
    """
    from sale_sofia.geography.travel import network  # noqa: PLC0415 - numpy, which no crawl needs

    if text.strip().casefold() == BUYERS_CENTRE.stops[0].casefold():
        return BUYERS_CENTRE
    stops = [network().timetable.points[stop] for stop in network().timetable.called(text.strip())]
    if stops:
        middle = Point(*(statistics.mean(degrees) for degrees in zip(*stops, strict=True)))
        if all(metres(stop, middle) <= ONE_PLACE_METRES for stop in stops):
            return Place(middle, (text.strip(),))
    found = find_neighbourhood(text)
    if found and found.lat is not None and found.lon is not None:
        return Place(Point(found.lat, found.lon))
    try:
        lat, lon = map(float, text.replace(",", "/").split("/"))
    except ValueError:
        return None
    return Place(Point(lat, lon)) if metres(Point(lat, lon), SOFIA_CENTRE) <= SOFIA_METRES else None
