"""alo.bg: plain HTML in UTF-8, in places broken; cards of two templates."""

import re
from collections.abc import Iterator
from collections.abc import Sequence
from sale_sofia_simulator.answers import Search
from sale_sofia_simulator.pieces import attribute
from sale_sofia_simulator.pieces import ballast
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.text import decimals
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.text import spaced
from sale_sofia_simulator.truth import Truth
from sale_sofia_simulator.truth import commissioned
from sale_sofia_simulator.truth import feature_truth
from sale_sofia_simulator.truth import heating_truth
from sale_sofia_simulator.twin_portal import TwinPortal
from sale_sofia_simulator.twin_portal import found
from sale_sofia_simulator.twin_portal import whole
from sale_sofia_simulator.twins import TwinAdvert
from sale_sofia_simulator.twins import blank_truth
from sale_sofia_simulator.twins import construction
from sale_sofia_simulator.twins import photo_names
from sale_sofia_simulator.twins import printed_features


PAGE_SIZE = 30
_DEALS = {"sale": "imoti-prodajbi", "rent": "imoti-naemi"}
_ROOMS = {1: "Едностаен", 2: "Двустаен", 3: "Тристаен", 4: "Четиристаен", 5: "Многостаен"}
_RUBRICS = {"sale": "Имоти - Продажби", "rent": "Имоти - Наеми"}
_READY = "Готов (завършен)"
_DETAIL_LABELS = {"Вид строителство": "Вид на строителство"}
_LISTING = re.compile(r"/[^/]*-(\d{6,9})/?")
_SEARCH = re.compile(r"/obiavi/(imoti-prodajbi|imoti-naemi)/apartamenti-stai/?")
_PLACE = "region_id=22&location_ids=4342"


def path_of(advert: TwinAdvert) -> str:
    """An advert's address: its title and its number."""
    return f"/{slug(advert.title)}-{advert.external_id}"


class AloPortal(TwinPortal):
    """alo.bg pages by a number in the query, without a cap."""

    site = "alo.bg"
    forbidden = "/users/"
    page_size = PAGE_SIZE

    def listing_id(self, path: str) -> str | None:
        """The number at the end."""
        match = _LISTING.fullmatch(path)
        return match[1] if match else None

    def asked(self, path: str, query: dict[str, list[str]]) -> Search | None:
        """`/obiavi/imoti-prodajbi/apartamenti-stai/?…&page=N`."""
        match = _SEARCH.fullmatch(path)
        deal = "rent" if match and match[1] == _DEALS["rent"] else "sale"
        return found(deal, whole(query, "page", 1), path) if match else None

    def search_path(self, deal: str, page: int) -> str:
        """The first page needs no number."""
        return f"/obiavi/{_DEALS[deal]}/apartamenti-stai/?{_PLACE}" + (f"&page={page}" if page > 1 else "")

    def results(self, shown: Sequence[TwinAdvert], deal: str, page: int, total: int) -> bytes:
        """Promoted adverts have a table, the others a line of facts."""
        following = self.next_url(deal, page, total, "")
        more = f'<link rel="next" href="{following}" />' if following else ""
        cards = "".join(map(_card, shown)) or "Няма намерени обяви"
        head = (
            f'<title>Апартаменти София - alo.bg</title>{more}<base href="{self.base}/"/>'
            f'<meta name="Description" content="Разгледайте &#10096; {total} обяви &#10097; за София"/>'
        )
        return _page(
            head, f'<div class="obiavicnt">{total} обяви</div><div id="content_container">{cards}</div>'
        )

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert, with another's card below it."""
        head = (
            f"<title>{advert.title} - alo.bg</title>"
            f'<link rel="canonical" href="{self.base}{path_of(advert)}"/><base href="{self.base}/"/>'
            f'<meta name="Description" content="{attribute(advert.title)} {_RUBRICS[advert.home.deal]}"/>'
        )
        return _page(head, _detail(advert))

    def truth_at(self, advert: TwinAdvert, base: str) -> Truth:
        """What its rows, gallery, map and text say."""
        home = advert.home
        lat, lon = advert.position or (None, None)
        return blank_truth(advert, base + path_of(advert)) | {
            "description": advert.prose.text,
            "floor": home.floor if home.floor is None or home.floor >= 0 else -1,
            "construction": construction(advert),
            "year_built": home.age.known_year,
            "under_construction": _under_construction(advert),
            "heating": heating_truth(home),
            **feature_truth(printed_features(advert)),
            "lat": lat,
            "lon": lon,
            "seller_kind": "agency" if advert.seller.kind == "agency" else None,
            "seller_name": advert.seller.name,
            "photo_urls": [f"https://www.alo.bg/{_photo(advert, name)}" for name in photo_names(advert, 25)],
        }

    def card_truth(self, advert: TwinAdvert, base: str) -> Truth:
        """Id, address, price, area."""
        return {
            "external_id": advert.external_id,
            "url": base + path_of(advert),
            "price_eur": advert.money.eur,
            "area_sqm": advert.home.area_sqm,
        }


def _under_construction(advert: TwinAdvert) -> bool | None:
    state = {"В строеж": True, _READY: False}.get(_state(advert))
    return True if state is None and "В строеж" in advert.home.features else state


def _state(advert: TwinAdvert) -> str:
    age = advert.home.age
    if age.form == "will":
        return "В строеж"
    return _READY if commissioned(age) else ""


def _photo(advert: TwinAdvert, name: str) -> str:
    return f"user_files/p/prodavach/{advert.external_id}_{name}_big.jpg"


def _price(advert: TwinAdvert) -> str:
    money = advert.money
    if not money.shown:
        return "По договаряне"
    lev = f' (<span style="white-space: nowrap;">{decimals(money.bgn, ".")} лв.</span>)' if money.bgn else ""
    return f'<span style="white-space: nowrap;">{spaced(round(money.amount_eur))} €</span>{lev}'


