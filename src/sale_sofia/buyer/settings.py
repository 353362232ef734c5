"""Limits of what the buyer writes and of how it is shown; each says its unit and why."""

from typing import Final

LONGEST_NOTE: Final = 10_000
"""Characters of a note: several pages; more is a file pasted by mistake."""
LONGEST_LINE: Final = 1_000
"""Characters of a reason, an address, a plus or a minus."""
LONGEST_WHO: Final = 80
"""Characters of the name of who wrote."""
LONGEST_SEARCH_NAME: Final = 60
"""Characters of the name of a saved search, as its column holds."""
MOST_RENOVATION_EUR: Final = 10_000_000
"""Euros: beyond it a digit too many was typed."""
VIEWING_MINUTES: Final = 30
"""How long a viewing takes when nobody says: what agents reckon with."""
MOST_VIEWING_MINUTES: Final = 24 * 60
"""A viewing ends within a day."""
FIRST_VIEWING_YEAR: Final = 2000
"""A viewing before it has a mistyped date."""
LAST_VIEWING_YEAR: Final = 2100
"""So has one after it."""
CALENDAR_LINE_OCTETS: Final = 75
"""Octets of a line of a calendar file, its end not counted (RFC 5545, 3.1)."""
LARGEST_ID: Final = 2**63 - 1
"""What the databases hold; no property has a larger id."""
MOST_PRICE_EUR: Final = 100_000_000
"""Euros: no flat of Sofia costs more."""
