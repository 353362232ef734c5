"""Limits of what the pages take and show; each says its unit and why."""

from typing import Final

YEAR_SECONDS: Final = 365 * 24 * 3600
"""How long a browser keeps its cookies, and files that never change."""
FORM_MOST_BYTES: Final = 200_000
"""A note of the longest kind, in Cyrillic, as a form writes it, with room to spare."""
SAID_SECONDS: Final = 60
"""What came of a form is said on the next page, or not at all."""
LOAN_MOST_SHARE: Final = 0.85
"""Of the price: more than that banks may not lend on a home, by the rule of the Bulgarian National Bank."""
WEIGHT_DIGITS: Final = 4
"""A weight that is tried is below ten thousand."""
CLUSTER_PIXELS: Final = 70
"""Flats closer than this on the screen are one cluster: a pin with its price is about as wide."""
PINS_FROM_ZOOM: Final = 13
"""From here on single flats are drawn; further away their neighbourhoods."""
