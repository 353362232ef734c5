"""alo.bg: plain HTML in UTF-8, in places broken; cards of two templates."""

import re
from collections.abc import Sequence

from sale_sofia_simulator.model import TwinAdvert
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.portal import Query, Scope, Search
from sale_sofia_simulator.text import decimals, slug, spaced
from sale_sofia_simulator.truth import Truth, commissioned, feature_truth
from sale_sofia_simulator.twins import TwinPortal, photo_names, printed_features, whole

_DEALS = {"sale": "imoti-prodajbi", "rent": "imoti-naemi"}
_RUBRICS = {"sale": "Имоти - Продажби", "rent": "Имоти - Наеми"}
_ON_PAGE = {"Вид строителство": "Вид на строителство"}
"""Labels that a page has in place of those of a card."""
_READY = "Готов (завършен)"
_SEARCH = re.compile(r"/obiavi/(imoti-prodajbi|imoti-naemi)/apartamenti-stai/?")
_PLACE = "region_id=22&location_ids=4342"


class AloPortal(TwinPortal):
    """alo.bg pages by a number in the query, without a cap."""

    site = "alo.bg"
    listing_path = re.compile(r"/[^/]*-(\d{6,9})/?")
    prints = ("floor", "year_built", "heating", "seller_name")
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

    def results(self, search: Search, adverts: Sequence[TwinAdvert], total: int) -> bytes:
        """Promoted adverts have a table, the others a line of facts."""
        return fill(
            "alo_list",
            following=self.next_url(search.deal, search.page, total, ""),
            base=self.base,
            total=total,
            cards=[(advert, self.path_of(advert), _facts(advert)[:-1]) for advert in adverts],
        ).encode()

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert, with another's card below it."""
        facts = dict(_facts(advert))
        price, each = facts.pop("Цена"), facts.pop("за кв.м", "")
        facts["Местоположение"] = fill("alo_place", place=advert.home.place)
        return fill(
            "alo_detail",
            advert=advert,
            rubric=_RUBRICS[advert.home.deal],
            url=self.url_of(advert),
            base=self.base,
            photos=_photos(advert),
            price=price,
            each=each,
            facts=[(_ON_PAGE.get(label, label), value) for label, value in facts.items()],
            features=printed_features(advert),
        ).encode()

    def facts(self, advert: TwinAdvert) -> Truth:
        """What its rows, gallery, map and text say."""
        home, state = advert.home, _state(advert)
        return {
            "under_construction": state != _READY if state or "В строеж" in home.features else None,
            **feature_truth(printed_features(advert)),
            "seller_kind": "agency" if advert.seller.kind == "agency" else None,
            "photo_urls": [f"https://www.alo.bg/{photo}" for photo in _photos(advert)],
        }


def _state(advert: TwinAdvert) -> str:
    age = advert.home.age
    if age.form == "will":
        return "В строеж"
    return _READY if commissioned(age) else ""


def _price(advert: TwinAdvert) -> str:
    money = advert.money
    if not money.shown:
        return "По договаряне"
    lev = f' (<span style="white-space: nowrap;">{decimals(money.bgn, ".")} лв.</span>)' if money.bgn else ""
    return f'<span style="white-space: nowrap;">{spaced(round(money.amount_eur))} €</span>{lev}'


def _facts(advert: TwinAdvert) -> list[tuple[str, str]]:
    home, money = advert.home, advert.money
    house, place = home.kind.storeys_only, home.place
    facts = [
        ("Цена", _price(advert)),
        ("за кв.м", f"{money.amount_eur / home.area_sqm:.2f} €/кв.м" if money.shown else ""),
        ("Вид на имота", home.kind.words + (" в София" if home.kind.rooms else "")),
        ("РЗП" if house else "Квадратура", f"{home.area_sqm} кв.м{' РЗП' if house else ''}"),
        ("Вид строителство", home.construction or ""),
        ("Година на строителство", f"{home.age.known_year} г." if home.age.known_year else ""),
        ("Номер на етажа", f"{home.floor} етаж" if home.floor and home.floor > 0 else ""),
        ("Етаж", {None: "", 0: "Партер", -1: "Сутерен"}.get(home.floor, "Непоследен")),
        ("Степен на завършеност", _state(advert)),
        ("Местоположение", f"{place.neighbourhood}, {place.city}"),
    ]
    return [(label, value) for label, value in facts if value]


def _photos(advert: TwinAdvert) -> list[str]:
    folder = f"user_files/p/prodavach/{advert.external_id}"
    return [f"{folder}_{name}_big.jpg" for name in photo_names(advert, 25)]
