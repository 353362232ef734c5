"""homes.bg: results as JSON, adverts as pages that hold their data as JSON, in UTF-8."""

import json
from collections.abc import Sequence
from typing import Any
from sale_sofia_simulator.answers import OK
from sale_sofia_simulator.answers import Answer
from sale_sofia_simulator.answers import Search
from sale_sofia_simulator.twins import hood_ids
from sale_sofia_simulator.pieces import ballast
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.search_index import Filters
from sale_sofia_simulator.search_index import Scope
from sale_sofia_simulator.portal import SitemapPaths
from sale_sofia_simulator.text import ordinal
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.text import spaced
from sale_sofia_simulator.truth import Truth
from sale_sofia_simulator.twin_portal import SOFIA
from sale_sofia_simulator.twin_portal import TwinPortal
from sale_sofia_simulator.twin_portal import whole
from sale_sofia_simulator.twins import TwinAdvert
from sale_sofia_simulator.twins import blank_truth
from sale_sofia_simulator.twins import construction
from sale_sofia_simulator.twins import photo_names
from sale_sofia_simulator.twins import sofia_phones


PAGE_SIZE = 20
_MOST_AT_ONCE = 100
_HOODS = hood_ids(
    {
        "Оборище": 487, "Хиподрума": 526, "Иван Вазов": 421, "Хладилника": 527, "Стрелбище": 515,
        "Изток": 424, "Изгрев": 423, "Редута": 503, "Сухата река": 517, "Медицинска академия": 437,
    }
)  # fmt: skip
_NO_HOOD = "no such neighbourhood"
_TYPES = {"sale": "ApartmentSell", "rent": "ApartmentRent"}
_DEALS = {"sale": "za-prodazhba", "rent": "pod-naem"}
_KINDS = {
    "apartment": "apartament", "house": "kyshta", "villa": "vila", "office": "ofis", "shop": "magazin",
    "plot": "parcel", "land": "zemya", "garage": "garaj", "maisonette": "mezonet", "hotel": "hotel",
    "industrial": "sklad", "other": "zavedenie", "studio": "atelie", "house_floor": "etazh-ot-kyshta",
}  # fmt: skip
_WORDS = {1: "Едностаен", 2: "Двустаен", 3: "Тристаен", 4: "Четиристаен", 5: "Многостаен"}
_HEATING = {"ДА": ("ТЕЦ", "district"), "Лок.отопл.": ("Локално отопление", "local")}
_PLACEHOLDER = (42.6977, 23.3219)
_EXTRAS = {"Асансьор": "Асансьор", "С гараж": "Гараж", "Саниран": "Саниран", "С паркинг": "Паркомясто"}


def path_of(advert: TwinAdvert) -> str:
    """An advert's address: its words may be any."""
    kind = f"{_KINDS[advert.home.kind.property_type]}-{_DEALS[advert.home.deal]}"
    place = advert.home.place
    words = slug(f"{title_of(advert).replace('m²', 'm2')} {place.city} {place.neighbourhood}")
    return f"/offer/{kind}/{words}/{advert.external_id}"


def title_of(advert: TwinAdvert) -> str:
    """Двустаен, 68m²; the area stands nowhere else."""
    home = advert.home
    word = _WORDS.get(home.kind.rooms or 0, home.kind.label.capitalize().replace(",", " или"))
    return f"{word}, {home.area_sqm}m²"


