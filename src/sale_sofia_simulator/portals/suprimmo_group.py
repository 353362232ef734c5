"""What suprimmo.bg and luximmo.bg have in common: one agency's adverts, in windows-1251, with the same words.

Of rents, houses, plots and adverts without a price no page was seen: they are made from cards and reports.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar
from typing import Final
from typing import NamedTuple
from sale_sofia_simulator.model import OPEN_LAND
from sale_sofia_simulator.pieces import attribute
from sale_sofia_simulator.pieces import ballast
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.text import leva
from sale_sofia_simulator.text import spaced
from sale_sofia_simulator.truth import Truth
from sale_sofia_simulator.twin_portal import TwinPortal
from sale_sofia_simulator.twins import TwinAdvert
from sale_sofia_simulator.twins import blank_truth
from sale_sofia_simulator.twins import photo_names


PAGE_SIZE: Final = 24
CHARSET: Final = "windows-1251"
SQUARE_METRES: Final = "м&sup2;"
_MOST_PHOTOS = 14
_REDUCED_EVERY, _OLD_PRICE = 7, 1.06
_SHARE_COMMON = 0.16
_NEAR_METRO_EVERY = 5


class Deal(NamedTuple):
    """The words for sale or rent: in the page's variables, its breadcrumbs, a search and an address."""

    said: str
    crumb: str
    search: str
    slug: str


DEALS: Final = {
    "sale": Deal("Продава", "Продажба", "prodajba", "za-prodajba"),
    "rent": Deal("Под наем", "Под наем", "naem", "pod-naem"),
}
_ROOMS = ("", "Едностаен", "Двустаен", "Тристаен", "Четиристаен", "Многостаен")
_KINDS = {
    "ОФИС": "Офис", "АТЕЛИЕ, ТАВАН": "Ателие", "ЗАВЕДЕНИЕ": "Ресторант", "ПРОМ. ПОМЕЩЕНИЕ": "Цех",
    "ГАРАЖ, ПАРКОМЯСТО": "Гараж", "ПАРЦЕЛ": "Парцел в регулация", "БИЗНЕС ИМОТ": "Бизнес",
}  # fmt: skip
_CONSTRUCTIONS = {"Тухла": "brick", "Панел": "panel", "ЕПК": "epk", "Гредоред": "beam"}
_HEATING = {"Парно на газ": "gas", "ТЕЦ": "district"}
_GROUND = {0: "партер", -1: "сутерен"}


class GroupPortal(TwinPortal):
    """A portal of the group."""

    charset = CHARSET
    content_type = f"text/html; charset={CHARSET}"
    search_type = content_type
    page_size = PAGE_SIZE
    agency: ClassVar[str]
    offers: ClassVar[str]
    """The word behind the number of results."""
    frame: ClassVar[str]
    """The template of every page."""

    @abstractmethod
    def path_of(self, advert: TwinAdvert) -> str:
        """An advert's address."""

    def card_truth(self, advert: TwinAdvert, base: str) -> Truth:
        """Id, address, price, area."""
        return {
            "external_id": advert.external_id,
            "url": base + self.path_of(advert),
            "price_eur": advert.money.eur,
            "area_sqm": advert.home.area_sqm,
        }

    def truth_at(self, advert: TwinAdvert, base: str) -> Truth:
        """What its page says."""
        home, money = advert.home, advert.money
        lat, lon = advert.position or (None, None)
        return blank_truth(advert, base + self.path_of(advert)) | {
            "description": advert.prose.text,
            "price_bgn": round(money.bgn) if money.bgn else None,
            "previous_price_eur": old_price(advert),
            "vat": "excluded" if is_without_vat(advert) else None,
            "area_net_sqm": net_area(advert),
            "yard_sqm": home.yard_sqm,
            "floor": home.floor,
            "floors_total": home.floors_total,
            "construction": _CONSTRUCTIONS.get(home.construction or ""),
            "under_construction": {"will": True, "use": False}.get(home.age.form),
            "act_status": f"act{act(advert)}" if act(advert) else None,
            "heating": sorted(_HEATING[word] for word in heating(advert)),
            "elevator": True if has(advert, "Асансьор") else None,
            "furnishing": "furnished" if has(advert, "Обзаведен") else None,
            "condition": "needs_renovation" if has(advert, "За ремонт") else None,
            "features": extras(advert),
            "metro_distance_m": metro_distance(advert),
            "lat": lat,
            "lon": lon,
            "seller_kind": "agency",
            "seller_name": self.agency,
        }

    def pager(self, page: int, total: int, shown: Sequence[TwinAdvert]) -> str:
        """How many there are and which page this is; the word for page has a Latin letter."""
        return f"{total if shown else 0} {self.offers} / Страницa {page} от {self.pages(total)}"

    def document(self, title: str, canonical: str, head: str, body: str) -> bytes:
        """The page as it goes over the wire."""
        weight = ballast(60, self.site)
        page = fill(self.frame, title=title, canonical=canonical, head=head, body=body, weight=weight)
        return page.encode(CHARSET, "xmlcharrefreplace")

    def linked(self, deal: str, page: int, total: int) -> str:
        """The link to the next page, in the head."""
        following = self.next_url(deal, page, total, self.base)
        return f'<link rel="next" href="{following}" />' if following else ""


def deal_of(search_word: str) -> str:
    """The deal a search is about, by the word in its address."""
    return next(deal for deal, words in DEALS.items() if words.search == search_word)


def type_of(advert: TwinAdvert) -> str:
    """The portal's word for the type."""
    kind = advert.home.kind
    if kind.rooms:
        return f"{_ROOMS[kind.rooms]} апартамент"
    return _KINDS.get(kind.label, kind.label.capitalize())


