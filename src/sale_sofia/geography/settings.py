"""Constants of the gazetteer and of walks through the city."""

from typing import Final

METRES_PER_DEGREE: Final = (111_200.0, 81_800.0)
"""Of latitude and of longitude in Sofia; flat enough for one city."""
FILES: Final = "sale_sofia.geography"
"""The package whose folder `data` holds what is shipped, apart by licence."""
