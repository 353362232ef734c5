"""Of what market figures are made; no environment variable sets these."""

from typing import Final

LARGEST_ROOMS: Final = 5
"""Rooms from which on flats are counted together, as the portals do."""
STILL_THERE_DAYS: Final = (30, 60, 90)
"""Days after which it is told how many flats are still offered."""
ROUNDING: Final = 1e-9
"""A share that is a half but for rounding is a half."""
EVENTS_AT_ONCE: Final = 5_000
"""Rows of the history that are fetched from the database in one go."""
MARKET_LISTED: Final = 40
"""Lines of `market` for people; JSON has all of them."""
