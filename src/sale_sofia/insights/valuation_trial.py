"""The fair-price model tried on a table of adverts in a file: how well it would tell their prices."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sale_sofia.config.settings import Settings
from sale_sofia.insights.valuation import enough
from sale_sofia.insights.valuation_error import Judged, fit_and_judge, judge_apart, neighbourhood_of
from sale_sofia.insights.valuation_file import read_file
from sale_sofia.insights.valuation_flats import known_flats


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it."""

    flats: int
    """Flats in the file; those with a price, an area and a place are judged."""
    judged: Judged
    elsewhere: Judged | None
    """With whole neighbourhoods left out; None where the file has too few of them."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "flats": self.flats,
            **self.judged.as_json(),
            "neighbourhoods_left_out": self.elsewhere and self.elsewhere.as_json(),
            "seconds": round(self.seconds, 1),
        }


def try_file(path: Path, settings: Settings) -> Trial:
    """Match the adverts, fit and judge, each flat by a forest that has not seen it.

    Raises:
        AdvertsFileError: the file is no table of adverts.
        TooFewFlats: it has too few flats with a price, an area and a place.
    """
    started = time.perf_counter()
    flats = read_file(path, settings)
    known = enough(known_flats(flats, seen_since=0.0, most=settings.valuation_most_flats), settings)
    judged, elsewhere = fit_and_judge(known), judge_apart(known, neighbourhood_of)
    return Trial(len(flats), judged, elsewhere, time.perf_counter() - started)
