"""olx.bg: results as JSON, adverts as large pages that hold their data as JSON inside a string, in UTF-8."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlencode

from sale_sofia_simulator.model import KINDS, RUBRIC_NAMES, TwinAdvert
from sale_sofia_simulator.pieces import fill, fill_json
from sale_sofia_simulator.portal import Answer, Filters, Query, Scope, Search
from sale_sofia_simulator.text import TABLES, slug
from sale_sofia_simulator.truth import Truth
from sale_sofia_simulator.twins import TwinPortal, photo_names, whole

_MOST_AT_ONCE = 50
_API = "/api/v1/offers/"
_PRICE = "filter_float_price"
_LIST = re.compile(
    r"/nedvizhimi-imoti/(?P<deal>prodazhbi|naemi)(?P<flats>/apartamenti)?(?:/oblast-sofiya-grad)?/?"
)
_DIGITS = "0123456789abcdefghijklmnopqrstuwvxyzABCDEFGHIJKLMNOPQRSTUWVXYZ"
_RUBRICS = {"sale": 381, "rent": 383}
_CATEGORIES: Mapping[str, Mapping[str, int]] = TABLES["olx_categories"]
_TYPES = {"studio": "apartment", "villa": "house"}
"""What the categories do not know, and what it is to them."""
_HEATING = {"ДА": ["district"], "Лок.отопл.": ["local"]}
_OPTIONS = {"Асансьор": "асансьор", "С паркинг": "паркинг", "Саниран": "саниран"}
_FILES = "https://frankfurt.apollo.olxcdn.com:443/v1/files"


class OlxPortal(TwinPortal):
    """olx.bg shows a thousand results of a search: by its interface, which links to the next, or as pages."""

    site = "olx.bg"
    prints = ("yard_sqm", "floors_total", "year_built", "posted_at", "updated_at")
    forbidden = "/myaccount"
    page_size = 40
    most_results = 1000
    search_type = "application/json; charset=utf-8"

    def path_of(self, advert: TwinAdvert) -> str:
        """Its title, and its number in the portal's own digits."""
        number, code = advert.number, ""
        while number:
            number, digit = divmod(number, len(_DIGITS))
            code = _DIGITS[digit] + code
        return f"/d/ad/{slug(advert.title)}-CID368-ID{code}.html"

    def listing_id(self, path: str) -> str | None:
        """The number that the end of the path spells."""
        head, _, tail = path.rpartition("-ID")
        if not head.startswith("/d/ad/") or not tail.endswith(".html"):
            return None
        number = 0
        for sign in tail.removesuffix(".html"):
            number = number * len(_DIGITS) + _DIGITS.find(sign)
        return str(number)

    def search(self, path: str, query: Query) -> Search | None:
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
        first, size = whole(query, "offset", 0), min(whole(query, "limit", self.page_size), _MOST_AT_ONCE)
        criteria = {name: value for name, value in query.items() if name not in {"offset", "limit"}}
        filters = _filters(_of_category(deal, category), query, f"{_PRICE}:{{}}")
        return Search(Scope(deal), 1, urlencode(criteria, doseq=True), filters, range(first, first + size))

    def searched(self, search: Search) -> Answer:
        """JSON, or a page."""
        answer = super().searched(search)
        return answer if search.window is not None else answer._replace(content_type=self.content_type)

    def search_path(self, deal: str, page: int) -> str:
        """The interface's address."""
        window = f"offset={(page - 1) * self.page_size}&limit={self.page_size}"
        return f"{_API}?{window}&category_id={_RUBRICS[deal]}&region_id=306&city_id=8771"

    def on_page(self, search: Search) -> list[TwinAdvert]:
        """Past the end of the pages one advert is left."""
        adverts = super().on_page(search)
        past_the_end = not adverts and search.window is None
        return super().on_page(search._replace(page=1))[:1] if past_the_end else adverts

    def results(self, search: Search, adverts: Sequence[TwinAdvert], total: int) -> bytes:
        """What the interface answers, or a page of results."""
        if search.window is None:
            listing = {
                "ads": [self._advert_json("olx_ad", advert) for advert in adverts],
                "totalElements": min(total, self.most),
                "totalPages": self.pages(total),
                "pageNumber": search.page - 1,
            }
            return _page("Имоти", self.base + search.path, "listing", {"listing": listing})
        url = f"{self.base}{_API}?offset={{}}&limit={len(search.window)}&{search.path}"
        links = {"self": {"href": url.format(search.window.start)}}
        if search.window.stop < min(len(self.matches(search)), self.most):
            links["next"] = {"href": url.format(search.window.stop)}
        answer = {
            "data": [self._advert_json("olx_card", advert) for advert in adverts],
            "metadata": {
                "total_elements": min(total, self.most),
                "visible_total_count": total,
                "promoted": [],
            },
            "links": links,
        }
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert: most of it is what every page has."""
        labels = ("Заглавна страница", "Недвижими имоти", RUBRIC_NAMES[advert.home.deal], "Имоти")
        crumbs = [{"label": label, "href": "/"} for label in labels]
        own = {"ad": self._advert_json("olx_ad", advert), "breadcrumbs": crumbs, "userAgent": "Mozilla/5.0"}
        return _page(advert.title, self.url_of(advert), "ad", own)

    def facts(self, advert: TwinAdvert) -> Truth:
        """Nearly everything; coordinates are never exact."""
        home, kind, options = advert.home, advert.home.kind, _options(advert)
        return {
            "property_type": _TYPES.get(kind.property_type, kind.property_type),
            "floor": home.floor if home.floor is None or home.floor >= 0 else None,
            "under_construction": None if home.construction is None else home.age.form == "will",
            "heating": _HEATING.get(home.district_heating or "", []),
            "elevator": True if "асансьор" in options else None,
            "features": options,
            "seller_kind": "private" if advert.seller.name is None else "agency",
            "seller_name": advert.seller.name or "Ралица",
            "photo_urls": _photos(advert),
        }

    def _advert_json(self, name: str, advert: TwinAdvert) -> dict[str, Any]:
        return fill_json(
            name,
            advert=advert,
            url=self.url_of(advert),
            category=_CATEGORIES[advert.home.deal][advert.home.kind.property_type],
            options=_options(advert),
            photos=_photos(advert),
        )


def _of_category(deal: str, category: int) -> tuple[str, ...]:
    """The kinds of a category; none are named where it is all of them."""
    return tuple(kind.slug for kind in KINDS if _CATEGORIES[deal][kind.property_type] == category)


def _filters(kinds: tuple[str, ...], query: Query, name: str) -> Filters:
    prices = (query.get(name.format(end), [""])[0] for end in ("from", "to"))
    least, most = (int(price) if price.isdecimal() else None for price in prices)
    return Filters(kinds=kinds, least_eur=least, most_eur=most)


def _options(advert: TwinAdvert) -> list[str]:
    return [_OPTIONS[name] for name in advert.home.features if name in _OPTIONS]


def _photos(advert: TwinAdvert) -> list[str]:
    return [f"{_FILES}/{name}-BG/image;s=750x1000" for name in photo_names(advert, 13)]


def _page(title: str, url: str, name: str, own: dict[str, Any]) -> bytes:
    """A page whose state, a string, holds its own part and the portal's whole tree of categories."""
    state = json.dumps(f'{{"{name}":{_spelled(own)},"categories":{_categories()}}}', ensure_ascii=False)
    return fill("olx_page", title=title, url=url, state=state).encode()


def _spelled(value: object) -> str:
    """JSON as the portal writes it: slashes as escapes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("/", "\\u002F")


@cache
def _categories() -> str:
    return _spelled(fill_json("olx_categories"))
