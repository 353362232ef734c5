"""imoti.net: plain HTML in UTF-8; links carry a session, prices in leva are rounded."""

import re
from collections.abc import Mapping, Sequence

from sale_sofia.listings.places import SOFIA
from sale_sofia_simulator.model import KINDS, Kind, Property, TwinAdvert
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.portal import NO_FILTERS, Answer, Filters, Query, Scope, Search, SitemapPaths
from sale_sofia_simulator.text import TABLES, slug
from sale_sofia_simulator.truth import Truth, commissioned, feature_truth, phone_truth
from sale_sofia_simulator.twins import TwinPortal, photo_names, printed_features, whole

_DEALS = {"sale": ("prodava", "продава"), "rent": ("dava-pod-naem", "дава под наем")}
_KINDS: Mapping[str, str] = TABLES["imoti_net_kinds"]
_SELLERS = {"agency": "Агенция за недвижими имоти", "developer": "Строителна фирма"}
_SEARCH = re.compile(r"/bg/obiavi/r/(?P<deal>prodava|dava-pod-naem)/sofia(?:/(?P<kind>[a-z-]+))?/?")
_PAGE_SIZE = 30
_COUNTED = 999
_PAGES_NAMED = 3


def _kind_word(kind: Kind) -> str:
    return kind.slug if kind.rooms else _KINDS[kind.property_type]


_OF_KIND = {
    word: Filters(kinds=tuple(kind.slug for kind in KINDS if _kind_word(kind) == word))
    for word in map(_kind_word, KINDS)
}


class ImotiNetPortal(TwinPortal):
    """imoti.net pages by a number in the query, and lets nobody in at page 200, whatever the search."""

    site = "imoti.net"
    listing_path = re.compile(r"/bg/obiava/(?:[^/]+/)*(\d{6,8})/?")
    prints = ("floors_total", "heating", "seller_name", "updated_at", "views")
    forbidden = "/bg/obiava-print/"
    page_size = _PAGE_SIZE
    most_results = 199 * _PAGE_SIZE
    sitemap_paths = SitemapPaths("/sitemap/sitemapindex.xml", "/sitemap/sitemap{number}.xml", first=3)

    def path_of(self, advert: TwinAdvert) -> str:
        """In imoti.net's own transliteration."""
        home, place = advert.home, advert.home.place
        city = "sofia" if place.city == SOFIA else slug(place.city)
        deal = "prodava--v-stroej" if _is_in_building(advert) else _DEALS[home.deal][0]
        return f"/bg/obiava/{deal}/{city}/{place.slug}/{_kind_word(home.kind)}/{advert.external_id}/"

    def search(self, path: str, query: Query) -> Search | None:
        """`/bg/obiavi/r/prodava/sofia[/<type>]/?page=N`."""
        match = _SEARCH.fullmatch(path)
        if not match or (match["kind"] and match["kind"] not in _OF_KIND):
            return None
        deal = "rent" if match["deal"] == _DEALS["rent"][0] else "sale"
        filters = _OF_KIND.get(match["kind"], NO_FILTERS)
        return Search(Scope(deal), whole(query, "page", 1), path.rstrip("/") + "/", filters)

    def searched(self, search: Search) -> Answer:
        """Nothing from the page on at which the portal closes."""
        if search.page > self.most // _PAGE_SIZE:
            return self.short_page(403, "403 Forbidden", self.site)
        return super().searched(search)

    def search_path(self, deal: str, page: int) -> str:
        """The first page needs no number."""
        return _page_path(f"/bg/obiavi/r/{_DEALS[deal][0]}/sofia/", page)

    def pages(self, total: int) -> int:
        """All of them are announced."""
        return max(1, -(-total // _PAGE_SIZE))

    def results(self, search: Search, adverts: Sequence[TwinAdvert], total: int) -> bytes:
        """Cards in a list, some of which stand above it once more; some pages are named by their numbers."""
        path, page, last = search.path, search.page, self.pages(total)
        body = fill(
            "imoti_net_list",
            cards=[(advert, self.path_of(advert), _floor(advert.home)) for advert in adverts],
            deals=_DEALS,
            photo=_photo,
            count=f"{_COUNTED}+" if total > _COUNTED else total,
            url=self.base + path,
            page=page,
            numbers=(page, *range(page + 1, min(page + _PAGES_NAMED, last))),
            last=last,
        )
        return _page("Недвижими имоти", self.base + _page_path(path, page), body)

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert, with others beside and below it."""
        body = fill(
            "imoti_net_detail",
            advert=advert,
            title=_title(advert),
            deal=_DEALS[advert.home.deal][1],
            photos=[_photo(advert, name) for name in photo_names(advert, 12)],
            floor=_floor(advert.home),
            used=commissioned(advert.home.age),
            extras=printed_features(advert),
            seller_kind=_SELLERS.get(advert.seller.kind),
        )
        return _page(_title(advert), self.url_of(advert).rstrip("/"), body)

    def facts(self, advert: TwinAdvert) -> Truth:
        """What its head, its sidebar, its contacts and its gallery say."""
        home, money, seller = advert.home, advert.money, advert.seller
        in_use = commissioned(home.age)
        being_built = True if _is_in_building(advert) or "В строеж" in home.features else None
        return {
            "title": " ".join(_title(advert).split()),
            "price_bgn": round(money.bgn) if money.bgn else None,
            "floor": _floor(home),
            "act_status": "act16" if in_use else None,
            "under_construction": False if in_use else being_built,
            **feature_truth(printed_features(advert)),
            "seller_kind": seller.kind if seller.name else None,
            "phones": phone_truth(seller) if seller.name else [],
            "photo_urls": [
                f"https://www.imoti.net{_photo(advert, name)}" for name in photo_names(advert, 12)
            ],
        }


def _page(title: str, canonical: str, body: str) -> bytes:
    return fill("imoti_net_page", title=title, canonical=canonical, body=body).encode()


def _page_path(path: str, page: int) -> str:
    return path + (f"?page={page}" if page > 1 else "")


def _floor(home: Property) -> int | None:
    return home.floor if home.floor is not None and home.floor >= 0 else None


def _is_in_building(advert: TwinAdvert) -> bool:
    return advert.home.deal == "sale" and advert.home.age.form == "will"


def _title(advert: TwinAdvert) -> str:
    home, place = advert.home, advert.home.place
    deal, kind = _DEALS[home.deal][1].capitalize(), home.kind.words.lower()
    return f"{deal} {kind} , {place.city}, {place.neighbourhood}"


def _photo(advert: TwinAdvert, name: str) -> str:
    return f"/web/files/obiavi/{advert.external_id}/images/thumb_880x0_{name}.jpg"
