"""Limits of searches; each says its unit and why."""

from typing import Final

MOST_DAYS: Final = 36_500.0
"""Days that may be asked for: a hundred years is for ever."""
LOWEST_FLOOR: Final = -5
"""Below it nobody lives."""
HIGHEST_FLOOR: Final = 100
"""Above it nothing is built."""
FIRST_YEAR: Final = 1800
"""Of what stands in Sofia nothing that is sold is older."""
LAST_YEAR: Final = 2100
"""Nothing is announced for later."""
MANY_ROOMS: Final = 5
"""Portals count rooms up to here: five means five or more."""
MOST_BATHROOMS: Final = 10
"""Bathrooms that may be asked for."""
LONGEST_WORD: Final = 60
"""Characters of a word or a phrase that is looked for."""
LONGEST_PROFILE: Final = 80
"""Characters of a profile's name."""
READ_ALL_SHARE: Final = 0.3
"""From this share of all properties on, reading all of them once is quicker than picking some."""
SHOWN_FLATS: Final = 30
"""Flats that a search shows when not told otherwise; how many there are is always said."""
SHOWN_UNKNOWN: Final = 10
"""Of those of which something is not known, how many are shown beneath."""
