"""homes.bg: results as JSON, adverts as pages that hold their data as JSON, in UTF-8."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sale_sofia_simulator.model import ROOM_WORDS, TwinAdvert
from sale_sofia_simulator.pieces import fill, fill_json
from sale_sofia_simulator.portal import OK, Answer, Filters, Query, Scope, Search, SitemapPaths
from sale_sofia_simulator.text import TABLES, slug
from sale_sofia_simulator.truth import Truth, phone_truth
from sale_sofia_simulator.twins import NOTHING, SOFIA, TwinPortal, hood_ids, photo_names, whole

_MOST_AT_ONCE = 100
_HOODS = hood_ids(TABLES["homes_hoods"])
_TYPES = {"sale": "ApartmentSell", "rent": "ApartmentRent"}
_DEALS = {"sale": "za-prodazhba", "rent": "pod-naem"}
_KINDS: Mapping[str, str] = TABLES["homes_kinds"]
_HEATING = {"ДА": ("ТЕЦ", "district"), "Лок.отопл.": ("Локално отопление", "local")}
_PLACEHOLDER = (42.6977, 23.3219)
_EXTRAS = {"Асансьор": "Асансьор", "С гараж": "Гараж", "Саниран": "Саниран", "С паркинг": "Паркомясто"}
_FOLDER = "2026-04-08_2/"


class HomesPortal(TwinPortal):
    """homes.bg pages by the first and the last result wanted, and shows a thousand of those it counts."""

    site = "homes.bg"
    prints = ("floor", "floors_total", "street", "seller_name", "views")
    forbidden = "/notepad"
    page_size = 20
    most_results = 1000
    search_type = "application/json"
    sitemap_paths = SitemapPaths("/sitemaps/sitemap.xml", "/sitemaps/offers-{group}-{number}.xml")

    def path_of(self, advert: TwinAdvert) -> str:
        """Its words may be any."""
        kind = f"{_KINDS[advert.home.kind.property_type]}-{_DEALS[advert.home.deal]}"
        place = advert.home.place
        words = slug(f"{_title(advert).replace('m²', 'm2')} {place.city} {place.neighbourhood}")
        return f"/offer/{kind}/{words}/{advert.external_id}"

    def listing_id(self, path: str) -> str | None:
        """The last word of the path."""
        return path.rstrip("/").rpartition("/")[2] if path.startswith("/offer/") else None

    def search(self, path: str, query: Query) -> Search | None:
        """`/api/offers?typeId=…[&neighbourhoods[]=…]&startIndex=…&stopIndex=…`."""
        if path.rstrip("/") != "/api/offers":
            return None
        deal = "rent" if query.get("typeId") == [_TYPES["rent"]] else "sale"
        first = whole(query, "startIndex", 0)
        last = min(
            whole(query, "stopIndex", first + self.page_size - 1), first + _MOST_AT_ONCE - 1, self.most - 1
        )
        numbers = [int(text) if text.isdecimal() else -1 for text in query.get("neighbourhoods[]", ())]
        hoods = tuple(_HOODS[number].slug if number in _HOODS else NOTHING for number in numbers)
        scope = Scope(deal, SOFIA) if hoods else Scope(deal)
        return Search(scope, 1, path, Filters(hoods=hoods), range(first, last + 1))

    def search_path(self, deal: str, page: int) -> str:
        """The interface's address."""
        first = (page - 1) * self.page_size
        place = f"startIndex={first}&stopIndex={first + self.page_size - 1}"
        return f"/api/offers?currencyId=1&filterOrderBy=0&locationId=1&typeId={_TYPES[deal]}&{place}"

    def results(self, search: Search, adverts: Sequence[TwinAdvert], total: int) -> bytes:
        """The window of the results that was asked for, and whether there is something to show behind it."""
        first = search.window.start if search.window else 0
        hoods = [hood.name for hood in _HOODS.values() if hood.slug in search.filters.hoods]
        criteria: dict[str, Any] = {_TYPES[search.deal]: "Апартаменти", "locationId": "София"}
        answer = {
            "result": [self._advert_json("homes_card", advert) for advert in adverts],
            "hasMoreItems": 0 < len(adverts) < min(len(self.matches(search)), self.most) - first,
            "offersCount": total,
            "searchHistoryCount": None,
            "searchCriteria": criteria | ({"neighbourhoods": hoods} if hoods else {}),
        }
        return json.dumps(answer, ensure_ascii=False).encode()

    def other(self, path: str) -> Answer:
        """The neighbourhoods by their numbers, as a public script reads them: no such answer was kept."""
        if path.rstrip("/") != "/api/neighbourhoods":
            return self.missing()
        pairs = [[number, hood.name] for number, hood in _HOODS.items()]
        return Answer(OK, json.dumps(pairs, ensure_ascii=False).encode(), self.search_type)

    def sitemap_group(self, advert: TwinAdvert) -> str:
        """Sales and rents."""
        return _TYPES[advert.home.deal]

    def facts(self, advert: TwinAdvert) -> Truth:
        """No year, no coordinates where the middle of the city stands for them."""
        seller, extras = advert.seller, _extras(advert)
        heating = _HEATING.get(advert.home.district_heating or "")
        return {
            "title": _title(advert),
            "heating": [heating[1]] if heating else [],
            "elevator": True if "Асансьор" in extras else None,
            "parking": ["garage"] if "Гараж" in extras else [],
            "features": extras,
            "seller_kind": seller.kind if seller.name else None,
            "phones": phone_truth(seller) if seller.name else [],
            "photo_urls": [f"https://g1.homes.bg/{_FOLDER}{name}o.jpg" for name in photo_names(advert, 10)],
        }

    def _advert_json(self, name: str, advert: TwinAdvert) -> dict[str, Any]:
        return fill_json(
            name,
            advert=advert,
            path=self.path_of(advert),
            title=_title(advert),
            location=_location(advert),
            coordinates=advert.position or _PLACEHOLDER,
            heating=_HEATING.get(advert.home.district_heating or "", (None,))[0],
            extras=_extras(advert),
            folder=_FOLDER,
            photos=photo_names(advert, 10),
        )

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert."""
        state = {"session": {"id": "0" * 32}, "data": {"offer": self._advert_json("homes_offer", advert)}}
        return fill(
            "homes_page",
            head=f"{_title(advert)} - {_location(advert)} | Homes.bg",
            url=self.url_of(advert),
            state=json.dumps(state, ensure_ascii=False).replace("</", "<\\u002F"),
        ).encode()


def _title(advert: TwinAdvert) -> str:
    """Двустаен, 68m²; the area stands nowhere else."""
    kind = advert.home.kind
    word = ROOM_WORDS[kind.rooms or 0] or kind.label.capitalize().replace(",", " или")
    return f"{word}, {advert.home.area_sqm}m²"


def _location(advert: TwinAdvert) -> str:
    return f"{advert.home.place.neighbourhood}, {advert.home.place.city}"


def _extras(advert: TwinAdvert) -> list[str]:
    return [_EXTRAS[name] for name in advert.home.features if name in _EXTRAS]
