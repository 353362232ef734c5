"""Minutes from a flat to a place by public transport, and what may be called a place."""

import statistics

from sale_sofia.flats.walks import MetroWalk
from sale_sofia.geography.settings import ONE_PLACE_METRES, SOFIA_METRES
from sale_sofia.geography.shapes import SOFIA_CENTRE, Point, metres
from sale_sofia.geography.travel import CENTRE, Place, journeys_to, minutes_within, network
from sale_sofia.listings.places import SOFIA, find_neighbourhood


class Travel(MetroWalk):
    """Minutes by public transport to a place, from the least to the most that they can be."""


def travel_to(place: Place, exact: Point | None, around: tuple[str | None, str | None]) -> Travel | None:
    """By what is known best of where the flat is; `around` are the city and the neighbourhood."""
    if exact:
        minutes = journeys_to(place).from_point(exact)
        return None if minutes is None else Travel(round(minutes), round(minutes), "position")
    city, neighbourhood = around
    found = find_neighbourhood(neighbourhood) if neighbourhood and city == SOFIA else None
    far = minutes_within(found.id, place) if found else None
    return Travel(*far, "neighbourhood") if far else None


def find_place(text: str) -> Place | None:
    """A stop by its name or code, a neighbourhood's centre, or `latitude/longitude`; None: none of them.

    Stops of one name far from each other are no place.
    """
    if text.strip().casefold() == CENTRE.stops[0].casefold():
        return CENTRE
    stops = [network().timetable.points[stop] for stop in network().timetable.called(text.strip())]
    if stops:
        middle = Point(*(statistics.mean(degrees) for degrees in zip(*stops, strict=True)))
        if all(metres(stop, middle) <= ONE_PLACE_METRES for stop in stops):
            return Place(middle, (text.strip(),))
    found = find_neighbourhood(text)
    if found and found.lat is not None and found.lon is not None:
        return Place(Point(found.lat, found.lon))
    return _at_coordinates(text)


def _at_coordinates(text: str) -> Place | None:
    try:
        lat, lon = map(float, text.split("/"))
    except ValueError:
        return None
    return Place(Point(lat, lon)) if metres(Point(lat, lon), SOFIA_CENTRE) <= SOFIA_METRES else None
