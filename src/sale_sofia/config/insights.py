"""Limits of scores, market figures and fair prices that nobody has to set."""

from typing import Final

ADVERTS_AT_ONCE: Final = 2_000
"""Adverts that are fetched from the database in one go: few enough to hold, many enough to be quick."""

MEMORY_SPARED: Final = 200_000_000
"""Bytes under a limit on the process's memory that flats do not take: of pages each thread needs 8 MB."""

MEMORY_LOOKED_AT: Final = 500
"""After so many flats it is looked at again; they need some 5 MB."""

PHOTOS_REMEMBERED: Final = 1
"""Photos of each flat that are kept in memory: a card shows one, and a flat's own page reads all of them."""

LISTS_REMEMBERED: Final = 20_000
"""Short lists ("south, east") that are decoded once; most adverts share a few hundred of them."""

REREAD_SHARE: Final = 0.2
"""When more than this share of all flats changed, reading all of them is quicker than asking for each."""

LATE_COMMIT_SECONDS: Final = 900.0
"""What was noted so many seconds ago may still come to be committed: no transaction takes longer."""

LATE_COMMIT_ROWS: Final = 5_000
"""A row's number may be committed after numbers that are higher by so many, where several write at once."""

PARTS_REMEMBERED: Final = 10_000
"""Parts of scores of each kind that are made once; there are fewer different floors, years or walks."""

SCORES_AT_ONCE: Final = 5_000
"""Scores that are written in one transaction: a crawl that writes meanwhile waits for no more."""

SCORES_SHOWN: Final = 20
"""Flats that `sale-sofia score` lists unless told otherwise."""

INCIDENT_SITE: Final = "scores"
"""Under this name incidents of scoring stand, in the place of a portal's."""
LEAST_SAVING_EUR: Final = 1.0
"""Euros by which an offer is cheaper than another; cents are the rounding of a portal."""
