"""imoti.net: plain HTML in UTF-8; links carry a session, prices in leva are rounded."""

import re
from collections.abc import Sequence
from sale_sofia.listings.places import SOFIA
from sale_sofia_simulator.answers import Answer
from sale_sofia_simulator.answers import Search
from sale_sofia_simulator.model import KINDS
from sale_sofia_simulator.model import Kind
from sale_sofia_simulator.pieces import ballast
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.search_index import NO_FILTERS
from sale_sofia_simulator.search_index import Filters
from sale_sofia_simulator.search_index import Scope
from sale_sofia_simulator.portal import SitemapPaths
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.text import spaced
from sale_sofia_simulator.truth import Truth
from sale_sofia_simulator.truth import commissioned
from sale_sofia_simulator.truth import feature_truth
from sale_sofia_simulator.truth import heating_truth
from sale_sofia_simulator.twin_portal import TwinPortal
from sale_sofia_simulator.twin_portal import whole
from sale_sofia_simulator.twins import TwinAdvert
from sale_sofia_simulator.twins import blank_truth
from sale_sofia_simulator.twins import construction
from sale_sofia_simulator.twins import photo_names
from sale_sofia_simulator.twins import printed_features
from sale_sofia_simulator.twins import sofia_phones


PAGE_SIZE = 30
_DEALS = {"sale": ("prodava", "продава"), "rent": ("dava-pod-naem", "дава под наем")}
_KINDS = {
    "maisonette": "mezonet", "studio": "atelie-tavan", "house_floor": "etaj-ot-kyshta", "house": "kyshta",
    "villa": "vila", "office": "ofis", "shop": "magazin", "other": "zavedenie", "industrial": "sklad",
    "hotel": "hotel", "garage": "garaj", "plot": "parcel", "land": "zemedelska-zemya",
}  # fmt: skip
_ROOMS = {1: ("ednostaen", "Едностаен апартамент"), 2: ("dvustaen", "Двустаен апартамент"),
          3: ("tristaen", "Тристаен апартамент"), 4: ("chetiristaen", "Четиристаен апартамент"),
          5: ("mnogostaen", "Многостаен апартамент")}  # fmt: skip
_SELLERS = {"agency": "Агенция за недвижими имоти", "developer": "Строителна фирма"}
_LISTING = re.compile(r"/bg/obiava/(?:[^/]+/)*(\d{6,8})/?")
_SEARCH = re.compile(r"/bg/obiavi/r/(?P<deal>prodava|dava-pod-naem)/sofia(?:/(?P<kind>[a-z-]+))?/?")
_COUNTED = 999
_PAGES_NAMED = 3


def _kind_word(kind: Kind) -> str:
    return _ROOMS[kind.rooms][0] if kind.rooms else _KINDS[kind.property_type]


_OF_KIND = {
    word: Filters(kinds=tuple(kind.slug for kind in KINDS if _kind_word(kind) == word))
    for word in map(_kind_word, KINDS)
}


def path_of(advert: TwinAdvert) -> str:
    """An advert's address in imoti.net's own transliteration."""
    home, kind = advert.home, _kind_word(advert.home.kind)
    city = "sofia" if home.place.city == SOFIA else slug(home.place.city)
    place = f"{city}/{home.place.slug}"
    deal = "prodava--v-stroej" if _is_in_building(advert) else _DEALS[home.deal][0]
    return f"/bg/obiava/{deal}/{place}/{kind}/{advert.external_id}/"


def _is_in_building(advert: TwinAdvert) -> bool:
    return advert.home.deal == "sale" and advert.home.age.form == "will"


