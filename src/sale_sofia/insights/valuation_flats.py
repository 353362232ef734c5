"""Which flats a fair price is worked out from, and of which it can be."""

import math
from collections.abc import Iterable, Mapping
from typing import Final

from sale_sofia.config.scoring import COMPARED_TYPES
from sale_sofia.config.valuation import (
    DISTORTED,
    LEAST_AREA_SQM,
    LEAST_EUR_SQM,
    MOST_AREA_SQM,
    MOST_EUR_SQM,
)
from sale_sofia.insights.costs import price_band
from sale_sofia.insights.flats import Flat
from sale_sofia.listings.places import SOFIA

_REASONS: Final[Mapping[str, str]] = {
    "deal": "only flats for sale have a fair price here",
    "type": "it is not known to be a flat",
    "city": "it is not known to be in Sofia",
    "conflict": "its adverts contradict each other about the place",
    "place": "its neighbourhood is not known",
    "area": "its area is not known",
    "odd_area": "its area is not one of a flat",
}


class TooFewFlats(ValueError):
    """There are not enough flats to tell a fair price from; the text says how many are needed."""

    def __init__(self, known: int, needed: int) -> None:
        super().__init__(
            f"{known} flats with a price, an area and a place are known, "
            f"and {needed} are needed (VALUATION_LEAST_FLATS)"
        )
        self.known = known
        self.needed = needed


def asked_eur_sqm(flat: Flat) -> float | None:
    """What is asked for each m², VAT included; where VAT is not spoken of, as it is printed."""
    price = price_band(flat)
    return None if price is None or not flat.area_sqm else price.least / flat.area_sqm


def log_asked(flat: Flat) -> float:
    """Its logarithm, for a flat that has one."""
    asked = asked_eur_sqm(flat)
    if asked is None:
        raise ValueError(f"flat {flat.property_id} has no price for each m²")
    return math.log(asked)


def why_not_valued(flat: Flat) -> str | None:
    """Why no fair price can be told of this flat, in a sentence; None when one can."""
    reason = not_valued_for(flat)
    return _REASONS[reason] if reason else None


def not_valued_for(flat: Flat) -> str | None:
    """The same as the name of the reason."""
    reasons = {
        "deal": flat.deal != "sale",
        "type": flat.property_type not in COMPARED_TYPES,
        "city": flat.city != SOFIA,
        "conflict": "place_conflict" in flat.flags,
        "place": flat.neighbourhood is None and flat.lat is None,
        "area": flat.area_sqm is None,
        "odd_area": not _is_usual_area(flat.area_sqm),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def known_flats(flats: Iterable[Flat], *, seen_since: float, most: int) -> list[Flat]:
    """The flats to compare with: each once, with a usual price, seen since then; of too many the newest."""
    usable = [flat for flat in flats if flat.last_seen_at >= seen_since and is_comparable(flat)]
    newest = sorted(usable, key=lambda flat: (-flat.last_seen_at, flat.property_id))[:most]
    return sorted(newest, key=lambda flat: flat.property_id)


def is_comparable(flat: Flat) -> bool:
    """Whether its price says something of the market."""
    asked = asked_eur_sqm(flat)
    return (
        why_not_valued(flat) is None
        and DISTORTED.isdisjoint(flat.traps)
        and asked is not None
        and LEAST_EUR_SQM <= asked <= MOST_EUR_SQM
    )


def _is_usual_area(area: float | None) -> bool:
    return area is not None and LEAST_AREA_SQM <= area <= MOST_AREA_SQM
