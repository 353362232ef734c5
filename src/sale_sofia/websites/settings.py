"""Fixed limits of reading portals."""

from typing import Final

PROOF_MIN_LENGTH: Final = 6
"""Characters below which a portal's own mark could stand on anybody's page."""

REPAIR_LEAST_PAGES: Final = 3
"""On fewer right answers nothing is proposed."""
REPAIR_RIGHT_FOR_WRONG: Final = 10
"""Right answers that outweigh one other: an advert in a hundred is edited between two crawls."""
REPAIR_PROPOSALS: Final = 3
"""Selectors that are proposed for a field, the best first."""
