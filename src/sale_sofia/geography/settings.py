"""Constants of the gazetteer and of walks through the city."""

from typing import Final

METRES_PER_DEGREE: Final = (111_200.0, 81_800.0)
"""Of latitude and of longitude in Sofia; flat enough for one city."""
CENTRE: Final = (42.6977, 23.3219)
"""Latitude and longitude of St Nedelya Square, from which distances in Sofia are measured."""
SOFIA_METRES: Final = 35_000.0
"""Coordinates farther from the centre than any village of the municipality are wrong, and not used."""
WALK_DETOUR: Final = 1.25
"""How much longer a walk is than the straight line."""
WALK_METRES_PER_MINUTE: Final = 75.0
SAMPLE_METRES: Final = 50.0
"""The distance of the points of a neighbourhood from which walks are computed."""
POLYGON_MOST_POINTS: Final = 100
"""Most corners of a drawn area: more than a finger taps, and short enough for a URL."""
POLYGON_LEAST_SQUARE_METRES: Final = 1_000.0
"""A smaller area is a slip of the finger: a house with its yard is as large."""
BORDER_METRES: Final = 30.0
"""How exact borders are: shipped corners are moved by 10 m at most, and a finger is no finer. A neighbourhood
that reaches no farther than this out of an area, or into it, counts as not doing so."""
NEAR_MOST_METRES: Final = SOFIA_METRES
"""A circle around a point reaches no farther than Sofia does."""
NEARBY_KNOWN_METRES: Final = 3_000.0
"""Farther than this from all known schools, shops or stops, the data does not cover a place: the shops are
those of six chains, the schools most of the public ones and the stops those of the city, and a village has
others."""
NEAR_STOP_METRES: Final = 400.0
"""Straight-line distance within which the lines of stops are those of a flat."""
ROAD_CLASS_METRES: Final = (50.0, 150.0, 300.0)
"""Limits for a big road to be beside, near and close; beyond it is far. Both sides of a road are one line."""
ATTRIBUTION: Final = "© OpenStreetMap contributors (ODbL) · Център за градска мобилност (CC BY 4.0)"
"""What the licences require in files with the data; a map says it in words."""
FILES: Final = "sale_sofia.geography"
"""The package whose folder `data` has the shipped files, separated by licence."""
IMPORTED_FOLDER: Final = "imported"
"""The folder in DATA_DIR with the user's own places, which replace the shipped ones."""
GEOJSON_MOST_BYTES: Final = 20_000_000
"""All buildings of Sofia would be more; its neighbourhoods are 120 KB."""
GEOJSON_MOST_FEATURES: Final = 5_000
GEOJSON_MOST_CORNERS: Final = 200_000
"""Of all areas together: every lookup of a place goes through them."""
AREA_REACH_METRES: Final = 60_000.0
"""How far from the centre an area may reach: the mountains of Панчарево are 40 km away."""
AREA_FROM_CENTRE_METRES: Final = 3_000.0
"""An area farther than this from the centre of its neighbourhood belongs to another place."""
FAULTS_SHOWN: Final = 20
"""Most faults shown for one file; the others appear once these are fixed."""
GTFS_MOST_BYTES: Final = 1_000_000_000
"""Size of all tables of a timetable, unpacked: those of Sofia have some hundred million."""
GTFS_MOST_GROWTH: Final = 100
"""Highest compression ratio of a table: times and numbers reach 15. More is a zip bomb."""
GTFS_MOST_ROWS: Final = 20_000_000
"""Of one table."""
MORNING_MINUTES: Final = (390, 630)
"""Minutes after midnight within which trips leave: 06:30 to 10:30."""
RUSH_MINUTES: Final = (450, 570)
"""07:30 to 09:30: the trips whose median gives the travel times of a line."""
TIMETABLE: Final = "cc-by/timetable.json.gz"
"""A weekday morning of all lines, in the folder `data`."""
TRANSFER_METRES: Final = 400.0
"""Longest straight-line walk between stops, to the first of them and from the last."""
FAR_STOP_METRES: Final = 2_000.0
"""Longest straight-line walk to the first stop if no nearer stop reaches the place."""
LONGEST_WALK_MINUTES: Final = 60.0
"""The longest journey on foot alone."""
BOARDING_MINUTES: Final = 1.0
"""Time to allow at a stop for a change."""
DEPARTURES: Final = (-45, -40, -35, -30, -25, -20, -15)
"""Departures in minutes relative to the time of arrival; the result is their average."""
ARRIVE_BY: Final = 9 * 60
ARRIVE_BETWEEN: Final = (7 * 60 + 30, 9 * 60 + 30)
"""Allowed times of arrival, in minutes of the day; the timetable covers 06:30 to 10:30."""
MOST_RIDES: Final = 6
"""Most rides in one journey; in Sofia more are never faster."""
TRAVEL_SAMPLE_METRES: Final = 200.0
"""The distance of the points of a neighbourhood from which journeys are computed."""
ONE_PLACE_METRES: Final = 500.0
"""Stops of one name are one place if none is farther than this from their middle."""
CENTRE_PLACE: Final = ((42.69803, 23.32035), ("Сердика", "Сердика II"))
"""The city centre for travel times: a point, and the stops that count as it."""
