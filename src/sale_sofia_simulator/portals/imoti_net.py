"""imoti.net: plain HTML in UTF-8; links carry a session, prices in leva are rounded."""

import re
from collections.abc import Sequence

from sale_sofia.listings.places import SOFIA
from sale_sofia_simulator.model import KINDS, Kind, TwinAdvert
from sale_sofia_simulator.pieces import ballast, fill
from sale_sofia_simulator.portal import Answer, Query, Search, SitemapPaths
from sale_sofia_simulator.search_index import NO_FILTERS, Filters, Scope
from sale_sofia_simulator.text import slug, spaced
from sale_sofia_simulator.truth import Truth, commissioned, feature_truth, heating_truth, phone_truth
from sale_sofia_simulator.twins import TwinPortal, photo_names, present, printed_features, whole

_DEALS = {"sale": ("prodava", "продава"), "rent": ("dava-pod-naem", "дава под наем")}
_KINDS = {
    "maisonette": "mezonet", "studio": "atelie-tavan", "house_floor": "etaj-ot-kyshta", "house": "kyshta",
    "villa": "vila", "office": "ofis", "shop": "magazin", "other": "zavedenie", "industrial": "sklad",
    "hotel": "hotel", "garage": "garaj", "plot": "parcel", "land": "zemedelska-zemya",
}  # fmt: skip
_ROOMS = {
    1: ("ednostaen", "Едностаен апартамент"),
    2: ("dvustaen", "Двустаен апартамент"),
    3: ("tristaen", "Тристаен апартамент"),
    4: ("chetiristaen", "Четиристаен апартамент"),
    5: ("mnogostaen", "Многостаен апартамент"),
}
_SELLERS = {"agency": "Агенция за недвижими имоти", "developer": "Строителна фирма"}
_SEARCH = re.compile(r"/bg/obiavi/r/(?P<deal>prodava|dava-pod-naem)/sofia(?:/(?P<kind>[a-z-]+))?/?")
_PAGE_SIZE = 30
_COUNTED = 999
_PAGES_NAMED = 3


def _kind_word(kind: Kind) -> str:
    return _ROOMS[kind.rooms][0] if kind.rooms else _KINDS[kind.property_type]


_OF_KIND = {
    word: Filters(kinds=tuple(kind.slug for kind in KINDS if _kind_word(kind) == word))
    for word in map(_kind_word, KINDS)
}


