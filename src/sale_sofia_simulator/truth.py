"""What a perfect reader finds on each page, computed from the world and never from the page."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from sale_sofia_simulator.model import CONSTRUCTIONS, Advert, Age, BazarAdvert, ImotAdvert, Seller
from sale_sofia_simulator.text import TABLES

Truth = dict[str, Any]


def blank_truth(advert: Advert, url: str) -> Truth:
    """What every portal prints of an advert; the rest is null until the portal's own truth says more."""
    home, money = advert.home, advert.money
    unsaid: Truth = dict.fromkeys(TABLES["unsaid"])
    lists: Truth = {
        name: [] for name in ("heating", "parking", "phones", "features", "photo_urls", "orientation")
    }
    return unsaid | lists | {
        "site": advert.site,
        "kind": "listing",
        "url": url,
        "external_id": advert.external_id,
        "deal": home.deal,
        "property_type": home.kind.property_type,
        "rooms": home.kind.rooms,
        "title": advert.title,
        "price_eur": money.eur,
        "price_bgn": money.bgn,
        "area_sqm": home.area_sqm,
        "city": home.place.city,
        "district": home.place.district,
        "neighbourhood": home.place.neighbourhood,
    }  # fmt: skip


def full_truth(advert: Advert) -> Truth:
    """What the most talkative portal would say of an advert; each prints some of it."""
    home, seller, district = advert.home, advert.seller, advert.home.district_heating
    heating = {"district": district == "ДА", "gas": home.gas == "ДА", "local": district == "Лок.отопл."}
    under_construction = True if "В строеж" in home.features else None
    if home.age.form == "will" or commissioned(home.age):
        under_construction = home.age.form == "will"
    return {
        "description": advert.prose.text,
        "previous_price_eur": advert.money.previous_eur,
        "vat": home.vat if advert.money.shown else None,
        "yard_sqm": home.yard_sqm,
        "floor": home.floor,
        "floors_total": home.floors_total,
        "construction": CONSTRUCTIONS.get(home.construction or ""),
        "year_built": home.age.known_year,
        "under_construction": under_construction,
        "act_status": "commissioned" if commissioned(home.age) else None,
        "heating": [name for name, is_printed in heating.items() if is_printed],
        **feature_truth(home.features),
        "street": home.place.street,
        "seller_kind": seller.kind,
        "seller_name": seller.name,
        "phones": phone_truth(seller),
        "posted_at": advert.posted.isoformat(),
        "updated_at": advert.updated.isoformat(),
        "views": advert.views,
        "photo_urls": list(advert.photos),
    }


def imot_truth(advert: ImotAdvert) -> Truth:
    """All fields of a listing, as JSON."""
    return blank_truth(advert, advert.url) | full_truth(advert) | {"family_id": advert.external_id}


def bazar_truth(advert: BazarAdvert) -> Truth:
    """All fields of a listing, as JSON. What bazar.bg does not print is null, whatever imot.bg knows."""
    lat, lon = advert.position or (None, None)
    full = full_truth(advert)
    printed = ("previous_price_eur", "year_built", "construction", "views", "photo_urls")
    return blank_truth(advert, advert.url) | {name: full[name] for name in printed} | {
        "family_id": advert.imot_id,
        "description": advert.prose.glued,
        "vat": advert.vat,
        "floor": advert.floor,
        "floors_total": full["floors_total"] if advert.native else None,
        "lat": lat,
        "lon": lon,
        "seller_name": advert.seller_name,
        "posted_at": full["posted_at"] if advert.imot_id else None,
        "updated_at": full["updated_at"] if advert.money.shown else None,
    }  # fmt: skip


def search_truth(
    site: str, url: str, cards: list[Truth], *, total: int, next_url: str | None, capped: bool = False
) -> Truth:
    """The cards of a search page in their order; promoted strangers and news are none of them."""
    return {
        "site": site,
        "kind": "search",
        "url": url,
        "total": total,
        "capped": capped,
        "next_url": next_url,
        "cards": cards,
    }


def card_truth(advert: Advert, url: str) -> Truth:
    """What the card of an advert says for certain; bazar.bg prints no area."""
    card = {"external_id": advert.external_id, "url": url, "price_eur": advert.money.eur}
    return card if advert.site == "bazar.bg" else card | {"area_sqm": advert.home.area_sqm}


def phone_truth(seller: Seller) -> list[str]:
    """The seller's numbers as a listing names them."""
    return [f"+359{phone[1:]}" for phone in seller.phones]


def feature_truth(features: Sequence[str]) -> Truth:
    """What a printed list of features says."""
    return {
        "elevator": True if "Асансьор" in features else None,
        "furnishing": "furnished" if "Обзаведен" in features else None,
        "condition": "needs_renovation" if "За ремонт" in features else None,
        "parking": ["garage"] if "С гараж" in features else [],
        "features": list(features),
    }


def commissioned(age: Age) -> bool:
    """Whether the building is in use."""
    return age.state.startswith("Въведен")


# Moves pages and truths from a portal's real address to the one that serves them.

REAL: Final[Mapping[str, str]] = TABLES["addresses"]
_LEAD = re.compile(rb"(?:https?:)?(\\?/)\1(?:www\.|m\.)?\Z")
_LONGEST_LEAD = 16
_NAME_GOES_ON = re.compile(rb"[\w.-]")
PHOTOS: Final = "/__photos__/"
"""Under this path a portal serves photos, where it does; their real host and path follow."""
_PHOTO = re.compile(rb"(?:https:)?//([a-z0-9]+\.focus\.bg/)")


class Origin:
    """Where a portal is served: after `body` no link leads to the portal's own hosts any more.

    Subdomains of firms and all other hosts stay as they are; so do photos, unless they are served here too.
    """

    def __init__(self, site: str, base_url: str, *, photos: bool = False) -> None:
        self._photos = photos
        self._name = site.encode()
        self._real = REAL[site]
        self.base_url = base_url
        self._host = base_url.partition("//")[2].encode()

    def url(self, url: str) -> str:
        """The served address of a real one."""
        return self.base_url + url.removeprefix(self._real)

    def photo(self, url: str) -> str:
        """The served address of a photo, as who reads the page writes it."""
        served = self._with_photos(url.encode()).decode()
        return f"https:{served}" if served.startswith("//") else served

    def _with_photos(self, page: bytes) -> bytes:
        return _PHOTO.sub(rb"//%b%b\1" % (self._host, PHOTOS.encode()), page) if self._photos else page

    def body(self, page: bytes) -> bytes:
        """The page with every link to the portal's hosts turned to this origin, in JSON too."""
        pieces = self._with_photos(page).split(self._name)
        moved = []
        for piece, after in pairwise(pieces):
            # What stands before one naming of the portal, and that name: an address, or only the word.
            lead = _LEAD.search(piece, max(0, len(piece) - _LONGEST_LEAD))
            if lead is None or _NAME_GOES_ON.match(after):
                moved.append(piece + self._name)
            else:
                moved.append(piece[: lead.start()] + b"http:" + lead[1] * 2 + self._host)
        return b"".join([*moved, pieces[-1]])