class HomesPortal(TwinPortal):
    """homes.bg pages by the first and the last result wanted, and shows a thousand of those it counts."""

    site = "homes.bg"
    forbidden = "/notepad"
    page_size = PAGE_SIZE
    most_results = 1000
    interface = "/api/"
    search_type = "application/json"
    sitemap_paths = SitemapPaths("/sitemaps/sitemap.xml", "/sitemaps/offers-{group}-{number}.xml")

    def listing_id(self, path: str) -> str | None:
        """The last word of the path."""
        return path.rstrip("/").rpartition("/")[2] if path.startswith("/offer/") else None

    def asked(self, path: str, query: dict[str, list[str]]) -> Search | None:
        """`/api/offers?typeId=…[&neighbourhoods[]=…]&startIndex=…&stopIndex=…`."""
        if path.rstrip("/") != "/api/offers":
            return None
        deal = "rent" if query.get("typeId") == [_TYPES["rent"]] else "sale"
        first = whole(query, "startIndex", 0)
        last = min(whole(query, "stopIndex", first + PAGE_SIZE - 1), first + _MOST_AT_ONCE - 1, self.most - 1)
        names = tuple(_hood(text) for text in query.get("neighbourhoods[]", ()))
        scope = Scope(deal, SOFIA) if names else Scope(deal)
        return Search(scope, 1, path, Filters(hoods=names), range(first, last + 1))

    def search_path(self, deal: str, page: int) -> str:
        """The interface's address."""
        first = (page - 1) * PAGE_SIZE
        place = f"startIndex={first}&stopIndex={first + PAGE_SIZE - 1}"
        return f"/api/offers?currencyId=1&filterOrderBy=0&locationId=1&typeId={_TYPES[deal]}&{place}"

    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """The window of the results that was asked for, and whether there is something to show behind it."""
        window = search.window or range(0)
        shown = [self.stock.advert(number) for number in found[window.start : window.stop]]
        more = bool(shown) and window.start + len(shown) < min(len(found), self.most)
        hoods = [hood.name for hood in _HOODS.values() if hood.slug in search.filters.hoods]
        return _answer(shown, search.scope.deal or "sale", self.announced(search), more=more, hoods=hoods)

    def results(self, shown: Sequence[TwinAdvert], deal: str, page: int, total: int) -> bytes:
        """A page of a search without filters."""
        return _answer(shown, deal, total, more=page < self.pages(total))

    def other(self, path: str) -> Answer:
        """The neighbourhoods by their numbers, as a public script reads them: no such answer was kept."""
        if path.rstrip("/") != "/api/neighbourhoods":
            return self.missing()
        pairs = [[number, hood.name] for number, hood in _HOODS.items()]
        return Answer(OK, json.dumps(pairs, ensure_ascii=False).encode(), self.search_type)

    def sitemap_group(self, advert: TwinAdvert) -> str:
        """Sales and rents."""
        return _TYPES[advert.home.deal]

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert."""
        return listing_page(advert, self.base)

    def truth_at(self, advert: TwinAdvert, base: str) -> Truth:
        """No year, no coordinates where the middle of the city stands for them."""
        home = advert.home
        lat, lon = advert.position or (None, None)
        heating = _HEATING.get(home.district_heating or "")
        extras = _extras(advert)
        return blank_truth(advert, base + path_of(advert)) | {
            "title": title_of(advert),
            "description": advert.prose.text,
            "floor": home.floor,
            "floors_total": home.floors_total,
            "construction": construction(advert),
            "heating": [heating[1]] if heating else [],
            "elevator": True if "Асансьор" in extras else None,
            "parking": ["garage"] if "Гараж" in extras else [],
            "features": extras,
            "street": home.place.street,
            "lat": lat,
            "lon": lon,
            "seller_kind": advert.seller.kind if advert.seller.name else None,
            "seller_name": advert.seller.name,
            "phones": sofia_phones(advert) if advert.seller.name else [],
            "views": advert.views,
            "photo_urls": [f"https://g1.homes.bg/{_FOLDER}{name}o.jpg" for name in photo_names(advert, 10)],
        }

    def card_truth(self, advert: TwinAdvert, base: str) -> Truth:
        """Id, address, price, area."""
        return {
            "external_id": advert.external_id,
            "url": base + path_of(advert),
            "price_eur": advert.money.eur,
            "area_sqm": advert.home.area_sqm,
        }


_FOLDER = "2026-04-08_2/"
_SELLERS = {"agency": "Агенция", "developer": "Строителна фирма"}


def _hood(number: str) -> str:
    found = _HOODS.get(int(number)) if number.isdecimal() else None
    return found.slug if found else _NO_HOOD


def _answer(
    shown: Sequence[TwinAdvert], deal: str, total: int, *, more: bool, hoods: Sequence[str] = ()
) -> bytes:
    criteria: dict[str, Any] = {_TYPES[deal]: "Апартаменти", "locationId": "София"}
    answer = {
        "result": [_card(advert) for advert in shown],
        "hasMoreItems": more,
        "offersCount": total,
        "searchHistoryCount": None,
        "searchCriteria": criteria | ({"neighbourhoods": hoods} if hoods else {}),
    }
    return json.dumps(answer, ensure_ascii=False).encode()


def _extras(advert: TwinAdvert) -> list[str]:
    return [_EXTRAS[name] for name in advert.home.features if name in _EXTRAS]


def _price(advert: TwinAdvert) -> dict[str, Any]:
    if not advert.money.shown:
        return {"currency": "", "value": "при запитване"}
    each = spaced(round(advert.money.amount_eur / advert.home.area_sqm)).replace(" ", ",")
    value = spaced(round(advert.money.amount_eur)).replace(" ", ",")
    return {"currency": "EUR", "value": value, "price_per_square_meter": f"{each} EUR/m²"}


def _photos(advert: TwinAdvert) -> list[dict[str, Any]]:
    names = photo_names(advert, 10)
    return [{"name": name, "path": _FOLDER, "width": 448, "height": 336} for name in names]


def _card(advert: TwinAdvert) -> dict[str, Any]:
    return {
        "id": str(advert.number),
        "type": advert.external_id[:2],
        "viewHref": path_of(advert),
        "time": "днес",
        "location": location_of(advert),
        "title": title_of(advert),
        "description": advert.home.construction or "",
        "status": 1,
        "photos": _photos(advert),
        "price": {**_price(advert), "period": None},
        "isFav": False,
    }


def location_of(advert: TwinAdvert) -> str:
    """жк. Изток, София."""
    place = advert.home.place
    return f"{place.neighbourhood}, {place.city}"


def listing_page(advert: TwinAdvert, base: str) -> bytes:
    """The page of one advert."""
    state = json.dumps({"session": {"id": "0" * 32}, "data": {"offer": _offer(advert)}}, ensure_ascii=False)
    state = state.replace("</", "<\\u002F")
    head = f"{title_of(advert)} - {location_of(advert)} | Homes.bg"
    page = fill("homes_page", head=head, url=base + path_of(advert), state=state, weight=ballast(16, "homes"))
    return page.encode()


def _offer(advert: TwinAdvert) -> dict[str, Any]:
    home = advert.home
    return {
        "id": advert.number,
        "status": 1,
        "title": title_of(advert),
        "type": advert.external_id[:2],
        "address": {
            "city": location_of(advert),
            "address": home.place.street or "",
            "coordinates": list(advert.position or _PLACEHOLDER),
            "is_exact_address": 1,
        },
        "published_at": "днес",
        "price": _price(advert),
        "attributes": _attributes(advert),
        "photos": _photos(advert),
        "extras": [{"id": place, "name": name} for place, name in enumerate(_extras(advert))],
        "contacts": _contacts(advert),
        "count_view": advert.views,
        "url": path_of(advert),
    }


def _attributes(advert: TwinAdvert) -> list[dict[str, Any]]:
    home = advert.home
    floor = {None: None, 0: "Партер", -1: "Сутерен"}.get(home.floor, ordinal(home.floor or 1))
    heating = _HEATING.get(home.district_heating or "")
    values = {
        "floor": floor,
        "total_floors": str(home.floors_total) if home.floors_total else None,
        "heating": heating[0] if heating else None,
        "build_type": home.construction,
        "notes": advert.prose.text,
    }
    return [{"key": key, "label": "", **({"value": value} if value else {})} for key, value in values.items()]


def _contacts(advert: TwinAdvert) -> dict[str, Any]:
    seller = advert.seller
    if seller.name is None:
        return {}
    phone = {"number": ",".join(seller.phones), "is_valid": True}
    return {"agency": {"name": seller.name, "type": _SELLERS[seller.kind], "phone": phone}}


