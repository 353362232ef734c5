"""alo.bg: plain HTML in UTF-8, in places broken; cards of two templates."""

import re
from collections.abc import Iterator, Sequence

from sale_sofia_simulator.model import TwinAdvert
from sale_sofia_simulator.pieces import attribute, ballast, fill
from sale_sofia_simulator.portal import Query, Search
from sale_sofia_simulator.search_index import Scope
from sale_sofia_simulator.text import decimals, slug, spaced
from sale_sofia_simulator.truth import Truth, commissioned, feature_truth, heating_truth
from sale_sofia_simulator.twins import TwinPortal, photo_names, present, printed_features, whole

_DEALS = {"sale": "imoti-prodajbi", "rent": "imoti-naemi"}
_ROOMS = {1: "Едностаен", 2: "Двустаен", 3: "Тристаен", 4: "Четиристаен", 5: "Многостаен"}
_RUBRICS = {"sale": "Имоти - Продажби", "rent": "Имоти - Наеми"}
_READY = "Готов (завършен)"
_SEARCH = re.compile(r"/obiavi/(imoti-prodajbi|imoti-naemi)/apartamenti-stai/?")
_PLACE = "region_id=22&location_ids=4342"


class AloPortal(TwinPortal):
    """alo.bg pages by a number in the query, without a cap."""

    site = "alo.bg"
    listing_path = re.compile(r"/[^/]*-(\d{6,9})/?")
    forbidden = "/users/"
    page_size = 30

    def path_of(self, advert: TwinAdvert) -> str:
        """Its title and its number."""
        return f"/{slug(advert.title)}-{advert.external_id}"

    def search(self, path: str, query: Query) -> Search | None:
        """`/obiavi/imoti-prodajbi/apartamenti-stai/?…&page=N`."""
        match = _SEARCH.fullmatch(path)
        deal = "rent" if match and match[1] == _DEALS["rent"] else "sale"
        return Search(Scope(deal), whole(query, "page", 1), path) if match else None

    def search_path(self, deal: str, page: int) -> str:
        """The first page needs no number."""
        return f"/obiavi/{_DEALS[deal]}/apartamenti-stai/?{_PLACE}" + (f"&page={page}" if page > 1 else "")

    def results(self, shown: Sequence[TwinAdvert], deal: str, page: int, total: int) -> bytes:
        """Promoted adverts have a table, the others a line of facts."""
        following = self.next_url(deal, page, total, "")
        more = f'<link rel="next" href="{following}" />' if following else ""
        cards = "".join(map(self._card, shown)) or "Няма намерени обяви"
        return _page(
            f'<title>Апартаменти София - alo.bg</title>{more}<base href="{self.base}/"/>'
            f'<meta name="Description" content="Разгледайте &#10096; {total} обяви &#10097; за София"/>',
            f'<div class="obiavicnt">{total} обяви</div><div id="content_container">{cards}</div>',
        )

    def _card(self, advert: TwinAdvert) -> str:
        name, facts = advert.seller.name, _facts(advert)[:-1]
        return fill(
            "alo_top" if advert.tier else "alo_vip",
            link=self.path_of(advert),
            id=advert.external_id,
            title=advert.title,
            by=f'<span class="hidden-xs hidden-sm">{name}</span>' if name else "",
            place=_place(advert),
            facts="".join(_row(*fact) if advert.tier else _multi(*fact) for fact in facts),
            text=advert.prose.text[:80],
        )

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert, with another's card below it."""
        title, seller = advert.title, advert.seller
        agents = " has_agents" if seller.kind == "agency" else ""
        body = fill(
            "alo_detail",
            title=title,
            photos="".join(_photo_link(advert, name) for name in photo_names(advert, 25)),
            rows="".join(_detail_rows(advert)),
            valid=f"{advert.updated:%d.%m.%Y %H:%M}",
            today=advert.views % 50,
            text=advert.prose.html,
            contacts=fill("alo_contacts", seller=seller, agents=agents) if seller.name else "",
            stranger=_STRANGER,
        )
        return _page(
            f"<title>{title} - alo.bg</title>"
            f'<link rel="canonical" href="{self.url_of(advert)}"/><base href="{self.base}/"/>'
            f'<meta name="Description" content="{attribute(title)} {_RUBRICS[advert.home.deal]}"/>',
            body,
        )

    def facts(self, advert: TwinAdvert) -> Truth:
        """What its rows, gallery, map and text say."""
        home, seller, state = advert.home, advert.seller, _state(advert)
        return {
            "floor": home.floor if home.floor is None or home.floor >= 0 else -1,
            "year_built": home.age.known_year,
            "under_construction": state != _READY if state or "В строеж" in home.features else None,
            "heating": heating_truth(home),
            **feature_truth(printed_features(advert)),
            "seller_kind": "agency" if seller.kind == "agency" else None,
            "seller_name": seller.name,
            "photo_urls": [f"https://www.alo.bg/{_photo(advert, name)}" for name in photo_names(advert, 25)],
        }


