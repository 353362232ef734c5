"""The same flat on several portals: where it is cheaper, and by how much."""

from collections.abc import Iterable
from dataclasses import dataclass

from sale_sofia.advice.settings import LEAST_SAVING_EUR, VAT
from sale_sofia.flats.flat import Advert, Flat

_TWO = 2


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A flat that one portal offers for less than another."""

    flat: Flat
    cheapest: Advert
    dearest: Advert
    """The lowest offer of the portal where it costs most."""
    saving_eur: float
    """VAT counted on both sides where it is not in the price."""
    share: float
    """Of the dearer price."""


def cheaper_elsewhere(flats: Iterable[Flat]) -> list[Elsewhere]:
    """Flats for sale whose lowest offers differ from portal to portal; the largest saving first."""
    found = [one for flat in flats if flat.offered and flat.deal != "rent" if (one := _compared(flat))]
    return sorted(found, key=lambda one: (-one.saving_eur, one.flat.property_id))


def price_with_vat(advert: Advert) -> float | None:
    """What is paid: the VAT is added where the price is without it."""
    if not advert.price_eur:
        return None
    return advert.price_eur * (1 + VAT if advert.vat == "excluded" else 1)


def _compared(flat: Flat) -> Elsewhere | None:
    lowest: dict[str, tuple[float, Advert]] = {}
    for advert in flat.adverts:
        price = price_with_vat(advert) if advert.offered else None
        if price is not None and price < lowest.get(advert.site, (price + 1, advert))[0]:
            lowest[advert.site] = (price, advert)
    if len(lowest) < _TWO:
        return None
    (least, cheapest), *_, (most, dearest) = sorted(lowest.values(), key=lambda one: one[0])
    return (
        Elsewhere(flat, cheapest, dearest, most - least, (most - least) / most)
        if most - least >= LEAST_SAVING_EUR
        else None
    )
