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
POLYGON_MOST_POINTS: Final = 100
"""Corners of an area that somebody draws: more than a finger taps, and short enough for an address."""
POLYGON_LEAST_SQUARE_METRES: Final = 1_000.0
"""A smaller area is a slip of the finger: a house with its yard is as large."""
BORDER_METRES: Final = 30.0
"""How exactly borders are drawn: shipped corners are moved by 10 m at most, and a finger is no finer. A
neighbourhood that reaches no further than this out of an area, or into it, does not."""
NEAR_MOST_METRES: Final = SOFIA_METRES
"""A circle around a point reaches no farther than Sofia does."""
NEARBY_KNOWN_METRES: Final = 3_000.0
"""Farther from all schools or shops that are known, the data does not cover a place: the shops are those of
six chains and the schools most of the public ones, and a village has others."""
NEAR_STOP_METRES: Final = 400.0
"""As the crow flies: lines of stops no farther than this are those of a flat."""
ROAD_CLASS_METRES: Final = (50.0, 150.0, 300.0)
"""Up to so far a big road is beside, near and close; beyond it is far. Both sides of a road are one line."""
ATTRIBUTION: Final = "© OpenStreetMap contributors (ODbL) · Център за градска мобилност (CC BY 4.0)"
"""What the licences of the data ask to stand in files that hold its values; a map says it in words."""
FILES: Final = "sale_sofia.geography"
"""The package whose folder `data` holds what is shipped, apart by licence."""
IMPORTED_FOLDER: Final = "imported"
"""In DATA_DIR: places of the user's own, which stand for the shipped ones."""
GEOJSON_MOST_BYTES: Final = 20_000_000
"""All buildings of Sofia would be more; its neighbourhoods are 120 KB."""
GEOJSON_MOST_FEATURES: Final = 5_000
GEOJSON_MOST_CORNERS: Final = 200_000
"""Of all areas together: they are looked through whenever a place is."""
AREA_REACH_METRES: Final = 60_000.0
"""How far from the centre an area may reach: the mountains of Панчарево are 40 km away."""
AREA_FROM_CENTRE_METRES: Final = 3_000.0
"""An area that is farther from the centre of its neighbourhood is that of another place."""
FAULTS_SHOWN: Final = 20
"""Sentences about one file: who has mended so many sees the others."""
GTFS_MOST_BYTES: Final = 1_000_000_000
"""Of the tables of a timetable, unpacked: those of Sofia are some hundred million."""
GTFS_MOST_GROWTH: Final = 100
"""A table unpacks to so many times its size at most: times and numbers reach 15. More is a trap."""
GTFS_MOST_ROWS: Final = 20_000_000
"""Of one table."""
GTFS_MOST_DAYS: Final = 400
"""Days of a timetable that are looked at for a working day: calendars reach a year ahead."""
MORNING_MINUTES: Final = (390, 630)
"""Minutes after midnight within which trips leave: 06:30 to 10:30."""
RUSH_MINUTES: Final = (450, 570)
"""07:30 to 09:30: the trips whose median says how long a line takes."""
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