def _facts(advert: TwinAdvert) -> list[tuple[str, str]]:
    home = advert.home
    rooms = (
        f"{_ROOMS[home.kind.rooms]} апартамент в София" if home.kind.rooms else home.kind.label.capitalize()
    )
    house = home.kind.storeys_only
    floor = {None: "", 0: "Партер", -1: "Сутерен"}.get(home.floor, "Непоследен")
    facts = [
        ("Цена", _price(advert)),
        ("за кв.м", f"{advert.money.amount_eur / home.area_sqm:.2f} €/кв.м" if advert.money.shown else ""),
        ("Вид на имота", rooms),
        ("РЗП" if house else "Квадратура", f"{home.area_sqm} кв.м{' РЗП' if house else ''}"),
        ("Вид строителство", home.construction or ""),
        ("Година на строителство", f"{home.age.known_year} г." if home.age.known_year else ""),
        ("Номер на етажа", f"{home.floor} етаж" if home.floor and home.floor > 0 else ""),
        ("Етаж", floor),
        ("Степен на завършеност", _state(advert)),
        ("Местоположение", _place(advert)),
    ]
    return [(label, value) for label, value in facts if value]


def _place(advert: TwinAdvert) -> str:
    return f"{advert.home.place.neighbourhood}, {advert.home.place.city}"


def _row(fact: tuple[str, str]) -> str:
    return fill("alo_row", label=fact[0], value=fact[1])


def _detail(advert: TwinAdvert) -> str:
    seller = advert.seller
    agents = " has_agents" if seller.kind == "agency" else ""
    contacts = (
        fill("alo_contacts", name=seller.name, handle=seller.handle, agents=agents) if seller.name else ""
    )
    return fill(
        "alo_detail",
        title=advert.title,
        photos="".join(_photo_link(advert, name) for name in photo_names(advert, 25)),
        rows="".join(_detail_rows(advert)),
        valid=f"{advert.updated:%d.%m.%Y %H:%M}",
        today=advert.views % 50,
        text=advert.prose.html,
        contacts=contacts,
        stranger=_STRANGER,
    )


def _photo_link(advert: TwinAdvert, name: str) -> str:
    big = _photo(advert, name)
    small = big.replace("_big.", "_medium.")
    return (
        f'<a class="fancyimages" href="{big}" data-fancybox="group" data-type="image" title="{advert.title}">'
        f'<div class="image"><img src="{small}"></div></a>'
    )


def _detail_rows(advert: TwinAdvert) -> Iterator[str]:
    """As on a card, with the label a cell too, other labels, and more of them."""
    facts = dict(_facts(advert))
    price, each = facts.pop("Цена"), facts.pop("за кв.м", "")
    yield _detail_row("Обява №", advert.external_id)
    yield _detail_row("Месечен наем" if advert.home.deal == "rent" else "Цена", price, name="price_name")
    yield _detail_row("", f'<span class="ads-params-price-sub">{each}</span>')
    facts["Местоположение"] = _place_html(advert)
    for label, value in facts.items():
        yield _detail_row(_DETAIL_LABELS.get(label, label), f'<span class="ads-params-single">{value}</span>')
    if features := printed_features(advert):
        words = " ".join(f'<span class="ads-params-multi">{one}</span>' for one in features)
        yield _detail_row("Особености", words)
    if advert.position:
        yield _detail_row("Карта", _map(*advert.position, "z=18&t=m", "Виж на картата"))


def _detail_row(label: str, value: str, name: str = "") -> str:
    return fill(
        "alo_fact", label=f"{label}:" if label else "", value=value, label_id=f' id="{name}"' if name else ""
    )


def _place_html(advert: TwinAdvert) -> str:
    """With the province, and a map of the quarter."""
    place = advert.home.place
    parts = (place.neighbourhood, place.city, f"област  {place.city}")
    spans = ", ".join(f'<span title="Част">{part}</span>' for part in parts)
    quarter = _map(42.5, 23.5, "z=15", f"Виж {place.neighbourhood} на картата")
    return f'<br class="visible-xs">{spans}, <span style="font-size:13px;">({quarter})</span>'


def _map(lat: float, lon: float, more: str, words: str) -> str:
    return (
        f'<a target="_blank" href="https://maps.google.com/?q={lat},{lon}&ll={lat},{lon}&{more}">{words}</a>'
    )


def _multi(fact: tuple[str, str]) -> str:
    label, value = fact
    name = f'<span class="ads-param-name">{label}</span>: ' if label == "Цена" else ""
    return f'<span class="ads-params-multi"  title="{label}" >{name}{value}</span>\n'


def _card(advert: TwinAdvert) -> str:
    name, facts = advert.seller.name, _facts(advert)[:-1]
    return fill(
        "alo_top" if advert.tier else "alo_vip",
        link=path_of(advert),
        id=advert.external_id,
        title=advert.title,
        by=f'<span class="hidden-xs hidden-sm">{name}</span>' if name else "",
        place=_place(advert),
        facts="".join(map(_row if advert.tier else _multi, facts)),
        text=advert.prose.text[:80],
    )


_STRANGER = "".join(
    (
        '<h2>Още</h2><div class="listtop-item" id="adrows_10000001"><a href="/druga-10000001">Друга</a>',
        *(_row(fact) for fact in (("Цена", "11 111 €"), ("Квадратура", "11 кв.м"), ("Двор", "1 кв.м"))),
        "</div>",
    )
)


def _page(head: str, body: str) -> bytes:
    return fill("alo_page", head=head, body=body, weight=ballast(60, "alo")).encode()