class ImotiNetPortal(TwinPortal):
    """imoti.net pages by a number in the query, and lets nobody in at page 200, whatever the search."""

    site = "imoti.net"
    listing_path = re.compile(r"/bg/obiava/(?:[^/]+/)*(\d{6,8})/?")
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
        return self.refused() if search.page > self.most // _PAGE_SIZE else super().searched(search)

    def search_path(self, deal: str, page: int) -> str:
        """The first page needs no number."""
        return _page_path(f"/bg/obiavi/r/{_DEALS[deal][0]}/sofia/", page)

    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """A page of results; beyond the last there are none."""
        shown = self.shown(found, search.page)
        return self._list(shown, search.path, search.page, self.announced(search))

    def results(self, shown: Sequence[TwinAdvert], deal: str, page: int, total: int) -> bytes:
        """A page of a search without filters."""
        return self._list(shown, self.search_path(deal, 1), page, total)

    def pages(self, total: int) -> int:
        """All of them are announced."""
        return max(1, -(-total // _PAGE_SIZE))

    def _list(self, shown: Sequence[TwinAdvert], path: str, page: int, total: int) -> bytes:
        """Cards in a list; some adverts stand above it once more."""
        promoted = "".join(
            f'<a href="{self.path_of(advert)}">'
            f'<header><strong class="price">1 €</strong>{_words(advert)}</header></a>'
            for advert in shown[:2]
        )
        cards = "".join(map(self._card, shown)) or "<p>Няма намерени имоти.</p>"
        count = f"{_COUNTED}+" if total > _COUNTED else str(total)
        return _page(
            "Недвижими имоти",
            self.base + _page_path(path, page),
            f'<div class="selected-real-estates">{promoted}</div>'
            f'<h2>Резултати <span id="number-of-estates">/{count} имота/</span></h2>'
            f'<ul class="list-view real-estates">{cards}</ul>'
            f"{_paginator(self.base + path, page, self.pages(total))}",
        )

    def _card(self, advert: TwinAdvert) -> str:
        home, money = advert.home, advert.money
        price = '<strong class="price">Цена при запитване</strong>'
        if money.shown:
            lev = f"<br/> {spaced(round(money.bgn))} <small>BGN </small>" if money.bgn else ""
            euro = f"{spaced(round(money.amount_eur))} <small>€</small>"
            price = f'<strong class="price">\n   {euro}\n {lev}\n</strong>'
        floor = "<li>Етаж:  </li>"
        if home.floor is not None and home.floor >= 0:
            floor = f"<li>\n Етаж: {home.floor} от {home.floors_total}   </li>"
        deal = f'<span class="re-offer-type">{_DEALS[home.deal][1]}</span>'
        return fill(
            "imoti_net_card",
            link=f"{self.path_of(advert)}?sid=aBcDeF&amp;page=1",
            photo=_photo(advert, "main"),
            heading=f"{deal} {_words(advert)}, <span>{home.area_sqm} м<sup>2</sup></span>",
            place=_place(advert),
            price=price,
            floor=floor,
            each=spaced(round(money.amount_eur / home.area_sqm)),
            by=advert.seller.name,
            text=advert.prose.text[:80],
        )

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert, with others beside and below it."""
        lat, lon = advert.position or (0.0, 0.0)
        photos = [_photo(advert, name) for name in photo_names(advert, 12)]
        extras = "".join(f"<li>{feature}</li>" for feature in printed_features(advert))
        body = fill(
            "imoti_net_detail",
            title=_title(advert),
            deal=_DEALS[advert.home.deal][1],
            words=_words(advert),
            area=advert.home.area_sqm,
            place=_place(advert),
            activated=f"{advert.updated:%Y-%m-%d %H:%M:%S}",
            id=advert.external_id,
            figure=_figure(photos),
            lat=f"{lat:.14f}",
            lon=f"{lon:.14f}",
            text=advert.prose.html,
            price=_big_price(advert),
            rows="".join(f"<tr> <td>{label}</td> <td>{value}</td> </tr>" for label, value in _rows(advert)),
            extras=f'<ul class="extras">{extras}</ul>' if extras else "",
            views=advert.views,
            contacts=_contact(advert),
            gallery=_gallery(advert, photos) if photos else "",
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
            "floor": home.floor if home.floor is None or home.floor >= 0 else None,
            "floors_total": home.floors_total,
            "act_status": "act16" if in_use else None,
            "under_construction": False if in_use else being_built,
            "heating": heating_truth(home),
            **feature_truth(printed_features(advert)),
            "seller_kind": seller.kind if seller.name else None,
            "seller_name": seller.name,
            "phones": phone_truth(seller) if seller.name else [],
            "updated_at": advert.updated.isoformat(),
            "views": advert.views,
            "photo_urls": [
                f"https://www.imoti.net{_photo(advert, name)}" for name in photo_names(advert, 12)
            ],
        }


def _page(title: str, canonical: str, body: str) -> bytes:
    weight = ballast(60, "imoti.net")
    return fill("imoti_net_page", title=title, canonical=canonical, body=body, weight=weight).encode()


def _page_path(path: str, page: int) -> str:
    return path + (f"?page={page}" if page > 1 else "")


def _paginator(url: str, page: int, last: int) -> str:
    """Some pages by their numbers; before the last one, that and the next."""
    links = []
    for number in (page, *range(page + 1, min(page + _PAGES_NAMED, last))):
        css = "first-page" if number == 1 else "next-page"
        state = " active" if number == page else ""
        links.append(f'<a class="{css}{state}" href="{url}?page={number}">{number}</a>')
    if page < last:
        links.append('<span class="separator">...</span>')
        links.append(f'<a class="last-page " href="{url}?page={last}">{last}</a>')
        links.append(f'<a href="{url}?page={page + 1}" title="Следваща" class="next-page-btn"></a>')
    return f'<nav class="paginator">{"".join(links)}</nav>'


def _is_in_building(advert: TwinAdvert) -> bool:
    return advert.home.deal == "sale" and advert.home.age.form == "will"


def _words(advert: TwinAdvert) -> str:
    kind = advert.home.kind
    return _ROOMS[kind.rooms][1] if kind.rooms else kind.label.capitalize()


def _title(advert: TwinAdvert) -> str:
    return f"{_DEALS[advert.home.deal][1].capitalize()} {_words(advert).lower()} , {_place(advert)}"


def _place(advert: TwinAdvert) -> str:
    return f"{advert.home.place.city}, {advert.home.place.neighbourhood}"


def _photo(advert: TwinAdvert, name: str) -> str:
    return f"/web/files/obiavi/{advert.external_id}/images/thumb_880x0_{name}.jpg"


def _big_price(advert: TwinAdvert) -> str:
    money = advert.money
    sums = [f"{spaced(round(money.amount_eur))} €" if money.shown else "Цена при запитване"]
    if money.bgn:
        sums.append(f"{spaced(round(money.bgn))} BGN")
    return "".join(f'<div class="big-price"> <strong>{amount}</strong> </div>' for amount in sums)


def _rows(advert: TwinAdvert) -> list[tuple[str, str]]:
    home, money = advert.home, advert.money
    floor = home.floor if home.floor is not None and home.floor >= 0 else ""
    rows = [
        (
            "Цена на м<sup>2</sup>/EUR/:",
            spaced(round(money.amount_eur / home.area_sqm)) if money.shown else "",
        ),
        ("Квадратура /м<sup>2</sup>/:", str(home.area_sqm)),
        ("Етаж :", f"{floor} от {home.floors_total}" if home.floors_total else ""),
        ("Строителство:", home.construction or ""),
        ("Акт 16:", "Да" if commissioned(home.age) else "Не"),
        ("Енергиен клас:", "N/A"),
    ]
    return present(rows)


def _figure(photos: Sequence[str]) -> str:
    if not photos:
        return '<figure class="no-svg"> </figure>'
    small = photos[0].replace("880x0", "620x349")
    return f'<figure> <img loading="lazy" src="{small}" itemprop="image"> </figure>'


def _gallery(advert: TwinAdvert, photos: Sequence[str]) -> str:
    """Slides with their clones on both sides, then the plans."""

    def slide(photo: str, classes: str = "owl-item") -> str:
        return f'<div class="{classes}"><div> <img src="{photo}"> </div></div>'

    slides = [slide(photo) for photo in photos]
    clones = [slide(photo, "owl-item cloned") for photo in photos]
    plan = slide(f"/web/files/obiavi/{advert.external_id}/blueprints/thumb_880x0_plan.jpg")
    popups = {"gallery": [*clones[-4:], *slides, *clones[:4]], "sketch": [plan]}
    return "".join(
        f'<div class="popup" data-popup="{name}"> <img src="/web//images/msg_upload_bg-BG.png">'
        f'<div class="gallery-slider-pics">{"".join(pictures)}</div></div>'
        for name, pictures in popups.items()
    )


def _contact(advert: TwinAdvert) -> str:
    seller = advert.seller
    if seller.name is None:
        return ""
    phones = "; ".join(seller.phones)
    return (
        f'<li> <div class="box"> <h4>{_SELLERS[seller.kind]}</h4> '
        f'<h6 itemprop="name" class="contact-agency-name"><a class="btn-link">{seller.name}</a></h6> '
        f'<span class="contact-tel"> <a class="hidden-phone">{phones} </a>,</span> </div> </li>'
        f'<li> <div class="box"> <h4>Консултант/Представител/Брокер</h4> </div> </li>'
    )
