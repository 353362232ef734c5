"""suprimmo.bg and luximmo.bg: one agency's adverts, in windows-1251, in the same words and two designs.

Of rents, houses, plots and adverts without a price no page was seen: they are made from cards and reports.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import ClassVar, Final

from sale_sofia_simulator.model import TwinAdvert
from sale_sofia_simulator.pieces import fill, script_json
from sale_sofia_simulator.portal import Query, Scope, Search
from sale_sofia_simulator.text import TABLES, leva, slug
from sale_sofia_simulator.truth import Truth
from sale_sofia_simulator.twins import TwinPortal, photo_names

_CHARSET: Final = "windows-1251"
_MOST_PHOTOS = 14
_REDUCED_EVERY, _OLD_PRICE = 7, 1.06
_SHARE_COMMON = 0.16
_NEAR_METRO_EVERY = 5


_DEALS: Mapping[str, Mapping[str, str]] = TABLES["suprimmo_deals"]
_KINDS: Mapping[str, str] = TABLES["suprimmo_kinds"]
_CONSTRUCTIONS = {"Тухла": "brick", "Панел": "panel", "ЕПК": "epk", "Гредоред": "beam"}
_HEATING = {"Парно на газ": "gas", "ТЕЦ": "district"}


class GroupPortal(TwinPortal):
    """A portal of the group."""

    charset = _CHARSET
    content_type = f"text/html; charset={_CHARSET}"
    search_type = content_type
    prints = ("yard_sqm", "floor", "floors_total", "elevator", "furnishing", "condition")
    forbidden = "/pdf_responsive.php"
    page_size = 24
    name: ClassVar[str]
    """The beginning of the names of its templates."""
    agency: ClassVar[str]
    offers: ClassVar[str]
    """The word behind the number of results."""
    photo_folder: ClassVar[str]
    searches: ClassVar[re.Pattern[str]]
    """The address of a page of results: the deal, and the number of the page if it is not the first."""
    first_page: ClassVar[int] = 1
    """The number that the first page would have."""

    def facts(self, advert: TwinAdvert) -> Truth:
        """What its page says."""
        home, money, act = advert.home, advert.money, _act(advert)
        return {
            "price_bgn": round(money.bgn) if money.bgn else None,
            "previous_price_eur": _old_price(advert),
            "vat": "excluded" if _is_without_vat(advert) else None,
            "area_net_sqm": _net_area(advert),
            "construction": _CONSTRUCTIONS.get(home.construction or ""),
            "under_construction": {"will": True, "use": False}.get(home.age.form),
            "act_status": f"act{act}" if act else None,
            "heating": sorted(_HEATING[word] for word in _heating(advert)),
            "features": _extras(advert),
            "metro_distance_m": _metro_distance(advert),
            "seller_kind": "agency",
            "seller_name": self.agency,
            "photo_urls": self._photos(advert),
        }

    def search(self, path: str, query: Query) -> Search | None:  # noqa: ARG002 - all in the path
        """A page of sales or of rents."""
        match = self.searches.fullmatch(path)
        if match is None:
            return None
        deal = next(deal for deal, words in _DEALS.items() if words["search"] == match[1])
        page = int(match[2]) + 1 - self.first_page if match[2] else 1
        return Search(Scope(deal), page, path)

    def results(self, search: Search, adverts: Sequence[TwinAdvert], total: int) -> bytes:
        """Cards below their count; the word for page has a Latin letter."""
        deal, page = search.deal, search.page
        following = self.next_url(deal, page, total, self.base)
        cards = [fill(f"{self.name}_card", **self._values(advert)) for advert in adverts]
        body = fill(
            f"{self.name}_results",
            total=total if adverts else 0,
            offers=self.offers,
            page=page,
            pages=self.pages(total),
            cards="".join(cards),
        )
        head = f'<link rel="next" href="{following}" />' if following else ""
        return self._document("Апартаменти", self.base + self.search_path(deal, page), body, head)

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert: what its design has of this."""
        gallery = script_json([{"big": photo, "title": " "} for photo in self._photos(advert)])
        values = {"base": self.base, "agency": self.agency, "gallery": gallery, "extras": _extras(advert)}
        body = fill(f"{self.name}_advert", **values, **self._values(advert))
        return self._document(escape(advert.title), self.url_of(advert), body)

    def _document(self, title: str, canonical: str, body: str, head: str = "") -> bytes:
        page = fill(f"{self.name}_page", title=title, canonical=canonical, head=head, body=body)
        return page.encode(_CHARSET, "xmlcharrefreplace")

    def _photos(self, advert: TwinAdvert) -> list[str]:
        stamps = photo_names(advert, _MOST_PHOTOS)
        names = [f"{int(stamp, 16)}T{advert.external_id}_{place}" for place, stamp in enumerate(stamps, 1)]
        return [f"{self.photo_folder}/{name}.jpg" for name in names]

    def _values(self, advert: TwinAdvert) -> dict[str, object]:
        """What both designs print, on cards and on pages."""
        # The quarter with its kind, unless its name says that.
        name = advert.home.place.neighbourhood
        return {
            "advert": advert,
            "id": advert.external_id,
            "link": self.url_of(advert),
            "act": _act(advert),
            "type": _type(advert),
            "deal": _DEALS[advert.home.deal],
            "quarter": name if name.startswith(("с. ", "гр. ", "в.з", "ж.к", "кв")) else f"кв. {name}",
            "sums": _sums(advert),
            "net": _net_area(advert),
            "metro": _metro_distance(advert),
            "heating": _heating(advert),
            "construction": _construction(advert),
            "without_vat": _is_without_vat(advert),
            "photos": self._photos(advert),
        }


