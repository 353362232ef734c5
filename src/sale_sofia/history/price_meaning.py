"""What changed in a price: its amount, its VAT, its currency, or the meaning of the number."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from sale_sofia.history.listing_rows import PRICE_FIELDS
from sale_sofia.history.settings import (
    BUILT_TYPES,
    LEAST_PRICE_EUR,
    ODD_RATIO_TOLERANCE,
    ODD_RATIOS,
    VAT_RATE,
    VAT_TOLERANCE,
)

Fields = Mapping[Any, Any]
PointKind = Literal["first", "price", "vat", "currency"]
PER_SQM: Final = "per_sqm"
_WITH_VAT = frozenset({"none", "included"})


def point_kind(old: Fields, new: Fields) -> PointKind | None:
    """The kind of a new price point; None where nothing about the price changed.

    A sum that changed by exactly the VAT that was added or removed is the same price.
    """
    if all(old[name] == new[name] for name in PRICE_FIELDS):
        return None
    if old["vat"] != new["vat"] and _same_but_for_vat(old, new):
        return "vat"
    return "currency" if old["price_eur"] == new["price_eur"] else "price"


def _same_but_for_vat(old: Fields, new: Fields) -> bool:
    before, after = old["price_eur"], new["price_eur"]
    if before == after or before is None or after is None:
        return bool(before == after)
    if old["vat"] == "excluded" and new["vat"] in _WITH_VAT:
        return _near(after / before, 1 + VAT_RATE, VAT_TOLERANCE)
    dropped = new["vat"] == "excluded" and old["vat"] in _WITH_VAT
    return dropped and _near(after / before, 1 / (1 + VAT_RATE), VAT_TOLERANCE)


def another_meaning(old: Fields, new: Fields) -> float | Literal["per_sqm"] | None:
    """What the new number seems to be: the price per m², or a multiple of the price; None: a price."""
    before, after = old["price_eur"], new["price_eur"]
    if not before or not after:
        return None
    area = new["area_sqm"] or old["area_sqm"]
    if area and _near(after * area / before, 1.0, ODD_RATIO_TOLERANCE):
        return PER_SQM
    return next((ratio for ratio in ODD_RATIOS if _near(after / before, ratio, ODD_RATIO_TOLERANCE)), None)


def is_doubtful(old: Fields, new: Fields) -> bool:
    """Whether a price is not believed at once: of another meaning, or too low at first sight."""
    return another_meaning(old, new) is not None or (old["price_eur"] is None and is_too_little(new))


def is_too_little(fields: Fields) -> bool:
    """Whether the price is too low for any property of this kind, so the number means something else."""
    price, least = fields["price_eur"], LEAST_PRICE_EUR.get(fields["deal"] or "")
    return bool(price and least and price < least and fields["property_type"] in BUILT_TYPES)


def price_per_sqm(fields: Fields) -> float | None:
    """Computed from the current price and area; never stored, so never stale."""
    price, area = fields["price_eur"], fields["area_sqm"]
    return price / area if price and area else None


def _near(value: float, target: float, tolerance: float) -> bool:
    return abs(value / target - 1) <= tolerance
