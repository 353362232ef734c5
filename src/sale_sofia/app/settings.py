"""Limits of what the pages accept and show, each with its unit and reason."""

from typing import Final

YEAR_SECONDS: Final = 365 * 24 * 3600
"""How long a browser keeps its cookies, and files that never change."""
FORM_MOST_BYTES: Final = 200_000
"""A note of the longest kind, in Cyrillic, as a form writes it, with room to spare."""
OUTCOME_SECONDS: Final = 60
"""The outcome of a form is shown on the next page, or not at all."""
COOKIE_MOST_BYTES: Final = 3_500
"""Browsers drop a cookie of 4 096 bytes, its name and rules included."""
LOAN_MOST_SHARE: Final = 0.85
"""Share of the price that banks may lend on a home at most, by rule of the Bulgarian National Bank."""
WEIGHT_DIGITS: Final = 4
"""Digits of a tried weight: below ten thousand."""
CLUSTER_PIXELS: Final = 70
"""Flats closer than this on the screen are one cluster: a pin with its price is about as wide."""
PINS_FROM_ZOOM: Final = 13
"""Zoom from which single flats are drawn; below it, neighbourhoods."""
THOUSANDS_FROM_EUR: Final = 10_000
"""Prices from here on are in thousands on a pin; a rent has none."""
TENTHS_BELOW: Final = 100
"""Sums below this are shown with tenths: a rent is a few euros per m²."""
LONGEST_TEXT: Final = 20_000
"""Characters of a description that are shown; the longest honest ones have 6 000."""
LONGEST_CELL: Final = 1_000
"""Characters of a text in a table or an exported file."""
OWN_PLACE_MINUTES: Final = (10, 15, 20, 25, 30, 40, 50, 60)
"""Minutes to one of the buyer's own places that a search offers."""
CARDS_PER_PAGE: Final = 24
"""Cards that are drawn at once: four rows of a wide screen; the rest is a page further."""
LONGEST_MESSAGE: Final = 300
"""Characters of a message, an incident or an address in a row of a table."""
PAIRS_REVIEWED: Final = 200
"""Pairs waiting for an answer that are read at most."""
OFFERS_PER_PAGE: Final = 12
"""Flats that are cheaper elsewhere on one page: four rows of three."""
ANSWERS_KEPT: Final = 16
"""Cached results about all flats: those of a few people's last pages."""
ANSWER_SECONDS: Final = 60.0
"""Precision of time in such a result: days on the market change no sooner."""
COMPARED_MOST: Final = 6
"""Flats side by side: a seventh column cannot be read."""
COMPARED_LEAST: Final = 2
"""Flats to compare at least."""
VISIT_OVERLAP_SECONDS: Final = 300.0
"""How much further back a visit looks: what was fetched before the last one may be stored after it."""
LEAST_MEDIAN_FLATS: Final = 5
"""Flats of a neighbourhood that its median on the map needs."""
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
