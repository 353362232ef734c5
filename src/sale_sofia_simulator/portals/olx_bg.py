"""olx.bg: results as JSON, adverts as large pages that hold their data as JSON inside a string, in UTF-8."""

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import urlencode
from sale_sofia_simulator.answers import Answer
from sale_sofia_simulator.answers import Search
from sale_sofia_simulator.model import KINDS
from sale_sofia_simulator.pieces import ballast
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.search_index import Filters
from sale_sofia_simulator.search_index import Scope
from sale_sofia_simulator.text import ordinal
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.truth import Truth
from sale_sofia_simulator.twin_portal import TwinPortal
from sale_sofia_simulator.twin_portal import whole
from sale_sofia_simulator.twins import TwinAdvert
from sale_sofia_simulator.twins import blank_truth
from sale_sofia_simulator.twins import construction
from sale_sofia_simulator.twins import photo_names


PAGE_SIZE = 40
_MOST_AT_ONCE = 50
_API = "/api/v1/offers/"
_PRICE = "filter_float_price"
_LIST = re.compile(
    r"/nedvizhimi-imoti/(?P<deal>prodazhbi|naemi)(?P<flats>/apartamenti)?(?:/oblast-sofiya-grad)?/?"
)
_ALL_CATEGORIES = 1200
_DIGITS = "0123456789abcdefghijklmnopqrstuwvxyzABCDEFGHIJKLMNOPQRSTUWVXYZ"
_RUBRICS = {"sale": 381, "rent": 383}
_CATEGORIES = {
    "sale": {
        "apartment": 524, "maisonette": 524, "studio": 524, "office": 525, "shop": 526, "garage": 528,
        "plot": 529, "house": 531, "villa": 531, "industrial": 807, "other": 834, "hotel": 836, "land": 838,
        "house_floor": 840,
    },
    "rent": {
        "apartment": 536, "maisonette": 536, "studio": 536, "office": 537, "shop": 538, "garage": 539,
        "plot": 535, "house": 541, "villa": 541, "industrial": 809, "other": 848, "hotel": 850, "land": 846,
        "house_floor": 852,
    },
}  # fmt: skip
_HEATING = {
    "ДА": ("ТЕЦ", "district"),
    "Лок.отопл.": ("Локално", "local"),
    "Прокарва се": ("Прокарва се", None),
}
_OPTIONS = {"Асансьор": "асансьор", "С паркинг": "паркинг", "Саниран": "саниран"}
_FILES = "https://frankfurt.apollo.olxcdn.com:443/v1/files"


def code_of(number: int) -> str:
    """A number as addresses spell it."""
    code = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        code = _DIGITS[digit] + code
    return code


def path_of(advert: TwinAdvert) -> str:
    """An advert's address."""
    return f"/d/ad/{slug(advert.title)}-CID368-ID{code_of(advert.number)}.html"


