"""A flat as scores, market, fair prices, searches and alerts use it: one property, its adverts merged.

Flats must not be changed once made. They are not frozen only because creating frozen ones takes several times
as long, and there are a hundred thousand.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from sale_sofia.flats.settings import ACTS, FINISHED_YEARS, OLD_CONSTRUCTIONS
from sale_sofia.flats.walks import MetroWalk, Travel, metro_walk, stated_minutes, travel_to, what_is_near
from sale_sofia.geography.shapes import BUYERS_CENTRE, Destination, Point
from sale_sofia.geography.surroundings import Nearby
from sale_sofia.history.market_events import Since, Source, days_on_market
from sale_sofia.listings.places import SOFIA


@dataclass(slots=True, unsafe_hash=True)
class Advert:
    """One advert of a flat."""

    listing_id: int
    site: str
    external_id: str
    url: str
    title: str | None
    price_eur: float | None
    vat: str | None
    seller_kind: str | None
    seller_name: str | None
    first_seen_at: float
    last_seen_at: float
    offered: bool
    """Still there, as far as is known."""


@dataclass(frozen=True, slots=True)
class Trap:
    """A legal trap that the description mentions, with its words."""

    value: object
    quote: str


class Code(StrEnum):
    """A kind of contradiction; the rules are in `flats/contradictions.py`, the market's in `outliers.py`."""

    FLOOR_ABOVE_TOTAL = "floor_above_total"
    BEDROOMS_FILL_ROOMS = "bedrooms_fill_rooms"
    NET_ABOVE_TOTAL = "net_above_total"
    BUILT_IN_FUTURE = "built_in_future"
    ACT_OF_UNBUILT = "act_of_unbuilt"
    BUILT_OUT_OF_TIME = "built_out_of_time"
    TEXT_FLOOR_OF_HEIGHT = "text_floor_of_height"
    TEXT_FLOOR = "text_floor"
    TEXT_ROOMS = "text_rooms"
    TEXT_AREA = "text_area"
    TEXT_YEAR = "text_year"
    TEXT_ACT = "text_act"
    METRO_FARTHER = "metro_farther"
    PRICE_OUT_OF_MARKET = "price_out_of_market"
    RENT_LIKE_PRICE = "rent_like_price"
    PRICE_LIKE_RENT = "price_like_rent"
    PRIVATE_WITH_MANY = "private_with_many"
    POSITION_OUTSIDE = "position_outside"
    POSITION_SHARED = "position_shared"


Printed = Annotated[Any, BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)]
"""A value of any kind; several are a tuple, also when they come back from JSON."""


class Contradiction(NamedTuple):
    """Two values that cannot both be true, as they were printed."""

    code: Code
    facts: tuple[str, ...]
    """The facts not believed because of it: unknown, unless another advert or the text states them."""
    one: Printed
    other: Printed
    kept: Printed = None
    """The value that is believed nevertheless, as the likelier one."""


class Exactness(StrEnum):
    """How exactly it is known where a flat is."""

    EXACT = "exact"
    """An advert's own coordinates, in Sofia and uncontradicted."""
    STREET = "street"
    """Somewhere in a street."""
    NEIGHBOURHOOD = "neighbourhood"
    """Somewhere in it."""
    UNKNOWN = "unknown"


class EarlierOffer(NamedTuple):
    """An advert of the flat that ended before another one began. Times are seconds since 1970."""

    listing_id: int
    site: str
    since: float
    source: Source
    until: float
    price_eur: float | None
    """Its last asking price."""


class Correction(NamedTuple):
    """A fact as the buyer corrected it, and when, in seconds since 1970."""

    value: Any
    said_by: str
    said_at: float


