"""alo.bg: plain HTML in UTF-8, in places broken; cards of two templates."""

import re
from collections.abc import Sequence

from sale_sofia.simulator.answers import Search
from sale_sofia.simulator.pieces import ballast, fill
from sale_sofia.simulator.text import decimals, slug, spaced
from sale_sofia.simulator.truth import Truth
from sale_sofia.simulator.twin_portal import TwinPortal, found, whole
from sale_sofia.simulator.twins import TwinAdvert, blank_truth, construction

PAGE_SIZE = 30
_DEALS = {"sale": "imoti-prodajbi", "rent": "imoti-naemi"}
_ROOMS = {1: "Едностаен", 2: "Двустаен", 3: "Тристаен", 4: "Четиристаен", 5: "Многостаен"}
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
        )
        rows = "".join(map(_row, _facts(advert)))
        return _page(
            head, f'<h1>{advert.title}</h1><div class="ads-params ads-params-table">{rows}</div>{_STRANGER}'
        )

    def truth_at(self, advert: TwinAdvert, base: str) -> Truth:
        """Whether it is for sale its page does not say."""
        home = advert.home
        floor = home.floor if home.floor is None or home.floor >= 0 else -1
        return blank_truth(advert, base + path_of(advert)) | {
            "deal": None,
            "floor": floor,
            "construction": construction(advert),
            "year_built": home.age.known_year,
            "under_construction": True if home.age.form == "will" else None,
        }

    def card_truth(self, advert: TwinAdvert, base: str) -> Truth:
        """Id, address, price, area."""
        return {
            "external_id": advert.external_id,
            "url": base + path_of(advert),
            "price_eur": advert.money.eur,
            "area_sqm": advert.home.area_sqm,
        }


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
        ("Степен на завършеност", "В строеж" if home.age.form == "will" else ""),
        ("Местоположение", _place(advert)),
    ]
    return [(label, value) for label, value in facts if value]


def _place(advert: TwinAdvert) -> str:
    return f"{advert.home.place.neighbourhood}, {advert.home.place.city}"


def _row(fact: tuple[str, str]) -> str:
    return fill("alo_row", label=fact[0], value=fact[1])


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