def _page(head: str, body: str) -> bytes:
    return fill("alo_page", head=head, body=body, weight=ballast(60, "alo")).encode()


def _state(advert: TwinAdvert) -> str:
    age = advert.home.age
    if age.form == "will":
        return "В строеж"
    return _READY if commissioned(age) else ""


def _place(advert: TwinAdvert) -> str:
    return f"{advert.home.place.neighbourhood}, {advert.home.place.city}"


def _price(advert: TwinAdvert) -> str:
    money = advert.money
    if not money.shown:
        return "По договаряне"
    lev = f' (<span style="white-space: nowrap;">{decimals(money.bgn, ".")} лв.</span>)' if money.bgn else ""
    return f'<span style="white-space: nowrap;">{spaced(round(money.amount_eur))} €</span>{lev}'


def _facts(advert: TwinAdvert) -> list[tuple[str, str]]:
    home, money = advert.home, advert.money
    rooms = (
        f"{_ROOMS[home.kind.rooms]} апартамент в София" if home.kind.rooms else home.kind.label.capitalize()
    )
    house = home.kind.storeys_only
    facts = [
        ("Цена", _price(advert)),
        ("за кв.м", f"{money.amount_eur / home.area_sqm:.2f} €/кв.м" if money.shown else ""),
        ("Вид на имота", rooms),
        ("РЗП" if house else "Квадратура", f"{home.area_sqm} кв.м{' РЗП' if house else ''}"),
        ("Вид строителство", home.construction or ""),
        ("Година на строителство", f"{home.age.known_year} г." if home.age.known_year else ""),
        ("Номер на етажа", f"{home.floor} етаж" if home.floor and home.floor > 0 else ""),
        ("Етаж", {None: "", 0: "Партер", -1: "Сутерен"}.get(home.floor, "Непоследен")),
        ("Степен на завършеност", _state(advert)),
        ("Местоположение", _place(advert)),
    ]
    return present(facts)


def _row(label: str, value: str) -> str:
    return fill("alo_row", label=label, value=value)


def _multi(label: str, value: str) -> str:
    name = f'<span class="ads-param-name">{label}</span>: ' if label == "Цена" else ""
    return f'<span class="ads-params-multi"  title="{label}" >{name}{value}</span>\n'


def _photo(advert: TwinAdvert, name: str) -> str:
    return f"user_files/p/prodavach/{advert.external_id}_{name}_big.jpg"


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
        printed = "Вид на строителство" if label == "Вид строителство" else label
        yield _detail_row(printed, f'<span class="ads-params-single">{value}</span>')
    if features := printed_features(advert):
        words = " ".join(f'<span class="ads-params-multi">{feature}</span>' for feature in features)
        yield _detail_row("Особености", words)
    if advert.position:
        yield _detail_row("Карта", _map(*advert.position, "z=18&t=m", "Виж на картата"))


def _detail_row(label: str, value: str, name: str = "") -> str:
    label_id = f' id="{name}"' if name else ""
    return fill("alo_fact", label=f"{label}:" if label else "", value=value, label_id=label_id)


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


_STRANGER = (
    '<h2>Още</h2><div class="listtop-item" id="adrows_10000001"><a href="/druga-10000001">Друга</a>'
    f"{_row('Цена', '11 111 €')}{_row('Квадратура', '11 кв.м')}{_row('Двор', '1 кв.м')}</div>"
)