@dataclass(slots=True, unsafe_hash=True)
class Flat:
    """One property. Unknown is None (or an empty tuple), never a guess.

    Facts are those that most adverts print (`PropertyMerger`); where no portal prints one, what a description
    says. The price is that of the advert still offered (of all, when none is) for which least is paid, VAT
    included; `vat` is that advert's.
    What the buyer says wins; what is contradicted is unknown, and named in `contradictions`.
    """

    property_id: int
    adverts: tuple[Advert, ...]
    """The cheapest first; last those gone or without a price."""
    offered: bool
    price_eur: float | None
    vat: str | None
    first_seen_at: float
    last_seen_at: float
    new_at: float | None = None
    """Since when it is new (`history.news`); None while that is held back."""
    title: str | None = None
    photo_urls: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    """What portals' pages contradict, and the codes of `contradictions`."""
    contradictions: tuple[Contradiction, ...] = ()
    from_text: frozenset[str] = frozenset()
    """Facts that only descriptions state, and no portal prints."""
    corrected: Mapping[str, Correction] = field(default_factory=dict)
    """Facts that the buyer corrected."""
    features: frozenset[str] = frozenset()
    deal: str | None = None
    property_type: str | None = None
    rooms: int | None = None
    area_sqm: float | None = None
    area_net_sqm: float | None = None
    yard_sqm: float | None = None
    floor: int | None = None
    floors_total: int | None = None
    construction: str | None = None
    year_built: int | None = None
    under_construction: bool | None = None
    act_status: str | None = None
    heating: tuple[str, ...] = ()
    elevator: bool | None = None
    furnishing: str | None = None
    condition: str | None = None
    orientation: tuple[str, ...] = ()
    parking: tuple[str, ...] = ()
    parking_status: str | None = None
    """Whether a parking place is in the price: `included`, `free`, `optional_purchase`, `optional_rent`."""
    city: str | None = None
    district: str | None = None
    neighbourhood: str | None = None
    street: str | None = None
    lat: float | None = None
    """With `lon`: an exact place, never the middle of an area."""
    lon: float | None = None
    metro_station: str | None = None
    metro_distance_m: int | None = None
    metro_minutes: int | None = None
    bedrooms: int | None = None
    bathrooms: int | None = None
    wc_separate: bool | None = None
    has_balcony: bool | None = None
    balconies: int | None = None
    storage: tuple[str, ...] = ()
    described: bool = False
    """Whether a description was read; only then does an empty `traps` mean that there are none."""
    traps: Mapping[str, Trap] = field(default_factory=dict)
    """By the names of `descriptions.fields.TRAP_FIELDS`; only what a description states."""
    listed: Since | None = None
    """Since when it is on the market; None: since it was first seen."""
    offered_before: tuple[EarlierOffer, ...] = ()

    @property
    def since(self) -> Since:
        """Since when it is on the market, and who says so."""
        return self.listed or Since(self.first_seen_at, "first_seen")

    def days_on_market(self, now: float) -> float:
        """How long it has been on the market, or was until last seen. Everything uses this value."""
        return days_on_market(self.since.at, None if self.offered else self.last_seen_at, None, now=now)

    @property
    def act(self) -> str | None:
        """The stage of the building: as printed; else finished, if age or construction leave no doubt."""
        if self.act_status is not None or self.under_construction:
            return self.act_status
        first_year = time.gmtime(self.first_seen_at).tm_year
        aged = self.year_built is not None and self.year_built <= first_year - FINISHED_YEARS
        return ACTS[-1] if aged or self.construction in OLD_CONSTRUCTIONS else None

    @property
    def ready_in(self) -> int | None:
        """The future year in which the building is to be finished, unless contradicted."""
        coming = self.year_built is not None and self.year_built > time.gmtime(self.last_seen_at).tm_year
        return self.year_built if coming and Code.BUILT_IN_FUTURE not in self.flags else None

    @property
    def counting(self) -> tuple[Advert, ...]:
        """The adverts that count: those still there, or all of a flat that is gone."""
        return tuple([advert for advert in self.adverts if advert.offered or not self.offered])

    @property
    def exact_place(self) -> Point | None:
        """Its own coordinates, in Sofia."""
        is_exact = self.city == SOFIA and self.lat is not None and self.lon is not None
        return Point(self.lat or 0.0, self.lon or 0.0) if is_exact else None

    @property
    def exactness(self) -> Exactness:
        """How exactly it is known where in Sofia it is; of other towns nothing is known."""
        if self.city != SOFIA:
            return Exactness.UNKNOWN
        if self.exact_place:
            return Exactness.EXACT
        if self.street:
            return Exactness.STREET
        return Exactness.NEIGHBOURHOOD if self.neighbourhood else Exactness.UNKNOWN

    @property
    def portals(self) -> list[str]:
        """The portals that offer it; if it is gone, those that did."""
        return sorted({advert.site for advert in self.counting})

    @property
    def metro_walk(self) -> MetroWalk | None:
        """Minutes on foot to the nearest metro, and the source of that."""
        minutes = stated_minutes(self.metro_minutes, self.metro_distance_m)
        return metro_walk(self.exact_place, minutes, (self.city, self.neighbourhood))

    @property
    def centre_travel(self) -> Travel | None:
        """Minutes by public transport to Сердика on a weekday morning."""
        return self.travel_to(BUYERS_CENTRE)

    def travel_to(self, place: Destination) -> Travel | None:
        """Minutes by public transport to a place, and the source of that."""
        return travel_to(place, self.exact_place, (self.city, self.neighbourhood))

    @property
    def nearby(self) -> Nearby:
        """School, supermarket, stop and big road near it, as far as they are known."""
        return what_is_near(self.exact_place, (self.city, self.neighbourhood))