def quarter(advert: TwinAdvert) -> str:
    """The quarter with its kind, unless its name says that."""
    name = advert.home.place.neighbourhood
    return name if name.startswith(("с. ", "гр. ", "в.з", "ж.к", "кв")) else f"кв. {name}"


def has(advert: TwinAdvert, feature: str) -> bool:
    """Whether the property has it."""
    return feature in advert.home.features


def act(advert: TwinAdvert) -> str | None:
    """The act the building has: 14 or 15 while it is being built, 16 when it is used."""
    form = advert.home.age.form
    if form == "will":
        return (None, "14", "15")[advert.home.number % 3]
    return "16" if form == "use" else None


def heating(advert: TwinAdvert) -> list[str]:
    """Kinds of heating, in the order of the alphabet."""
    flags = {"Парно на газ": advert.home.gas, "ТЕЦ": advert.home.district_heating}
    return [word for word, said in flags.items() if said == "ДА"]


def construction(advert: TwinAdvert) -> list[str]:
    """What it is built of, where the portal has a word for it."""
    word = advert.home.construction
    return [word] if word in _CONSTRUCTIONS else []


def extras(advert: TwinAdvert) -> list[str]:
    """Everything in the lists that open at a click."""
    return [*construction(advert), *heating(advert), *(["Асансьор"] if has(advert, "Асансьор") else [])]


def old_price(advert: TwinAdvert) -> float | None:
    """The crossed-out price of what is reduced."""
    reduced = advert.money.shown and not advert.home.number % _REDUCED_EVERY
    return float(round(advert.money.amount_eur * _OLD_PRICE)) if reduced else None


def is_without_vat(advert: TwinAdvert) -> bool:
    """Whether a note says that VAT comes on top of the price."""
    return advert.money.shown and advert.home.vat == "excluded"


def net_area(advert: TwinAdvert) -> int | None:
    """The area without common parts, of flats alone."""
    area = advert.home.area_sqm
    return area - round(area * _SHARE_COMMON) if advert.home.kind.flat else None


def metro_distance(advert: TwinAdvert) -> int | None:
    """Metres to the next station of the metro."""
    number = advert.home.number
    return None if number % _NEAR_METRO_EVERY else 150 + number % 9 * 100


def area_label(advert: TwinAdvert) -> str:
    """What the area is of."""
    if advert.home.kind.property_type in OPEN_LAND:
        return "Площ"
    return "Площ на сградата" if advert.home.kind.storeys_only else "Обща площ"


def floor_of(advert: TwinAdvert) -> str:
    """The printed floor."""
    floor = advert.home.floor
    return "" if floor is None else _GROUND.get(floor, str(floor))


def square_metres(area: float | None) -> str:
    """An area, empty where there is none."""
    return "" if area is None else f"{area} {SQUARE_METRES}"


def sums(advert: TwinAdvert) -> list[tuple[str, str, str]]:
    """Each currency that is printed: its sign, the price, and the old price or nothing."""
    money, old = advert.money, old_price(advert)
    both = [("&#x20AC;", money.amount_eur, old)]
    if money.bgn:
        both.append(("&#x43B;&#x432;.", money.bgn, leva(old) if old else None))
    return [
        (sign, spaced(round(price)), spaced(round(before)) if before else "") for sign, price, before in both
    ]


def photo_files(advert: TwinAdvert) -> list[str]:
    """The names of its photos."""
    stamps = photo_names(advert, _MOST_PHOTOS)
    return [f"{int(stamp, 16)}T{advert.external_id}_{place}.jpg" for place, stamp in enumerate(stamps, 1)]


def variables(advert: TwinAdvert) -> str:
    """The page's own account of itself, for those who count its visitors."""
    home, place = advert.home, advert.home.place
    price = str(round(advert.money.amount_eur)) if advert.money.shown else ""
    named = {
        "page_property": "1", "content_refno": advert.external_id, "fp_currency": "", "fb_price": price,
        "fb_property_type": type_of(advert), "fb_city": place.city, "fb_neighborhood": place.neighbourhood,
        "fb_property_type_singular": type_of(advert), "fb_property_type_estate": home.kind.property_type,
        "fb_region": place.city, "fb_country": "България", "fb_type": DEALS[home.deal].said,
        "fb_akt": act(advert) or "0",
    }  # fmt: skip
    lines = "\n".join(f'  var {name} = "{value}";' for name, value in named.items())
    return f"<script>\n{lines}\n  dataLayer = [];\n</script><script>\n{_layer(advert)}\n</script>"


def _layer(advert: TwinAdvert) -> str:
    place = advert.home.place
    named = {
        "listing_id": advert.external_id, "listing_pagetype": "offerdetail", "country": "България",
        "country_id": "1", "region": place.city, "region_id": "25", "town": place.city, "town_id": "4732",
        "quart": place.neighbourhood, "quart_id": "402", "property_type": type_of(advert),
        "type": DEALS[advert.home.deal].said,
    }  # fmt: skip
    return "  dataLayer.push({Array," + ",".join(f"{name}:'{value}'" for name, value in named.items()) + "});"


def map_frame(advert: TwinAdvert) -> str:
    """The map that is drawn when it is looked at."""
    if advert.position is None:
        return ""
    lat, lon = advert.position
    where = f"https://www.google.com/maps?q={lat},{lon}&z=16&output=embed&hl=bg"
    return f'<iframe name="popupmap" class="popupmap-lazy b-lazy" data-src="{where}"></iframe>'


def title_of(advert: TwinAdvert) -> str:
    """The title as an attribute holds it."""
    return attribute(advert.title)