class SuprimmoPortal(GroupPortal):
    """suprimmo.bg pages by a number in the path: panels of labels with their values beside them."""

    site = "suprimmo.bg"
    name = "suprimmo"
    listing_path = re.compile(r"/imot-(\d+)(?:-[^/]*)?/?")
    agency = "Superimoti.bg"
    offers = "намерени оферти"
    photo_folder = "https://static4.superimoti.bg/property-images/big"
    searches = re.compile(
        r"/(prodajba|naem)/bulgaria/oblast-sofiya/sofiya-imoti/po-tip-apartamenti/(?:page/(\d{1,6})/)?"
    )

    def path_of(self, advert: TwinAdvert) -> str:
        """The number, and the title in Latin letters."""
        return f"/imot-{advert.external_id}-{slug(advert.title)}/"

    def search_path(self, deal: str, page: int) -> str:
        """The first page needs no number."""
        first = f"/{_DEALS[deal]['search']}/bulgaria/oblast-sofiya/sofiya-imoti/po-tip-apartamenti/"
        return first + (f"page/{page}/" if page > 1 else "")


class LuximmoPortal(GroupPortal):
    """luximmo.bg pages by the name of a file, whose number is one less than the page's."""

    site = "luximmo.bg"
    name = "luximmo"
    first_page = 0
    listing_path = re.compile(r"/(?:[^/]+/)*luksozen-imot-(\d+)(?:-[^/]*)?\.html")
    agency = "Луксиммо"
    offers = "оферти"
    photo_folder = "https://static.luximmo.org/property-images/big_bg"
    searches = re.compile(
        r"/(prodajba|naem)/bulgaria/oblast-sofiya/sofiya-luksozni-imoti/po-tip-apartamenti/index(\d{0,6})\.html"
    )

    def path_of(self, advert: TwinAdvert) -> str:
        """Its town, type and number."""
        town, kind = slug(advert.home.place.city), slug(_type(advert))
        name = f"luksozen-imot-{advert.external_id}-{kind}-{_DEALS[advert.home.deal]['slug']}-v-{town}.html"
        return f"/bulgaria/oblast-sofia/{town}/luksozni-imoti-{kind}/{name}"

    def search_path(self, deal: str, page: int) -> str:
        """The first page has no number."""
        folder = f"/{_DEALS[deal]['search']}/bulgaria/oblast-sofiya/sofiya-luksozni-imoti/po-tip-apartamenti"
        return f"{folder}/index{page - 1 if page > 1 else ''}.html"


def _sums(advert: TwinAdvert) -> list[tuple[str, float, float | None]]:
    """The price in each currency that is printed, with the old one of what is reduced; none to ask for."""
    money, old = advert.money, _old_price(advert)
    euro = [("&#x20AC;", money.amount_eur, old)] if money.shown else []
    return euro + ([("&#x43B;&#x432;.", money.bgn, old and leva(old))] if money.bgn else [])


def _type(advert: TwinAdvert) -> str:
    return _KINDS.get(advert.home.kind.label, advert.home.kind.words)


def _act(advert: TwinAdvert) -> str | None:
    """The act the building has: 14 or 15 while it is being built, 16 when it is used."""
    being_built = (None, "14", "15")[advert.home.number % 3]
    return {"will": being_built, "use": "16"}.get(advert.home.age.form)


def _heating(advert: TwinAdvert) -> list[str]:
    """Kinds of heating, in the order of the alphabet."""
    flags = {"Парно на газ": advert.home.gas, "ТЕЦ": advert.home.district_heating}
    return [word for word, flag in flags.items() if flag == "ДА"]


def _construction(advert: TwinAdvert) -> list[str]:
    """What it is built of, where the portal has a word for it."""
    return [word for word in (advert.home.construction,) if word in _CONSTRUCTIONS]


def _extras(advert: TwinAdvert) -> list[str]:
    """Everything in the lists that open at a click."""
    lift = ["Асансьор"] if "Асансьор" in advert.home.features else []
    return [*_construction(advert), *_heating(advert), *lift]


def _old_price(advert: TwinAdvert) -> float | None:
    """The crossed-out price of what is reduced."""
    reduced = advert.money.shown and not advert.home.number % _REDUCED_EVERY
    return float(round(advert.money.amount_eur * _OLD_PRICE)) if reduced else None


def _is_without_vat(advert: TwinAdvert) -> bool:
    return advert.money.shown and advert.home.vat == "excluded"


def _net_area(advert: TwinAdvert) -> int | None:
    """The area without common parts, of flats alone."""
    area = advert.home.area_sqm
    return area - round(area * _SHARE_COMMON) if advert.home.kind.flat else None


def _metro_distance(advert: TwinAdvert) -> int | None:
    """Metres to the next station of the metro."""
    number = advert.home.number
    return None if number % _NEAR_METRO_EVERY else 150 + number % 9 * 100
