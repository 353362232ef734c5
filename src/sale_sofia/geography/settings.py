"""Constants of the gazetteer and of walks through the city."""

from typing import Final

METRES_PER_DEGREE: Final = (111_200.0, 81_800.0)
"""Of latitude and of longitude in Sofia; flat enough for one city."""
CENTRE: Final = (42.6977, 23.3219)
"""Latitude and longitude of the square of St Nedelya, from which distances in Sofia are told."""
SOFIA_METRES: Final = 35_000.0
"""Coordinates farther from the centre than any village of the municipality are a mistake, and not used."""
WALK_DETOUR: Final = 1.25
"""How much longer one walks than the crow flies."""
WALK_METRES_PER_MINUTE: Final = 75.0
SAMPLE_METRES: Final = 50.0
"""How far apart the points of a neighbourhood are from which walks are worked out."""
ATTRIBUTION: Final = "© OpenStreetMap contributors (ODbL) · Център за градска мобилност (CC BY 4.0)"
"""What the licences of the data ask to stand in files that hold its values; a map says it in words."""
FILES: Final = "sale_sofia.geography"
"""The package whose folder `data` holds what is shipped, apart by licence."""
TIMETABLE: Final = "cc-by/timetable.json.gz"
"""A weekday morning of all lines, in the folder `data`."""
TRANSFER_METRES: Final = 400.0
"""So far, as the crow flies, one walks between stops, to the first of them and from the last."""
FAR_STOP_METRES: Final = 2_000.0
"""Where no stop so near leads to the place, one walks to any that is not farther than this."""
LONGEST_WALK_MINUTES: Final = 60.0
"""Farther than this nobody walks all the way."""
BOARDING_MINUTES: Final = 1.0
"""What one has to be early at a stop where one changes."""
DEPARTURES: Final = (-45, -40, -35, -30, -25, -20, -15)
"""When one leaves, in minutes from the moment one has to be there; the average of all of them counts."""
ARRIVE_BY: Final = 9 * 60
ARRIVE_BETWEEN: Final = (7 * 60 + 30, 9 * 60 + 30)
"""The minutes of the day that a place may ask for; the timetable is that of 06:30 to 10:30."""
MOST_RIDES: Final = 6
"""In one journey; with more nobody in Sofia is there sooner."""
TRAVEL_SAMPLE_METRES: Final = 200.0
"""How far apart the points of a neighbourhood are from which journeys are worked out."""
ONE_PLACE_METRES: Final = 500.0
"""Stops of one name are one place if none is farther from their middle."""
CENTRE_PLACE: Final = ((42.69803, 23.32035), ("Сердика", "Сердика II"))
"""The middle of the city as minutes to it are told: a point, and the stops that count as it."""
