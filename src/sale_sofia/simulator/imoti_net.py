"""imoti.net: plain HTML in UTF-8; links carry a session, prices in leva are rounded."""

import re
from collections.abc import Sequence

from sale_sofia.simulator.answers import Search
from sale_sofia.simulator.pieces import ballast, fill
from sale_sofia.simulator.text import slug, spaced
from sale_sofia.simulator.truth import Truth, commissioned, feature_truth, heating_truth
from sale_sofia.simulator.twin_portal import TwinPortal, found, whole
from sale_sofia.simulator.twins import (
    TwinAdvert,
    blank_truth,
    construction,
    photo_names,
    printed_features,
    sofia_phones,
)

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
_SEARCH = re.compile(r"/bg/obiavi/r/(prodava|dava-pod-naem)/sofia/?")


def path_of(advert: TwinAdvert) -> str:
    """An advert's address in imoti.net's own transliteration."""
    home = advert.home
    kind = _ROOMS[home.kind.rooms][0] if home.kind.rooms else _KINDS[home.kind.property_type]
    place = f"{slug(home.place.city)}/{home.place.slug}"
    deal = "prodava--v-stroej" if _is_in_building(advert) else _DEALS[home.deal][0]
    return f"/bg/obiava/{deal}/{place}/{kind}/{advert.external_id}/"


def _is_in_building(advert: TwinAdvert) -> bool:
    return advert.home.deal == "sale" and advert.home.age.form == "will"


class ImotiNetPortal(TwinPortal):
    """imoti.net pages by a number in the query."""

    site = "imoti.net"
    forbidden = "/bg/obiava-print/"
    page_size = PAGE_SIZE

    def listing_id(self, path: str) -> str | None:
        """The number; the words before it may be any, or none."""
        match = _LISTING.fullmatch(path)
        return match[1] if match else None

    def asked(self, path: str, query: dict[str, list[str]]) -> Search | None:
        """`/bg/obiavi/r/prodava/sofia/?page=N`."""
        match = _SEARCH.fullmatch(path)
        deal = "rent" if match and match[1] == _DEALS["rent"][0] else "sale"
        return found(deal, whole(query, "page", 1), path) if match else None

    def search_path(self, deal: str, page: int) -> str:
        """The first page needs no number."""
        return f"/bg/obiavi/r/{_DEALS[deal][0]}/sofia/" + (f"?page={page}" if page > 1 else "")

    def results(self, shown: Sequence[TwinAdvert], deal: str, page: int, total: int) -> bytes:
        """Cards in a list; some adverts stand above it once more."""
        following = self.next_url(deal, page, total, self.base)
        button = f'<a href="{following}" title="Следваща" class="next-page-btn"></a>' if following else ""
        cards = "".join(map(_card, shown)) or "<p>Няма намерени имоти.</p>"
        count = "999+" if total > 999 else str(total)  # noqa: PLR2004
        return _page(
            f"Недвижими имоти - {deal}",
            self.base + self.search_path(deal, page),
            f'<div class="selected-real-estates">{"".join(map(_promoted, shown[:2]))}</div>'
            f'<h2>Резултати <span id="number-of-estates">/{count} имота/</span></h2>'
            f'<ul class="list-view real-estates">{cards}</ul><nav class="paginator">{button}</nav>',
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