class OlxPortal(TwinPortal):
    """olx.bg shows a thousand results of a search: by its interface, which links to the next, or as pages."""

    site = "olx.bg"
    forbidden = "/myaccount"
    page_size = PAGE_SIZE
    most_results = 1000
    interface = "/api/"
    search_type = "application/json; charset=utf-8"

    def listing_id(self, path: str) -> str | None:
        """The number that the end of the path spells."""
        head, _, tail = path.rpartition("-ID")
        if not head.startswith("/d/ad/") or not tail.endswith(".html"):
            return None
        number = 0
        for sign in tail.removesuffix(".html"):
            number = number * len(_DIGITS) + _DIGITS.find(sign)
        return str(number)

    def asked(self, path: str, query: dict[str, list[str]]) -> Search | None:
        """`/api/v1/offers/?offset=…&category_id=…`, or `/nedvizhimi-imoti/prodazhbi/apartamenti/…?page=N`."""
        if match := _LIST.fullmatch(path):
            deal = "rent" if match["deal"] == "naemi" else "sale"
            flats = _of_category(deal, _CATEGORIES[deal]["apartment"]) if match["flats"] else ()
            filters = _filters(flats, query, f"search[{_PRICE}:{{}}]")
            return Search(Scope(deal), max(1, whole(query, "page", 1)), path, filters)
        if path.rstrip("/") + "/" != _API:
            return None
        category = whole(query, "category_id", _RUBRICS["sale"])
        deal = "rent" if category in {_RUBRICS["rent"], *_CATEGORIES["rent"].values()} else "sale"
        first, size = whole(query, "offset", 0), min(whole(query, "limit", PAGE_SIZE), _MOST_AT_ONCE)
        kept = {name: value for name, value in query.items() if name not in {"offset", "limit"}}
        filters = _filters(_of_category(deal, category), query, f"{_PRICE}:{{}}")
        return Search(Scope(deal), 1, urlencode(kept, doseq=True), filters, range(first, first + size))

    def searched(self, search: Search) -> Answer:
        """JSON, or a page."""
        answer = super().searched(search)
        return answer if search.window is not None else answer._replace(content_type=self.content_type)

    def search_path(self, deal: str, page: int) -> str:
        """The interface's address."""
        first = (page - 1) * PAGE_SIZE
        place = "region_id=306&city_id=8771"
        return f"/api/v1/offers/?offset={first}&limit={PAGE_SIZE}&category_id={_RUBRICS[deal]}&{place}"

    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """What the interface answers, or a page of results; past its end one advert is left."""
        seen, total = found[: self.most], self.announced(search)
        if search.window is not None:
            shown = [self.stock.advert(number) for number in seen[search.window.start : search.window.stop]]
            more = search.window.stop if search.window.stop < len(seen) else None
            return self._answer(shown, search.path, search.window, more, total)
        shown = self.shown(seen, search.page) or [self.stock.advert(number) for number in seen[:1]]
        return self._list(shown, search, total)

    def results(self, shown: Sequence[TwinAdvert], deal: str, page: int, total: int) -> bytes:
        """A window of a search without filters."""
        first = (page - 1) * PAGE_SIZE
        window = range(first, first + PAGE_SIZE)
        query = self.search_path(deal, page).partition(f"limit={PAGE_SIZE}&")[2]
        return self._answer(shown, query, window, window.stop if page < self.pages(total) else None, total)

    def _answer(
        self, shown: Sequence[TwinAdvert], query: str, window: range, more: int | None, total: int
    ) -> bytes:
        url = f"{self.base}{_API}?offset={{}}&limit={len(window)}&{query}"
        links = {"self": {"href": url.format(window.start)}}
        answer = {
            "data": [_card(advert, self.base) for advert in shown],
            "metadata": {
                "total_elements": min(total, self.most),
                "visible_total_count": total,
                "promoted": [],
            },
            "links": {**links, **({"next": {"href": url.format(more)}} if more else {})},
        }
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()

    def _list(self, shown: Sequence[TwinAdvert], search: Search, total: int) -> bytes:
        listing = {
            "ads": [_ad(advert, self.base) for advert in shown],
            "totalElements": min(total, self.most),
            "totalPages": self.pages(total),
            "pageNumber": search.page - 1,
        }
        state = '{"listing":' + _spelled({"listing": listing}) + _categories()
        return _page("Имоти", self.base + search.path, json.dumps(state, ensure_ascii=False))

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert."""
        return listing_page(advert, self.base)

    def truth_at(self, advert: TwinAdvert, base: str) -> Truth:
        """Nearly everything; coordinates are never exact."""
        home = advert.home
        lat, lon = advert.position or (None, None)
        heating = _HEATING.get(home.district_heating or "", ("", None))[1]
        options = _options(advert)
        year, under = home.age.known_year, home.age.form == "will"
        finished = None if home.construction is None else under
        return blank_truth(advert, base + path_of(advert)) | {
            "description": advert.prose.text,
            "property_type": _type(advert),
            "rooms": home.kind.rooms,
            "yard_sqm": home.yard_sqm,
            "floor": home.floor if home.floor is None or home.floor >= 0 else None,
            "floors_total": home.floors_total,
            "construction": construction(advert),
            "year_built": year,
            "under_construction": finished,
            "heating": [heating] if heating else [],
            "elevator": True if "асансьор" in options else None,
            "features": options,
            "lat": lat,
            "lon": lon,
            "seller_kind": "private" if advert.seller.name is None else "agency",
            "seller_name": advert.seller.name or "Ралица",
            "posted_at": advert.posted.isoformat(),
            "updated_at": advert.updated.isoformat(),
            "photo_urls": _photos(advert),
        }

    def card_truth(self, advert: TwinAdvert, base: str) -> Truth:
        """Id, address, price, area."""
        return {
            "external_id": advert.external_id,
            "url": base + path_of(advert),
            "price_eur": advert.money.eur,
            "area_sqm": advert.home.area_sqm,
        }


def _of_category(deal: str, category: int) -> tuple[str, ...]:
    """The kinds of a category; none are named where it is all of them."""
    return tuple(kind.slug for kind in KINDS if _CATEGORIES[deal][kind.property_type] == category)


def _filters(kinds: tuple[str, ...], query: dict[str, list[str]], name: str) -> Filters:
    least, most = (query.get(name.format(end), [""])[0] for end in ("from", "to"))
    return Filters(
        kinds=kinds,
        least_eur=int(least) if least.isdecimal() else None,
        most_eur=int(most) if most.isdecimal() else None,
    )


def _type(advert: TwinAdvert) -> str:
    """The category knows no studio and no villa."""
    return {"studio": "apartment", "villa": "house"}.get(
        advert.home.kind.property_type, advert.home.kind.property_type
    )


def _options(advert: TwinAdvert) -> list[str]:
    return [_OPTIONS[name] for name in advert.home.features if name in _OPTIONS]


def _photos(advert: TwinAdvert) -> list[str]:
    return [f"{_FILES}/{name}-BG/image;s=750x1000" for name in photo_names(advert, 13)]


def _display(advert: TwinAdvert) -> str:
    money = advert.money
    if not money.shown:
        return "Замяна"
    euro = f"{round(money.amount_eur)} €"
    return f"{money.bgn:.2f} лв. / {euro}" if money.bgn else euro


def _params(advert: TwinAdvert) -> list[tuple[str, str, str | None]]:
    home = advert.home
    atype = {5: "многостаен", None: "мезонет" if home.kind.property_type == "maisonette" else None}
    floor = {None: None, 0: "Партер", -1: None}.get(home.floor, ordinal(home.floor or 1))
    state = "В строеж" if home.age.form == "will" else "Завършена"
    land = home.kind.property_type == "land"
    return [
        ("ppsp", "Цена на кв.м", str(round(advert.money.amount_eur / home.area_sqm, 2))),
        ("atype", "Тип апартамент", atype.get(home.kind.rooms, f"{home.kind.rooms} - стаен")),
        ("space", "Квадратура", f"{home.area_sqm / 1000:g} дка" if land else f"{home.area_sqm} кв.м"),
        ("yspace", "Двор", f"{home.yard_sqm} кв.м" if home.yard_sqm else None),
        ("cyear", "Година на строителство", f"{home.age.known_year} г." if home.age.known_year else None),
        ("ctype", "Строителство", home.construction),
        ("floor", "Етаж", floor),
        ("floors", "Брой етажи на сградата", str(home.floors_total) if home.floors_total else None),
        ("heat", "Отопление", _HEATING.get(home.district_heating or "", (None,))[0]),
        ("cstate", "Състояние на сградата", state if home.construction else None),
        ("opt", "Особености", ", ".join(_options(advert)) or None),
    ]


def _card(advert: TwinAdvert, base: str) -> dict[str, Any]:
    place = advert.home.place
    params = [
        {"key": key, "name": name, "type": "select", "value": {"key": value, "label": value}}
        for key, name, value in [*_params(advert), ("price", "Цена", _display(advert))]
        if value
    ]
    return {
        "id": advert.number,
        "url": base + path_of(advert),
        "title": advert.title,
        "last_refresh_time": advert.updated.isoformat(),
        "created_time": advert.posted.isoformat(),
        "description": advert.prose.html,
        "params": params,
        "business": advert.seller.name is not None,
        "status": "active",
        "location": {
            "city": {"id": 8771, "name": place.city},
            "district": {"id": 1507, "name": place.neighbourhood},
            "region": {
                "id": 306,
                "name": "Област София-град" if place.city == "София" else f"Област {place.city}",
            },
        },
        "photos": [{"link": photo} for photo in _photos(advert)],
        "category": {"id": _category(advert), "type": "real_estate"},
    }


def _category(advert: TwinAdvert) -> int:
    return _CATEGORIES[advert.home.deal][advert.home.kind.property_type]


def listing_page(advert: TwinAdvert, base: str) -> bytes:
    """The page of one advert: most of it is what every page has."""
    own = _spelled({"ad": _ad(advert, base), "breadcrumbs": _crumbs(advert), "userAgent": "Mozilla/5.0"})
    state = json.dumps('{"ad":' + own + _categories(), ensure_ascii=False)
    return _page(advert.title, base + path_of(advert), state)


def _page(title: str, url: str, state: str) -> bytes:
    return fill(
        "olx_page",
        title=title,
        url=url,
        before=ballast(120, "olx"),
        state=state,
        after=ballast(60, "olx after"),
    ).encode()


def _spelled(value: object) -> str:
    """JSON as the portal writes it: slashes as escapes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("/", "\\u002F")


