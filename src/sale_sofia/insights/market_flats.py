"""A flat on the market: when it was offered, at what price for each m², and by how much that was cut."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from sale_sofia.config.costs import VAT
from sale_sofia.config.market import LARGEST_ROOMS
from sale_sofia.config.scoring import COMPARED_TYPES
from sale_sofia.data.market import days_on_market
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.market_history import AdvertHistory, Asked
from sale_sofia.insights.survival import Stay
from sale_sofia.listings.places import SOFIA

MAISONETTE: Final = "maisonette"
UNKNOWN_ROOMS: Final = "?"


class Snapshot(NamedTuple):
    """A flat at one moment: whether it was offered, and for how much each m², where that is known."""

    there: bool
    eur_sqm: float | None


@dataclass(frozen=True, slots=True)
class MarketFlat:
    """One property with the histories of its adverts."""

    property_id: int
    neighbourhood: str
    rooms: str
    """1, 2, 3, 4, 5+, maisonette, or a question mark."""
    area_sqm: float | None
    says_without_vat: bool
    """A description says so; that counts for prices of which no more is printed."""
    adverts: tuple[AdvertHistory, ...]

    @property
    def first_seen_at(self) -> float:
        """When the first of its adverts was seen."""
        return min(advert.spells[0].start for advert in self.adverts)

    @property
    def gone_at(self) -> float | None:
        """When the last of its adverts went; None while one is there."""
        ends = [advert.spells[-1].end for advert in self.adverts]
        there = any(end is None for end in ends)
        return None if there else max(end for end in ends if end is not None)

    def at(self, moment: float) -> Snapshot:
        """Whether any of its adverts was offered then, and the lowest of their prices, VAT included."""
        there = [advert for advert in self.adverts if advert.is_there(moment)]
        asked = [one for advert in there if (one := advert.asked(moment)) is not None]
        if not asked or not self.area_sqm:
            return Snapshot(bool(there), None)
        return Snapshot(there=True, eur_sqm=min(map(self._with_vat, asked)) / self.area_sqm)

    def cuts(self) -> Iterator[float]:
        """By what share the price fell each time that an advert's was lowered."""
        for advert in self.adverts:
            for old, new in advert.steps():
                before, after = self._with_vat(old), self._with_vat(new)
                if after < before:
                    yield 1 - after / before

    def stay(self, now: float) -> Stay:
        """How long it has been there; a time off the market between two adverts or sights is part of it."""
        return Stay(days_on_market(self.first_seen_at, self.gone_at, None, now=now), self.gone_at is not None)

    def _with_vat(self, asked: Asked) -> float:
        due = asked.vat == "excluded" or (asked.vat is None and self.says_without_vat)
        return asked.price_eur * (1 + VAT) if due else asked.price_eur


def market_flats(
    flats: Iterable[Flat], histories: Mapping[int, AdvertHistory], deal: str
) -> Iterator[MarketFlat]:
    """The flats in Sofia for sale (or to let) whose place is known, each once."""
    for flat in flats:
        if flat.neighbourhood is None or not is_on_this_market(flat, deal):
            continue
        known = (histories.get(advert.listing_id) for advert in flat.adverts)
        if adverts := tuple(one for one in known if one is not None):
            trap = "price_without_vat" in flat.traps
            yield MarketFlat(
                flat.property_id, flat.neighbourhood, room_type(flat), flat.area_sqm, trap, adverts
            )


def is_on_this_market(flat: Flat, deal: str) -> bool:
    """Whether the flat is one that the figures are made of."""
    return (
        flat.deal == deal
        and flat.property_type in COMPARED_TYPES
        and flat.city == SOFIA
        and "place_conflict" not in flat.flags
    )


def room_type(flat: Flat) -> str:
    """The kind of flat, by its rooms."""
    if flat.property_type == MAISONETTE:
        return MAISONETTE
    if flat.rooms is None:
        return UNKNOWN_ROOMS
    return f"{LARGEST_ROOMS}+" if flat.rooms >= LARGEST_ROOMS else str(flat.rooms)
