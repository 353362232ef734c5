"""Travel times from a flat: on foot to the metro, and by public transport to any place."""

import statistics
from typing import Literal, NamedTuple

from sale_sofia.flats.settings import METRES_PER_MINUTE
from sale_sofia.geography.metro import Walk, walk_from, walk_within
from sale_sofia.geography.settings import ONE_PLACE_METRES, SOFIA_METRES
from sale_sofia.geography.shapes import BUYERS_CENTRE, SOFIA_CENTRE, Destination, Point, metres
from sale_sofia.geography.surroundings import Nearby, is_within
from sale_sofia.listings.places import SOFIA, Neighbourhood, find_neighbourhood

# The walk to the metro: from its exact place, else as adverts state it, else from its area.

NOTHING_NEAR = Nearby(None, None, None, None)
"""For a flat whose place is unknown."""
METRO_FACTS = ("metro_minutes", "metro_distance_m")


class MetroWalk(NamedTuple):
    """The range of possible minutes on foot to the nearest metro."""

    least: float
    most: float
    source: Literal["position", "advert", "neighbourhood"]
    """Where that comes from."""

    def within(self, minutes: float) -> bool | None:
        """Whether it takes at most so many minutes; None if uncertain."""
        return is_within(self.least, self.most, minutes)


def stated_minutes(minutes: float | None, metres: float | None) -> float | None:
    """The walk in minutes as adverts state it, by minutes or metres; the longer of the two."""
    both = [minutes, None if metres is None else metres / METRES_PER_MINUTE]
    return max((stated for stated in both if stated is not None), default=None)


def walk_around(city: str | None, neighbourhood: str | None) -> Walk | None:
    """The walk from anywhere in a neighbourhood of Sofia."""
    place = _find_in_sofia(city, neighbourhood)
    return walk_within(place.id) if place else None


def _find_in_sofia(city: str | None, neighbourhood: str | None) -> Neighbourhood | None:
    return find_neighbourhood(neighbourhood) if neighbourhood and city == SOFIA else None


def metro_walk(
    exact: Point | None, stated: float | None, around: tuple[str | None, str | None]
) -> MetroWalk | None:
    """The walk by the best source; `around` are the city and the neighbourhood."""
    if exact:
        return MetroWalk(*walk_from(exact), "position")
    if stated is not None:
        return MetroWalk(stated, stated, "advert")
    walk = walk_around(*around)
    return MetroWalk(*walk, "neighbourhood") if walk else None


def what_is_near(exact: Point | None, around: tuple[str | None, str | None]) -> Nearby:
    """What is near, by the best source of the place; `around` are the city and the neighbourhood."""
    place = None if exact else _find_in_sofia(*around)
    if not exact and not place:
        return NOTHING_NEAR
    from sale_sofia.geography.nearby import near_point, near_wherever  # noqa: PLC0415 - numpy, which no crawl needs

    if exact:
        return near_point(exact)
    return (near_wherever(place.id) if place else None) or NOTHING_NEAR


# Minutes to a place by public transport, and what counts as a place.


class Travel(MetroWalk):
    """The range of possible minutes by public transport to a place."""


def travel_to(
    place: Destination, exact: Point | None, around: tuple[str | None, str | None]
) -> Travel | None:
    """The travel time by the best source of the place; `around` are the city and the neighbourhood."""
    from sale_sofia.geography.travel import journeys_to, minutes_within  # noqa: PLC0415 - numpy

    if exact:
        minutes = journeys_to(place).from_point(exact)
        return None if minutes is None else Travel(round(minutes), round(minutes), "position")
    start = _find_in_sofia(*around)
    far = minutes_within(start.id, place) if start else None
    return Travel(*far, "neighbourhood") if far else None


def find_place(text: str) -> Destination | None:
    """A stop by its name or code, a neighbourhood's centre, or `latitude/longitude`; None: none of them.

    Coordinates may be separated by a comma. Stops of one name that are far apart are no place.
    """
    from sale_sofia.geography.travel import network  # noqa: PLC0415 - numpy, which no crawl needs

    if text.strip().casefold() == BUYERS_CENTRE.stops[0].casefold():
        return BUYERS_CENTRE
    stops = [network().timetable.points[stop] for stop in network().timetable.called(text.strip())]
    if stops:
        middle = Point(*(statistics.mean(degrees) for degrees in zip(*stops, strict=True)))
        if all(metres(stop, middle) <= ONE_PLACE_METRES for stop in stops):
            return Destination(middle, (text.strip(),))
    found = find_neighbourhood(text)
    if found and found.lat is not None and found.lon is not None:
        return Destination(Point(found.lat, found.lon))
    try:
        lat, lon = map(float, text.replace(",", "/").split("/"))
    except ValueError:
        return None
    return Destination(Point(lat, lon)) if metres(Point(lat, lon), SOFIA_CENTRE) <= SOFIA_METRES else None