def _category_data(number: int) -> dict[str, Any]:
    name = f"rubrika-{number}"
    words = {"label": name, "name": f"Рубрика {number}", "normalizedName": name, "path": f"rubriki/{name}"}
    numbers = {"id": number, "parentId": number // 7, "position": number % 40, "level": 3, "displayOrder": 1}
    return {**numbers, **words, "viewType": "list", "iconName": "", "children": []}


@cache
def _categories() -> str:
    """The portal's whole tree of categories, which every page holds."""
    listed = {str(number): _category_data(number) for number in range(1, _ALL_CATEGORIES)}
    return ',"categories":' + _spelled({"list": listed, "counts": {}, "promos": []}) + "}"


def _ad(advert: TwinAdvert, base: str) -> dict[str, Any]:
    place, money = advert.home.place, advert.money
    region = "София-град" if place.city == "София" else place.city
    lat, lon = advert.position or (None, None)
    regular = {"value": money.amount_eur, "currencyCode": "EUR", "currencySymbol": "€", "negotiable": False}
    return {
        "id": advert.number,
        "title": advert.title,
        "description": advert.prose.html,
        "category": {"id": _category(advert), "type": "real_estate"},
        "map": {"lat": lat, "lon": lon, "radius": 1, "zoom": 13},
        "isBusiness": advert.seller.name is not None,
        "url": base + path_of(advert),
        "createdTime": advert.posted.isoformat(),
        "lastRefreshTime": advert.updated.isoformat(),
        "isActive": True,
        "status": "active",
        "params": [
            {"key": key, "name": name, "type": "select", "value": value, "normalizedValue": key}
            for key, name, value in _params(advert)
            if value
        ],
        "price": {"displayValue": _display(advert), "regularPrice": regular if money.shown else None},
        "photos": _photos(advert),
        "location": {
            "cityName": f"гр. {place.city}",
            "districtName": place.neighbourhood,
            "pathName": f"Област {region}, гр. {place.city}, {place.neighbourhood}",
        },
        "user": {"id": advert.seller.user, "name": advert.seller.name or "Ралица", "company_name": ""},
    }


def _crumbs(advert: TwinAdvert) -> list[dict[str, str]]:
    labels = ("Заглавна страница", "Недвижими имоти", {"sale": "Продажби", "rent": "Наеми"}[advert.home.deal])
    return [{"label": label, "href": "/"} for label in (*labels, "Имоти")]


