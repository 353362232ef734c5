"""What the simulated world is made of. Everything is frozen: a world never changes after it is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from sale_sofia_simulator.text import BGN_PER_EUR, TABLES, leva

SOFIA = ZoneInfo("Europe/Sofia")
NOW = datetime(2026, 4, 21, 18, 45, tzinfo=SOFIA)
"""The evening of the first day of every world."""

# The words of the imot.bg family for what is sold: property types, construction, features.


@dataclass(frozen=True)
class Kind:
    """One property type as the portals print it and as a listing must name it."""

    number: int
    """imot.bg's own number; the letter in an advert id is this place in the alphabet."""
    label: str
    slug: str
    """The word in a search URL."""
    plural: str
    """The word of the breadcrumbs."""
    property_type: str
    rooms: int | None = None

    @property
    def flat(self) -> bool:
        """Whether bazar.bg files it under Апартаменти."""
        return self.number <= MAISONETTE

    @property
    def advert_slug(self) -> str:
        """The word in an advert URL: numbered flats say that they are flats."""
        return f"{self.slug}-apartament" if self.number < MAISONETTE else self.slug

    @property
    def storeys_only(self) -> bool:
        """Whether the floor field holds the number of storeys alone."""
        return self.property_type in {"house", "villa"}

    @property
    def words(self) -> str:
        """The kind as a sentence names it: Двустаен апартамент, Къща."""
        return f"{ROOM_WORDS[self.rooms]} апартамент" if self.rooms else self.label.capitalize()

    def letter(self, deal: str) -> str:
        """The type letter of an advert id; rents are shifted by one."""
        return chr(ord("a") + self.number - 1 + (deal == "rent"))


MAISONETTE = 6

KINDS = tuple(Kind(*row) for row in TABLES["kinds"])
ROOM_WORDS = ("", "Едностаен", "Двустаен", "Тристаен", "Четиристаен", "Многостаен")
FLATS = tuple(kind for kind in KINDS if kind.flat)
CONSTRUCTIONS: Mapping[str, str] = TABLES["constructions"]
DEAL_WORDS = {"sale": "Продава", "rent": "Дава под наем"}
RUBRICS = {"sale": "prodazhbi", "rent": "naemi"}
RUBRIC_NAMES = {"sale": "Продажби", "rent": "Наеми"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a property is. Only Sofia has districts here."""

    city: str
    city_slug: str
    neighbourhood: str
    slug: str
    district: str | None
    lat: float | None
    lon: float | None
    street: str | None


@dataclass(frozen=True, slots=True)
class Age:
    """How the year is worded: `use`, `will`, `bare`, `decade`, `used_decade`, `used` or `none`."""

    form: str
    year: int

    @property
    def known_year(self) -> int | None:
        """The one year that is printed; a decade is no year."""
        return self.year if self.form in {"use", "will", "bare"} else None

    @property
    def state(self) -> str:
        """The portal's words about the building, before the year."""
        if self.form == "will":
            return "Ще бъде въведен в експлоатация"
        return "Въведен в експлоатация" if self.form in {"use", "used_decade", "used"} else ""

    @property
    def span(self) -> str:
        """The printed year or decade, empty where there is none."""
        if self.form in {"decade", "used_decade"}:
            return f"{self.year // 10 * 10} - {self.year // 10 * 10 + 9} г."
        return f"{self.year} г." if self.known_year else ""


@dataclass(frozen=True, slots=True)
class Property:
    """One real thing to sell or let; each advert of it prints some of this."""

    number: int
    kind: Kind
    deal: str
    place: Place
    area_sqm: int
    yard_sqm: int | None
    floor: int | None
    floors_total: int | None
    construction: str | None
    age: Age
    district_heating: str | None
    gas: str | None
    features: tuple[str, ...]
    price_eur: int
    vat: str | None
    position: tuple[float, float] | None = None
    """Where exactly it is; in a lifelike world, whose texts agree with it."""

    @property
    def deal_words(self) -> str:
        """Продава, or Дава под наем."""
        return DEAL_WORDS[self.deal]


@dataclass(frozen=True, slots=True)
class Money:
    """A price as printed: `layout` says in which currencies and order, `ask` that no sum is printed."""

    layout: str
    amount_eur: float
    previous_eur: float | None = None

    @property
    def shown(self) -> bool:
        """Whether any sum is printed."""
        return self.layout != "ask"

    @property
    def bgn(self) -> float | None:
        """The printed sum in leva."""
        return leva(self.amount_eur) if self.layout in {"both", "bgn_first", "bgn"} else None

    @property
    def eur(self) -> float | None:
        """The sum in EUR: as printed, or converted when only leva are printed."""
        if not self.shown:
            return None
        if self.layout == "bgn":
            return round(leva(self.amount_eur) / BGN_PER_EUR, 2)
        return self.amount_eur


@dataclass(frozen=True, slots=True)
class Seller:
    """Who offers it. A private person has no name and no handle on imot.bg."""

    kind: str
    name: str | None
    handle: str | None
    phones: tuple[str, ...]
    since: int
    address: str
    broker: str | None
    user: int


@dataclass(frozen=True, slots=True)
class Prose:
    """One description: the markup a page holds, and the texts a reader finds in it."""

    html: str
    text: str
    """A line for each line."""
    glued: str
    """bazar.bg's own plain text of the same markup: where a line breaks, nothing is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advert:
    """Everything one page prints, quirks included; the page and its truth are both made from this alone."""

    site: str
    external_id: str
    url: str
    title: str
    home: Property
    money: Money
    prose: Prose
    seller: Seller
    posted: datetime
    updated: datetime
    views: int
    photos: tuple[str, ...]
    tier: str
    """BEST, TOP, VIP or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImotAdvert(Advert):
    """An imot.bg advert."""

    offer: bool
    """Whether the page has a JSON-LD Offer; the layout of December 2025 has none."""
    old_layout: bool
    corrected: bool
    trend: str
    """UP, DOWN or nothing."""
    private_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BazarAdvert(Advert):
    """A bazar.bg advert, imported from imot.bg or written by hand (`native`)."""

    native: bool
    imot_id: str | None
    vat: str | None
    floor: int | None
    position: tuple[float, float] | None
    seller_name: str
    lag_minutes: int
    """How much earlier the printed time is than `updated`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinAdvert(Advert):
    """The same advert as a portal beside imot.bg and bazar.bg shows it."""

    number: int
    imot_id: str
    position: tuple[float, float] | None
    misfiled: bool
    """Whether the seller filed it under Sofia although it is elsewhere."""


class Slot(NamedTuple):
    """What one number of the world holds: an advert on each portal, of one property or of two."""

    imot: ImotAdvert
    bazar: BazarAdvert


@dataclass(frozen=True, slots=True)
class World:
    """A day of both portals: `imot[i]` and `bazar[i]` belong to slot `i`."""

    seed: int
    now: datetime
    properties: tuple[Property, ...]
    imot: tuple[ImotAdvert, ...]
    bazar: tuple[BazarAdvert, ...]
    day: int = 0
    made: int = 0
    """How many slots were ever filled, those that are gone included."""
    away: tuple[tuple[Slot, int], ...] = ()
    """What is gone but may still come back, as it was, and the day on which it went."""
