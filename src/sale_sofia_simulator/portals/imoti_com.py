"""imoti.com: an application whose pages hold their data as JSON; until February 2026 plain HTML."""

import json
import re
from collections.abc import Sequence
from typing import Any

from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator.homes import NO_SUCH_HOODS
from sale_sofia_simulator.model import KINDS, RUBRICS, TwinAdvert
from sale_sofia_simulator.pieces import fill, fill_json
from sale_sofia_simulator.portal import Filters, Query, Scope, Search
from sale_sofia_simulator.portals.imot_bg import VAT_TEXTS, floor_in_line
from sale_sofia_simulator.text import TABLES, decimals, slug, spaced
from sale_sofia_simulator.truth import Truth, phone_truth
from sale_sofia_simulator.twins import SOFIA, TwinPortal, photo_names, tilde_hoods, tilde_kinds, with_tildes

_DECARE = 1000
_SEARCH = re.compile(
    r"(?P<first>/(?P<rubric>prodazhbi|naemi)(?P<rest>(?:/[\w-]+)*?))(?:/page-(?P<page>\d+))?/?"
)
_KINDS = {word: KINDS[number - 1].slug for word, number in TABLES["imoti_com_words"].items()}
_HOODS = {hood.slug for hood in neighbourhoods()} - NO_SUCH_HOODS
_DOM_STRANGER = '<advertl><a class="ad" href="/obiava/10000001/prodava-partsel">Продава  Парцел</a></advertl>'
_REGIONS = [{"optsel": 0, "opttext": f"Област {number}", "optval": str(number)} for number in range(2500)]


