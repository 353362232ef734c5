"""Limits of a probe; no environment variable sets them, each says its unit and why."""

from collections.abc import Mapping
from typing import Final

REQUESTS: Final = 7
"""What a portal is asked at most, robots.txt and redirects included: robots.txt, two pages of results, three
adverts, and one more for an advert that is gone or a redirect."""
ADVERTS: Final = 3
"""Adverts that are opened: one may be odd, three alike are a rule."""
ENOUGH_SHARE: Final = 2 / 3
"""Of the adverts opened, how many must have a field that matters: one of three may lack it."""
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "price": ("price_eur",),
    "area": ("area_sqm",),
    "place": ("neighbourhood", "city"),
    "type": ("property_type",),
}
"""What matters, and the facts of which one is enough for it."""
NAME_ONLY: Final = frozenset({"title", "family_id", "posted_at", "deal"})
"""Facts that an id, a head or an address gives away: an advert with nothing else was not read."""
PERSONAL: Final = frozenset({"phones", "seller_name"})
"""Facts of a person: a sample shows only that they are there, and what is kept leaves them out."""
FREE_TEXTS: Final = frozenset({"title", "description", "street", "features"})
"""Facts in a seller's own words, in which a telephone number may stand."""
TURN_SECONDS: Final = 120.0
"""Longest wait for a portal's turn: more than any Crawl-delay that a first look is worth waiting for."""
SAMPLE_CHARACTERS: Final = 40
"""Of a sample value: the table fits a terminal of 80 columns."""
START_CHARACTERS: Final = 60
"""Of a description that is kept: enough to tell it from another, no whole advert."""
