"""What a flat costs: its price with VAT, each offer, and the lowest one of each portal.

VAT is added to a price here and nowhere else.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sale_sofia.flats.flat import Advert, Flat
from sale_sofia.flats.settings import LEAST_SAVING_EUR, NEW_CONDITIONS, UNBUILT
from sale_sofia.history.settings import VAT_RATE


class Band(NamedTuple):
    """EUR from `least` to `most`; `most` is None if unknown."""

    least: float
    most: float | None

    @property
    def exact(self) -> bool:
        """Whether it is one sum."""
        return self.least == self.most


class Offer(NamedTuple):
    """An advert with its full price."""

    paid: Band
    advert: Advert


def vat_on_top(vat: str | None, *, text_says_so: bool, may_be_due: bool) -> bool | None:
    """Whether VAT comes on top of a price printed with `vat`; None if unknown.

    What a description says counts only if the portal prints nothing about VAT.
    """
    if vat is not None:
        return vat == "excluded"
    if text_says_so:
        return True
    return None if may_be_due else False


def vat_may_be_due(
    adverts: Collection[Advert],
    *,
    under_construction: bool | None,
    act_status: str | None,
    condition: str | None,
) -> bool:
    """Whether VAT may come on top of the prices that say nothing about it; the order of adverts is no matter.

    A private person who sells adds none, whatever the flat is, unless a developer sells it too.
    """
    if "excluded" in [advert.vat for advert in adverts]:
        return True
    sellers = {advert.seller_kind for advert in adverts if advert.offered}
    sellers = sellers or {advert.seller_kind for advert in adverts}
    if "private" in sellers and "developer" not in sellers:
        return False
    return (
        under_construction is True
        or act_status in UNBUILT
        or condition in NEW_CONDITIONS
        or "developer" in [advert.seller_kind for advert in adverts]
    )


def with_vat(price: float, *, due: bool | None) -> Band:
    """The full price for a printed one: if VAT is unknown, from without to with it."""
    most = price if due is False else price * (1 + VAT_RATE)
    return Band(most if due else price, most)


def vat_due(flat: Flat) -> bool | None:
    """Whether VAT comes on top of the flat's price; None if unknown."""
    return _vat_due(flat, flat.vat)


def price_band(flat: Flat) -> Band | None:
    """The flat's price with VAT; None without a price. A "from" price has no `most`."""
    if flat.price_eur is None:
        return None
    return _paid(flat, flat.price_eur, flat.vat)


def most_paid(flat: Flat, price: float, vat: str | None) -> float:
    """What is paid at most for a price that an advert prints with `vat`; offers are ordered by it."""
    return with_vat(price, due=_vat_due(flat, vat) is not False).least


def asked_eur_sqm(flat: Flat) -> float | None:
    """The asking price per m², VAT included; as printed where no advert mentions VAT."""
    return eur_sqm_of(price_band(flat), flat.area_sqm)


def eur_sqm_of(price: Band | None, area_sqm: float | None) -> float | None:
    """The price per m² of a price with VAT."""
    return None if price is None or not area_sqm else price.least / area_sqm


def offered_eur_sqm(flat: Flat, advert: Advert) -> float | None:
    """As `asked_eur_sqm`, for the price of one of the flat's adverts."""
    if not advert.price_eur or not flat.area_sqm:
        return None
    return _paid(flat, advert.price_eur, advert.vat).least / flat.area_sqm


def lowest_offers(flat: Flat) -> list[Offer]:
    """The lowest offer of each portal that still has the flat, by the highest possible price."""
    lowest: dict[str, Offer] = {}
    for offer in all_offers(flat):
        lowest.setdefault(offer.advert.site, offer)
    return list(lowest.values())


def all_offers(flat: Flat) -> list[Offer]:
    """Every advert with a price that is still on offer, by the highest possible price."""
    offers = [
        Offer(_paid(flat, advert.price_eur, advert.vat), advert)
        for advert in flat.adverts
        if advert.offered and advert.price_eur
    ]
    return sorted(offers, key=_dearest_case)


class PriceGap(NamedTuple):
    """By how much one price is above another."""

    eur: float
    percent: float
    """Of the lower one."""


def compare(offer: Offer, lower: Offer) -> PriceGap | None:
    """By how much an offer is above a lower one, both with VAT; None if either is not exact."""
    if not offer.paid.exact or not lower.paid.exact:
        return None
    more = offer.paid.least - lower.paid.least
    return PriceGap(round(more, 2), round(more / lower.paid.least * 100, 2))


def vat_state(flat: Flat, vat: str | None) -> str | None:
    """What is known about the VAT of a price printed with `vat`; None if it is neither printed nor due."""
    if vat is not None:
        return vat
    return {True: "excluded", None: "unknown", False: None}[_vat_due(flat, vat)]


def _dearest_case(offer: Offer) -> tuple[float, float]:
    least, most = offer.paid
    return float("inf") if most is None else most, least


def _paid(flat: Flat, price: float, vat: str | None) -> Band:
    paid = with_vat(price, due=_vat_due(flat, vat))
    return Band(paid.least, None) if "price_from" in flat.traps else paid


def _vat_due(flat: Flat, vat: str | None) -> bool | None:
    may_be_due = vat is None and vat_may_be_due(
        flat.adverts,
        under_construction=flat.under_construction,
        act_status=flat.act_status,
        condition=flat.condition,
    )
    return vat_on_top(vat, text_says_so="price_without_vat" in flat.traps, may_be_due=may_be_due)


# The same flat on several portals: where it is cheaper, and by how much.


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A flat that one portal offers for less than another."""

    flat: Flat
    cheapest: Advert
    dearest: Advert
    """The lowest offer of the portal where it costs most."""
    saving_eur: float
    """With VAT on both sides; if VAT is unknown, the least possible saving."""
    share: float
    """Of the dearer price."""


def cheaper_elsewhere(flats: Iterable[Flat]) -> list[Elsewhere]:
    """The flats that one portal offers for less than another, the largest saving first."""
    found = [pair for flat in flats if (pair := find_cheaper(flat))]
    return sorted(found, key=lambda pair: (-pair.saving_eur, pair.flat.property_id))


def find_cheaper(flat: Flat) -> Elsewhere | None:
    """The saving on a flat for sale whose lowest offers certainly differ between portals."""
    if not flat.offered or flat.deal == "rent" or len(flat.adverts) == 1:
        return None
    offers = lowest_offers(flat)
    if not offers or offers[0].paid.most is None:
        return None
    cheapest, dearest = offers[0], max(offers, key=lambda offer: offer.paid.least)
    saving = dearest.paid.least - offers[0].paid.most
    if saving < LEAST_SAVING_EUR:
        return None
    return Elsewhere(flat, cheapest.advert, dearest.advert, saving, saving / dearest.paid.least)
