"""Limits of what the pages take and show; each says its unit and why."""

from typing import Final

YEAR_SECONDS: Final = 365 * 24 * 3600
"""How long a browser keeps its cookies, and files that never change."""
FORM_MOST_BYTES: Final = 200_000
"""A note of the longest kind, in Cyrillic, as a form writes it, with room to spare."""
OUTCOME_SECONDS: Final = 60
"""What came of a form is said on the next page, or not at all."""
LOAN_MOST_SHARE: Final = 0.85
"""Of the price: more than that banks may not lend on a home, by the rule of the Bulgarian National Bank."""
WEIGHT_DIGITS: Final = 4
"""A weight that is tried is below ten thousand."""
CLUSTER_PIXELS: Final = 70
"""Flats closer than this on the screen are one cluster: a pin with its price is about as wide."""
PINS_FROM_ZOOM: Final = 13
"""From here on single flats are drawn; further away their neighbourhoods."""
LONGEST_TITLE: Final = 160
"""Characters of a title on a card: two lines of a telephone."""
LONGEST_TEXT: Final = 20_000
"""Characters of a description that are shown; the longest honest ones have 6 000."""
LONGEST_ADDRESS: Final = 2_000
"""Characters of an address of a portal or a photo: longer ones are refused by browsers and proxies."""
LONGEST_CELL: Final = 1_000
"""Characters of a text in a table or an exported file."""
OWN_PLACE_MINUTES: Final = (10, 15, 20, 25, 30, 40, 50, 60)
"""Minutes to one of the buyer's own places that a search offers."""
CARDS_PER_PAGE: Final = 24
"""Cards that are drawn at once: four rows of a wide screen; the rest is a page further."""
LONGEST_MESSAGE: Final = 300
"""Characters of a message, an incident or an address in a row of a table."""
PAIRS_REVIEWED: Final = 200
"""Pairs that wait for an answer, as far as they are counted."""
OFFERS_PER_PAGE: Final = 12
"""Flats that are cheaper elsewhere on one page: four rows of three."""
ANSWERS_KEPT: Final = 16
"""Answers to questions about all flats that the server remembers: those of a few people's last pages."""
ANSWER_SECONDS: Final = 60.0
"""How exactly such an answer knows the time: days on the market move no sooner."""
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
ERRAND_STOP_SECONDS: Final = 5.0
"""Time that a crawl which was started from a page has to put down where it is, when the server ends."""
PAGES_KEPT_OFFLINE: Final = 60
"""Pages that a browser keeps for when there is no network: those of a day of looking at flats."""
PHOTOS_ON_CARD: Final = 5
"""Photos of a flat that can be swiped through on its card."""
CONDITIONS_ON_CARD: Final = 2
"""Conditions that are named on a card of those that fail, or are not known; the rest is counted."""
PHOTOS_SHOWN: Final = 30
"""Photos of a flat that are shown: portals allow so many."""
PHOTOS_SHARED: Final = 12
"""Photos of a flat that is shown to others: enough to know it by; the portal has the rest."""
PAPER_DPI: Final = 150
"""Dots per inch of a sheet: text is sharp in print, and the file small enough for any mail."""
PAPER_OFFERS: Final = 6
"""Adverts of a flat on its sheet, the cheapest first."""
PAPER_CHARACTERS: Final = 4_000
"""Characters of a description that could fit a sheet; the rest is not laid out."""
COMPARED_PLACES: Final = 15
"""Neighbourhoods whose prices are drawn beside each other: what fits a screen; the table has all."""
CHANGES_SHOWN: Final = 30
"""The last changes of what the household shares, on the page of its people."""