class ImotiComPortal(TwinPortal):
    """imoti.com numbers its pages in the path, and shows two thousand results of a search."""

    site = "imoti.com"
    listing_path = re.compile(r"/obiava/(\d+)(?:/[^/]*)?/?")
    prints = (
        "vat", "floor", "floors_total", "heating", "elevator", "furnishing", "condition", "parking",
        "features", "seller_kind", "seller_name", "posted_at", "views",
    )  # fmt: skip
    forbidden = "/login"
    page_size = 20
    most_results = 2000

    def path_of(self, advert: TwinAdvert) -> str:
        """Only the number matters."""
        return f"/obiava/{advert.external_id}/{slug(_heading(advert))}"

    def search(self, path: str, query: Query) -> Search | None:
        """`/prodazhbi[/grad-sofiya][/<neighbourhood>][/<types>][/page-N][?sraion=6~10~&pubtype=1~2~]`."""
        match = _SEARCH.fullmatch(path)
        filters = _filters(match["rest"].split("/")[1:], query) if match else None
        if not match or filters is None:
            return None
        deal = next(deal for deal, rubric in RUBRICS.items() if rubric == match["rubric"])
        first = match["first"] + with_tildes(query, "sraion", "pubtype")
        scope = Scope(deal, SOFIA) if filters.hoods else Scope(deal)
        return Search(scope, int(match["page"] or 1), first, filters)

    def search_path(self, deal: str, page: int) -> str:
        """The first page has no number."""
        return _page_path(f"/{RUBRICS[deal]}/grad-sofiya", page)

    def results(self, search: Search, adverts: Sequence[TwinAdvert], total: int) -> bytes:
        """The application and its data; beyond the last page there are none."""
        path, page = search.path, search.page
        rubric = path.split("/")[1]
        data = {
            "adverts": [fill_json("imoti_com_card", **self._values(advert)) for advert in adverts],
            "page": str(page),
            "advfind": total,
            "lastpage": self.pages(total),
            "advmaximum": self.most,
            "canonical": self.base + _page_path(path, page),
        }
        links = "".join(
            f'<advertl><a class="ad" href="{self.path_of(advert)}">{_heading(advert)}</a></advertl>'
            for advert in adverts
        )
        return _page(f"Имоти в град София, {rubric}", f"results?pn={rubric}", data, links, {})

    def old_results(self, search: Search, adverts: Sequence[TwinAdvert], total: int) -> bytes:
        """The same as it was served until February 2026."""
        deal, page = search.deal, search.page
        return fill(
            "imoti_com_old",
            canonical=self.base + self.search_path(deal, page),
            following=self.next_url(deal, page, total, self.base),
            total=spaced(total),
            cards="".join(map(self._old_card, adverts)) or "Няма намерени обяви",
        ).encode()

    def _old_card(self, advert: TwinAdvert) -> str:
        values = self._values(advert) | {"vat": VAT_TEXTS[advert.home.vat]}
        return fill("imoti_com_old_card", url=self.url_of(advert), **values)

    def _values(self, advert: TwinAdvert) -> dict[str, Any]:
        """What its templates print."""
        home = advert.home
        return {
            "advert": advert,
            "path": self.path_of(advert),
            "kind": _kind(advert),
            "area": _area(advert),
            "heading": _heading(advert),
            "title": _title(advert),
            "moment": f"{advert.updated:%H:%M} часа от {advert.updated:%d.%m.%Y}",
            "prices": _prices(advert),
            "floor": floor_in_line(home) if home.floor is not None else "",
            "vat": VAT_TEXTS[home.vat if advert.money.shown else None],
            "photos": [_photo(advert, name) for name in photo_names(advert, 17)],
        }

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert; it has no canonical address, and its data twice."""
        number, path, title = advert.external_id, self.path_of(advert), _title(advert)
        data = {
            "advert": fill_json("imoti_com_advert", **self._values(advert)),
            "h1": title,
            "url": path,
            "title": f"{title} | {number}",
        }
        request = f"details?seoId={number}&slug={path.rpartition('/')[2]}"
        body = f"<h1>{title} - {number}</h1>{_DOM_STRANGER}"
        return _page(title, request, data, body, {"3127198432": data})

    def facts(self, advert: TwinAdvert) -> Truth:
        """What the application was told of it."""
        home, seller = advert.home, advert.seller
        return {
            "title": " ".join(_title(advert).split()),
            "family_id": advert.imot_id,
            "under_construction": True if "В строеж" in home.features else None,
            "lat": None,
            "lon": None,
            "phones": phone_truth(seller)[:1],
            "updated_at": advert.updated.replace(second=0).isoformat(),
            "photo_urls": [f"https:{_photo(advert, name)}" for name in photo_names(advert, 17)],
        }


def _page_path(first: str, page: int) -> str:
    path, mark, query = first.partition("?")
    return first if page == 1 else f"{path}/page-{page}{mark}{query}"


def _filters(parts: list[str], query: Query) -> Filters | None:
    """The place and the type of the path and those of the query; any other word is no search."""
    if parts[:1] == [SOFIA]:
        del parts[0]
    hoods = [parts.pop(0)] if parts and parts[0] in _HOODS else []
    kinds = [_KINDS[parts.pop(0)]] if parts and parts[0] in _KINDS else []
    if parts:
        return None
    return Filters((*hoods, *tilde_hoods(query, "sraion")), (*kinds, *tilde_kinds(query, "pubtype")))


def _page(
    title: str, request: str, data: dict[str, Any], body: str, more: dict[str, dict[str, Any]]
) -> bytes:
    state: dict[str, Any] = {
        number: {"b": {"data": part, "status": "success"}, "s": 200}
        for number, part in {"523200034": {"nraion": _REGIONS}, **more}.items()
    }
    key = f"http_GET_https://www.imoti.com/api/{request}_"
    state[key] = {"body": {"data": data, "status": "success"}, "headers": {}, "status": 200, "url": key}
    spelled = json.dumps(state, ensure_ascii=False).replace("<", "\\u003C")
    return fill("imoti_com_page", title=title, body=body, state=spelled).encode()


def _kind(advert: TwinAdvert) -> str:
    return advert.home.kind.label.capitalize()


def _heading(advert: TwinAdvert) -> str:
    place = advert.home.place
    return f"{advert.home.deal_words}  {_kind(advert)} град {place.city}, {place.neighbourhood}"


def _title(advert: TwinAdvert) -> str:
    place, prices = advert.home.place, _prices(advert)
    lev = f" ({prices['price2']} лв.)" if "price2" in prices else ""
    where = f"{advert.home.deal_words} {_kind(advert)} в град {place.city}, {place.neighbourhood}"
    return f"{where}, {_area(advert)} кв.м, {prices['price'].strip()}{lev}"


def _prices(advert: TwinAdvert) -> dict[str, str]:
    money = advert.money
    if not money.shown:
        return {"price": "при запитване"}
    euro = {"price": f" {spaced(round(money.amount_eur))} €", "currency": "€"}
    return {**euro, "price2": decimals(money.bgn, ","), "currency2": "лв."} if money.bgn else euro


def _area(advert: TwinAdvert) -> str:
    """Farmland in decares, but for some of it; the unit beside it is square metres always."""
    area = advert.home.area_sqm
    in_decares = advert.home.kind.property_type == "land" and (advert.number % 3 or area < _DECARE)
    return f"{area / _DECARE:.3f}" if in_decares else str(area)


def _photo(advert: TwinAdvert, name: str) -> str:
    imot_id = advert.imot_id
    return f"//cdn3.focus.bg/imot/photosimotbg/{imot_id[0]}/{imot_id[-3:]}/big/{imot_id}_{name}.jpg"
