"""The same flat on several portals: where it is cheaper, and by how much."""

from collections.abc import Iterable
from dataclasses import dataclass

from sale_sofia.advice.settings import LEAST_SAVING_EUR
from sale_sofia.flats.flat import Advert, Flat
from sale_sofia.flats.prices import lowest_offers


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A flat that one portal offers for less than another."""

    flat: Flat
    cheapest: Advert
    dearest: Advert
    """The lowest offer of the portal where it costs most."""
    saving_eur: float
    """VAT counted on both sides; where nobody says whether it is in a price, the least that is saved."""
    share: float
    """Of the dearer price."""


def cheaper_elsewhere(flats: Iterable[Flat]) -> list[Elsewhere]:
    """Flats for sale whose lowest offers surely differ from portal to portal; the largest saving first."""
    found = [pair for flat in flats if flat.offered and flat.deal != "rent" if (pair := _compare(flat))]
    return sorted(found, key=lambda pair: (-pair.saving_eur, pair.flat.property_id))


def _compare(flat: Flat) -> Elsewhere | None:
    offers = lowest_offers(flat)
    if not offers or offers[0].paid.most is None:
        return None
    cheapest, dearest = offers[0], max(offers, key=lambda offer: offer.paid.least)
    saving = dearest.paid.least - offers[0].paid.most
    if saving < LEAST_SAVING_EUR:
        return None
    return Elsewhere(flat, cheapest.advert, dearest.advert, saving, saving / dearest.paid.least)