class ImotiNetPortal(TwinPortal):
    """imoti.net pages by a number in the query, and lets nobody in at page 200, whatever the search."""

    site = "imoti.net"
    forbidden = "/bg/obiava-print/"
    page_size = PAGE_SIZE
    most_results = 199 * PAGE_SIZE
    sitemap_paths = SitemapPaths("/sitemap/sitemapindex.xml", "/sitemap/sitemap{number}.xml", first=3)

    def listing_id(self, path: str) -> str | None:
        """The number; the words before it may be any, or none."""
        match = _LISTING.fullmatch(path)
        return match[1] if match else None

    def asked(self, path: str, query: dict[str, list[str]]) -> Search | None:
        """`/bg/obiavi/r/prodava/sofia[/<type>]/?page=N`."""
        match = _SEARCH.fullmatch(path)
        if not match or (match["kind"] and match["kind"] not in _OF_KIND):
            return None
        deal = "rent" if match["deal"] == _DEALS["rent"][0] else "sale"
        filters = _OF_KIND.get(match["kind"], NO_FILTERS)
        return Search(Scope(deal), whole(query, "page", 1), path.rstrip("/") + "/", filters)

    def searched(self, search: Search) -> Answer:
        """Nothing from the page on at which the portal closes."""
        return self.refused() if search.page > self.most // PAGE_SIZE else super().searched(search)

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
        return max(1, -(-total // PAGE_SIZE))

    def _list(self, shown: Sequence[TwinAdvert], path: str, page: int, total: int) -> bytes:
        """Cards in a list; some adverts stand above it once more."""
        cards = "".join(map(_card, shown)) or "<p>Няма намерени имоти.</p>"
        count = f"{_COUNTED}+" if total > _COUNTED else str(total)
        return _page(
            "Недвижими имоти",
            self.base + _page_path(path, page),
            f'<div class="selected-real-estates">{"".join(map(_promoted, shown[:2]))}</div>'
            f'<h2>Резултати <span id="number-of-estates">/{count} имота/</span></h2>'
            f'<ul class="list-view real-estates">{cards}</ul>'
            f"{_paginator(self.base + path, page, self.pages(total))}",
        )

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert, with others beside and below it."""
        lat, lon = advert.position or (0.0, 0.0)
        body = fill(
            "imoti_net_detail",
            title=_title(advert),
            deal=_DEALS[advert.home.deal][1],
            words=_words(advert),
            area=advert.home.area_sqm,
            place=_place(advert),
            activated=f"{advert.updated:%Y-%m-%d %H:%M:%S}",
            id=advert.external_id,
            figure=_figure(advert),
            lat=f"{lat:.14f}",
            lon=f"{lon:.14f}",
            text=advert.prose.html,
            price=_big_price(advert),
            rows="".join(f"<tr> <td>{label}</td> <td>{value}</td> </tr>" for label, value in _rows(advert)),
            extras=_extras(advert),
            views=advert.views,
            contacts=_contact(advert),
            gallery=_gallery(advert),
        )
        return _page(_title(advert), self.base + path_of(advert).rstrip("/"), body)

    def truth_at(self, advert: TwinAdvert, base: str) -> Truth:
        """What its head, its sidebar, its contacts and its gallery say."""
        home, money, seller = advert.home, advert.money, advert.seller
        lat, lon = advert.position or (None, None)
        in_use = commissioned(home.age)
        return blank_truth(advert, base + path_of(advert)) | {
            "title": " ".join(_title(advert).split()),
            "description": advert.prose.text,
            "price_bgn": round(money.bgn) if money.bgn else None,
            "floor": home.floor if home.floor is None or home.floor >= 0 else None,
            "floors_total": home.floors_total,
            "construction": construction(advert),
            "act_status": "act16" if in_use else None,
            "under_construction": False if in_use else _is_being_built(advert),
            "heating": heating_truth(home),
            **feature_truth(printed_features(advert)),
            "lat": lat,
            "lon": lon,
            "seller_kind": seller.kind if seller.name else None,
            "seller_name": seller.name,
            "phones": sofia_phones(advert) if seller.name else [],
            "updated_at": advert.updated.isoformat(),
            "views": advert.views,
            "photo_urls": [
                f"https://www.imoti.net{_photo(advert, name)}" for name in photo_names(advert, 12)
            ],
        }

    def card_truth(self, advert: TwinAdvert, base: str) -> Truth:
        """Id, address, price, area."""
        return {
            "external_id": advert.external_id,
            "url": base + path_of(advert),
            "price_eur": advert.money.eur,
            "area_sqm": advert.home.area_sqm,
        }


def _page_path(path: str, page: int) -> str:
    return path + (f"?page={page}" if page > 1 else "")


def _paginator(url: str, page: int, last: int) -> str:
    """Some pages by their numbers; before the last one, that and the next."""
    near = [page, *(number for number in range(page + 1, page + _PAGES_NAMED) if number < last)]
    links = [_page_link(url, number, page) for number in near]
    if page < last:
        links.append('<span class="separator">...</span>')
        links.append(f'<a class="last-page " href="{url}?page={last}">{last}</a>')
        links.append(f'<a href="{url}?page={page + 1}" title="Следваща" class="next-page-btn"></a>')
    return f'<nav class="paginator">{"".join(links)}</nav>'


def _page_link(url: str, number: int, page: int) -> str:
    css = "first-page" if number == 1 else "next-page"
    state = " active" if number == page else ""
    return f'<a class="{css}{state}" href="{url}?page={number}">{number}</a>'


def _words(advert: TwinAdvert) -> str:
    home = advert.home
    return _ROOMS[home.kind.rooms][1] if home.kind.rooms else home.kind.label.capitalize()


def _heading(advert: TwinAdvert) -> str:
    deal = f'<span class="re-offer-type">{_DEALS[advert.home.deal][1]}</span>'
    return f"{deal} {_words(advert)}, <span>{advert.home.area_sqm} м<sup>2</sup></span>"


def _title(advert: TwinAdvert) -> str:
    return f"{_DEALS[advert.home.deal][1].capitalize()} {_words(advert).lower()} , {_place(advert)}"


def _is_being_built(advert: TwinAdvert) -> bool | None:
    return True if _is_in_building(advert) or "В строеж" in advert.home.features else None


def _place(advert: TwinAdvert) -> str:
    return f"{advert.home.place.city}, {advert.home.place.neighbourhood}"


def _photo(advert: TwinAdvert, name: str) -> str:
    return f"/web/files/obiavi/{advert.external_id}/images/thumb_880x0_{name}.jpg"


def _price(advert: TwinAdvert) -> str:
    money = advert.money
    if not money.shown:
        return '<strong class="price">Цена при запитване</strong>'
    lev = f"<br/> {spaced(round(money.bgn))} <small>BGN </small>" if money.bgn else ""
    return f'<strong class="price">\n   {spaced(round(money.amount_eur))} <small>€</small>\n {lev}\n</strong>'


def _floor(advert: TwinAdvert) -> str:
    home = advert.home
    if home.floor is None or home.floor < 0:
        return "<li>Етаж:  </li>"
    return f"<li>\n Етаж: {home.floor} от {home.floors_total}   </li>"


def _big_price(advert: TwinAdvert) -> str:
    money = advert.money
    euro = f"{spaced(round(money.amount_eur))} €" if money.shown else "Цена при запитване"
    sums = [euro, *([f"{spaced(round(money.bgn))} BGN"] if money.bgn else [])]
    return "".join(f'<div class="big-price"> <strong>{one}</strong> </div>' for one in sums)


def _rows(advert: TwinAdvert) -> list[tuple[str, str]]:
    home, money = advert.home, advert.money
    each = f"{spaced(round(money.amount_eur / home.area_sqm))}" if money.shown else ""
    known = home.floor if home.floor is not None and home.floor >= 0 else ""
    rows = [
        ("Цена на м<sup>2</sup>/EUR/:", each),
        ("Квадратура /м<sup>2</sup>/:", str(home.area_sqm)),
        ("Етаж :", f"{known} от {home.floors_total}" if home.floors_total else ""),
        ("Строителство:", home.construction or ""),
        ("Акт 16:", "Да" if commissioned(home.age) else "Не"),
        ("Енергиен клас:", "N/A"),
    ]
    return [(label, value) for label, value in rows if value]


def _extras(advert: TwinAdvert) -> str:
    items = "".join(f"<li>{one}</li>" for one in printed_features(advert))
    return f'<ul class="extras">{items}</ul>' if items else ""


def _figure(advert: TwinAdvert) -> str:
    photos = [_photo(advert, name) for name in photo_names(advert, 12)]
    if not photos:
        return '<figure class="no-svg"> </figure>'
    small = photos[0].replace("880x0", "620x349")
    return f'<figure> <img loading="lazy" src="{small}" itemprop="image"> </figure>'


def _gallery(advert: TwinAdvert) -> str:
    """Slides with their clones on both sides, then the plans."""
    photos = [_photo(advert, name) for name in photo_names(advert, 12)]
    slides = [_slide(one, "owl-item") for one in photos]
    clones = [_slide(one, "owl-item cloned") for one in photos]
    plans = _slide(f"/web/files/obiavi/{advert.external_id}/blueprints/thumb_880x0_plan.jpg", "owl-item")
    popups = {"gallery": [*clones[-4:], *slides, *clones[:4]], "sketch": [plans]}
    return "".join(
        f'<div class="popup" data-popup="{name}"> <img src="/web//images/msg_upload_bg-BG.png">'
        f'<div class="gallery-slider-pics">{"".join(pictures)}</div></div>'
        for name, pictures in popups.items()
        if photos
    )


def _slide(photo: str, classes: str) -> str:
    return f'<div class="{classes}"><div> <img src="{photo}"> </div></div>'


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


def _card(advert: TwinAdvert) -> str:
    return fill(
        "imoti_net_card",
        link=f"{path_of(advert)}?sid=aBcDeF&amp;page=1",
        photo=_photo(advert, "main"),
        heading=_heading(advert),
        place=_place(advert),
        price=_price(advert),
        floor=_floor(advert),
        each=spaced(round(advert.money.amount_eur / advert.home.area_sqm)),
        by=advert.seller.name or "",
        text=advert.prose.text[:80],
    )


def _promoted(advert: TwinAdvert) -> str:
    return (
        f'<a href="{path_of(advert)}"><header><strong class="price">1 €</strong>{_words(advert)}</header></a>'
    )


def _page(title: str, canonical: str, body: str) -> bytes:
    weight = ballast(60, "imoti.net")
    return fill("imoti_net_page", title=title, canonical=canonical, body=body, weight=weight).encode()


