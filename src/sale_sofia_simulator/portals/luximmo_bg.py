"""luximmo.bg: rows of a label and a value, its gallery as JSON; results and adverts are of two designs."""

import re
from collections.abc import Sequence
from sale_sofia_simulator.answers import Search
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.pieces import script_json
from sale_sofia_simulator.portals.suprimmo_group import DEALS
from sale_sofia_simulator.portals.suprimmo_group import GroupPortal
from sale_sofia_simulator.portals.suprimmo_group import act
from sale_sofia_simulator.portals.suprimmo_group import area_label
from sale_sofia_simulator.portals.suprimmo_group import construction
from sale_sofia_simulator.portals.suprimmo_group import deal_of
from sale_sofia_simulator.portals.suprimmo_group import extras
from sale_sofia_simulator.portals.suprimmo_group import floor_of
from sale_sofia_simulator.portals.suprimmo_group import has
from sale_sofia_simulator.portals.suprimmo_group import heating
from sale_sofia_simulator.portals.suprimmo_group import is_without_vat
from sale_sofia_simulator.portals.suprimmo_group import map_frame
from sale_sofia_simulator.portals.suprimmo_group import metro_distance
from sale_sofia_simulator.portals.suprimmo_group import net_area
from sale_sofia_simulator.portals.suprimmo_group import photo_files
from sale_sofia_simulator.portals.suprimmo_group import quarter
from sale_sofia_simulator.portals.suprimmo_group import square_metres
from sale_sofia_simulator.portals.suprimmo_group import sums
from sale_sofia_simulator.portals.suprimmo_group import title_of
from sale_sofia_simulator.portals.suprimmo_group import type_of
from sale_sofia_simulator.portals.suprimmo_group import variables
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.truth import Truth
from sale_sofia_simulator.twin_portal import found
from sale_sofia_simulator.twins import TwinAdvert


_FILES = "https://static.luximmo.org/property-images/big_bg"
_LISTING = re.compile(r"/(?:[^/]+/)*luksozen-imot-(\d+)(?:-[^/]*)?\.html")
_SEARCH = re.compile(
    r"/(prodajba|naem)/bulgaria/oblast-sofiya/sofiya-luksozni-imoti/po-tip-apartamenti/index(\d{0,6})\.html"
)


