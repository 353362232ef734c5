"""Limits of what the pages show; each says its unit and why."""

from typing import Final

LONGEST_TITLE: Final = 160
"""Characters of a title on a card: two lines of a telephone."""
LONGEST_TEXT: Final = 20_000
"""Characters of a description that are shown; the longest honest ones have 6 000."""
LONGEST_ADDRESS: Final = 2_000
"""Characters of an address of a portal or a photo: longer ones are refused by browsers and proxies."""
LONGEST_CELL: Final = 1_000
"""Characters of a text in a table or an exported file."""
CARDS_PER_PAGE: Final = 24
"""Cards that are drawn at once: four rows of a wide screen; the rest is a page further."""
TABLE_ROWS: Final = 500
"""Rows of a table that are sent to the browser at once; how many there are is always said."""
MAP_POINTS: Final = 5_000
"""Points of a map: more than that nobody can tell apart, and a telephone cannot move."""
PROFILES_SCORED: Final = 6
"""Profiles whose scores of all flats the server keeps; each change that is saved makes another profile."""
LONGEST_MESSAGE: Final = 300
"""Characters of a message, an incident or an address in a row of a table."""
PAIRS_REVIEWED: Final = 200
"""Pairs that wait for an answer, as far as they are counted."""
OFFERS_PER_PAGE: Final = 12
"""Flats that are cheaper elsewhere on one page: four rows of three."""
VISIT_PAUSE_SECONDS: Final = 30 * 60.0
"""Who comes back sooner has not been away: what was new stays new for this long."""
FIRST_VISIT_SECONDS: Final = 7 * 24 * 3600.0
"""How far back the first visit looks: a week of adverts."""
COMPARED_MOST: Final = 6
"""Flats side by side: a seventh column cannot be read."""
COMPARED_LEAST: Final = 2
"""One flat is not compared with anything."""
VISIT_NOTED_SECONDS: Final = 60.0
"""How exactly the end of a visit is known: looks closer together are not written down."""
VISIT_OVERLAP_SECONDS: Final = 300.0
"""A visit looks back so much further: what was fetched before the last one may be stored after it."""
CARDS_PER_ROW: Final = 4
"""Cards beside each other on a wide screen; a narrow one puts them beneath each other."""
MAP_HEIGHT: Final = 560
"""Pixels: a map that leaves room for a headline on a laptop."""
NEAR_DIGITS: Final = 4
"""Decimals of a degree within which adverts count as at one point: about ten metres."""
LEAST_MEDIAN_FLATS: Final = 5
"""Flats of a neighbourhood from which on its median is shown on the map."""
LOAN_OWN_PERCENT: Final = 20
"""Per cent of all costs that the buyer has: banks lend up to 80."""
LOAN_PERCENT: Final = 2.8
"""Per cent of interest a year: what Bulgarian banks ask for a mortgage in euros in 2026."""
LOAN_PERCENTS: Final = (0.0, 15.0, 0.1)
"""Per cent of interest that can be tried: from, to, step."""
LOAN_YEARS: Final = 25
"""Years of a usual mortgage."""
PHOTOS_SHOWN: Final = 30
"""Photos of a flat that are shown: portals allow so many."""
WEIGHT_MOST: Final = 100
"""The most that a weight can be tried at; only their shares count."""
MAP_NAME_SIZE: Final = 12
"""Pixels: the height of letters on the map."""
MAP_NAME_GAP: Final = 2
"""Pixels that are left free around a name on the map."""
MAP_CENTRE: Final = (42.697, 23.322)
"""The middle of Sofia, where no flat says its place."""
MAP_ZOOMS: Final = (10.0, 12.5)
"""The widest and the nearest view at first: all of Sofia, and some neighbourhoods."""
MAP_NARROW: Final = 356
"""Pixels: the width of the map on a telephone."""
MAP_EDGE: Final = 60
"""Pixels that are left free around the outermost points."""
MAP_DOT: Final = 8
"""Pixels: half of what a flat's point covers."""
MAP_FEW_POINTS: Final = 300
"""Points that names are moved aside for; among more there is no place free."""