class LuximmoPortal(GroupPortal):
    """luximmo.bg pages by the name of a file, whose number is one less than the page's."""

    site = "luximmo.bg"
    frame = "luximmo_page"
    forbidden = "/pdf_responsive.php"
    agency = "Луксиммо"
    offers = "оферти"

    def path_of(self, advert: TwinAdvert) -> str:
        """Its town, type and number."""
        town, kind = slug(advert.home.place.city), slug(type_of(advert))
        name = f"luksozen-imot-{advert.external_id}-{kind}-{DEALS[advert.home.deal].slug}-v-{town}.html"
        return f"/bulgaria/oblast-sofia/{town}/luksozni-imoti-{kind}/{name}"

    def listing_id(self, path: str) -> str | None:
        """The number; the words around it may be any."""
        match = _LISTING.fullmatch(path)
        return match[1] if match else None

    def asked(self, path: str, query: dict[str, list[str]]) -> Search | None:  # noqa: ARG002 - all in the path
        """`/prodajba/…/po-tip-apartamenti/index1.html` is the second page."""
        match = _SEARCH.fullmatch(path)
        return found(deal_of(match[1]), int(match[2] or 0) + 1, path) if match else None

    def search_path(self, deal: str, page: int) -> str:
        """The first page has no number."""
        folder = f"/{DEALS[deal].search}/bulgaria/oblast-sofiya/sofiya-luksozni-imoti/po-tip-apartamenti"
        return f"{folder}/index{page - 1 if page > 1 else ''}.html"

    def results(self, shown: Sequence[TwinAdvert], deal: str, page: int, total: int) -> bytes:
        """Cards in a row that breaks, below their count."""
        head = self.linked(deal, page, total)
        body = fill(
            "luximmo_results", count=self.pager(page, total, shown), cards="".join(map(self._card, shown))
        )
        return self.document("Апартаменти", self.base + self.search_path(deal, page), head, body)

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert."""
        place = advert.home.place.city
        body = fill(
            "luximmo_advert",
            variables=variables(advert),
            act=f'<span class=" badge alert ">\n акт {act(advert)} </span>' if act(advert) else "",
            title=title_of(advert),
            id=advert.external_id,
            place=f"България / област {place} / гр. {place} / {quarter(advert)}".upper(),
            price=_price(advert),
            facts="".join(_row("medium-4", f"{label}:", value) for label, value in _facts(advert)),
            rows="".join(_row("medium-3", label, value) for label, value in _more(advert)),
            lists="".join(f'<ul class="inline-list"><li>{item}</li></ul>' for item in extras(advert)),
            text=advert.prose.html,
            map=map_frame(advert),
            agency=self.agency,
            gallery=script_json([{"big": one, "title": " "} for one in _photos(advert)]),
        )
        return self.document(title_of(advert), self.base + self.path_of(advert), "", body)

    def truth_at(self, advert: TwinAdvert, base: str) -> Truth:
        """With its gallery."""
        return super().truth_at(advert, base) | {"photo_urls": _photos(advert)}

    def _card(self, advert: TwinAdvert) -> str:
        return fill(
            "luximmo_card",
            link=self.base + self.path_of(advert),
            id=advert.external_id,
            type=type_of(advert),
            place=f"гр. {advert.home.place.city}&nbsp;/&nbsp;{quarter(advert)}",
            facts="".join(
                f'<p class="text-muted"> {label}: <span class="text-dark">{value}</span></p>'
                for label, value in _card_facts(advert)
            ),
            price=_card_price(advert),
        )


def _photos(advert: TwinAdvert) -> list[str]:
    return [f"{_FILES}/{name}" for name in photo_files(advert)]


def _row(width: str, label: str, value: str) -> str:
    return (
        f'<div class="grid-x grid-margin-x"><div class="cell {width} color-medium">\n{label}\n</div>\n'
        f'<div class="cell auto">\n{value} </div></div><hr class="fit">'
    )


def _facts(advert: TwinAdvert) -> list[tuple[str, str]]:
    """The box beside the gallery."""
    home = advert.home
    facts = [
        ("Тип", type_of(advert)),
        (area_label(advert), _area(advert)),
        ("Парцел", square_metres(home.yard_sqm)),
        ("Етажност", str(home.floors_total or "")),
        ("Етаж", floor_of(advert)),
        ("Стаи", str(home.kind.rooms or "")),
        ("Асансьор", "да" if has(advert, "Асансьор") else ""),
        ("Състояние", "В процес на строителство" if home.age.form == "will" else ""),
        ("Референтен номер", f"SOF-{home.number}"),
    ]
    return [(label, value) for label, value in facts if value]


def _area(advert: TwinAdvert) -> str:
    """The net area stands in brackets behind the whole."""
    area, net = advert.home.area_sqm, net_area(advert)
    if net is None:
        return square_metres(area)
    parts = f"чиста площ: {square_metres(net)} плюс общи части: {square_metres(area - net)}"
    return f"{square_metres(area)} ({parts})"


def _more(advert: TwinAdvert) -> list[tuple[str, str]]:
    """The section below; its state is that of the inside."""
    rows = [
        ("Състояние", "има нужда от основен ремонт" if has(advert, "За ремонт") else ""),
        ("Отопление", " / ".join(heating(advert))),
        ("Обзавеждане", "Напълно обзаведен" if has(advert, "Обзаведен") else ""),
        ("Тип строителство", " / ".join(construction(advert))),
        ("Разстояния", _metro(advert)),
    ]
    return [(label, value) for label, value in rows if value]


def _metro(advert: TwinAdvert) -> str:
    metres = metro_distance(advert)
    if metres is None:
        return ""
    return f'<span data-tooltip class="button" title="Разстояние до метростанция">{metres}&nbsp;м </span>'


def _price(advert: TwinAdvert) -> str:
    if not advert.money.shown:
        return "Цена при запитване"
    return "\n<br>\n".join(_sum(advert, *one) for one in sums(advert))


def _sum(advert: TwinAdvert, sign: str, price: str, old: str) -> str:
    currency = f"<span class='curr_conv'>{sign}</span>"
    before = f'<s class="color-alert">{old} {currency}</s><br>\n' if old else ""
    vat = '<span class="font-xsmall">\n (без ДДС)\n </span>' if is_without_vat(advert) else ""
    return f"{before}<big>{price} </big> {currency} {_monthly(advert)}{vat}"


def _monthly(advert: TwinAdvert) -> str:
    return "/месец" if advert.home.deal == "rent" else ""


def _card_facts(advert: TwinAdvert) -> list[tuple[str, str]]:
    home = advert.home
    facts = [
        ("Площ на сградата" if home.kind.storeys_only else "Площ", square_metres(home.area_sqm)),
        ("Етажност", str(home.floors_total or "")),
        ("Етаж", floor_of(advert)),
        ("Стаи", str(home.kind.rooms or "")),
    ]
    return [(label, value) for label, value in facts if value]


def _card_price(advert: TwinAdvert) -> str:
    if not advert.money.shown:
        return "Цена при запитване"
    return " <br>\n".join(_card_sum(advert, *one) for one in sums(advert))


def _card_sum(advert: TwinAdvert, sign: str, price: str, old: str) -> str:
    currency = f"<span class='curr_conv'>{sign}</span>"
    before = f"<s>{old} {currency}</s>\n" if old else ""
    vat = '<span class="h6 font-weight-bold">\n (без ДДС)\n </span>' if is_without_vat(advert) else ""
    return f"{before}<b>{price} </b> {currency} {_monthly(advert)}{vat}"


