"""suprimmo.bg: panels of labels with their values beside them, and the page's own variables."""

import json
import re
from collections.abc import Sequence
from sale_sofia_simulator.answers import Search
from sale_sofia_simulator.pieces import fill
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


_FILES = "https://static4.superimoti.bg/property-images"
_LISTING = re.compile(r"/imot-(\d+)(?:-[^/]*)?/?")
_SEARCH = re.compile(
    r"/(prodajba|naem)/bulgaria/oblast-sofiya/sofiya-imoti/po-tip-apartamenti/(?:page/(\d{1,6})/)?"
)


class SuprimmoPortal(GroupPortal):
    """suprimmo.bg pages by a number in the path."""

    site = "suprimmo.bg"
    frame = "suprimmo_page"
    forbidden = "/pdf_responsive.php"
    agency = "Superimoti.bg"
    offers = "намерени оферти"

    def path_of(self, advert: TwinAdvert) -> str:
        """The number, and the title in Latin letters."""
        return f"/imot-{advert.external_id}-{slug(advert.title)}/"

    def listing_id(self, path: str) -> str | None:
        """The number; the words behind it may be any."""
        match = _LISTING.fullmatch(path)
        return match[1] if match else None

    def asked(self, path: str, query: dict[str, list[str]]) -> Search | None:  # noqa: ARG002 - all in the path
        """`/prodajba/…/po-tip-apartamenti/page/N/`."""
        match = _SEARCH.fullmatch(path)
        return found(deal_of(match[1]), int(match[2] or 1), path) if match else None

    def search_path(self, deal: str, page: int) -> str:
        """The first page needs no number."""
        first = f"/{DEALS[deal].search}/bulgaria/oblast-sofiya/sofiya-imoti/po-tip-apartamenti/"
        return first + (f"page/{page}/" if page > 1 else "")

    def results(self, shown: Sequence[TwinAdvert], deal: str, page: int, total: int) -> bytes:
        """Cards in cells, below their count."""
        head = self.linked(deal, page, total)
        body = fill(
            "suprimmo_results",
            count=self.pager(page, total, shown),
            cards="".join(map(self._card, shown)),
        )
        return self.document("Апартаменти", self.base + self.search_path(deal, page), head, body)

    def render(self, advert: TwinAdvert) -> bytes:
        """The page of an advert."""
        body = fill(
            "suprimmo_advert",
            variables=variables(advert),
            photos=_photos(advert),
            badges=_badges(advert),
            title=title_of(advert),
            crumbs=_crumbs(advert, self.base),
            panels=_panels(advert),
            price=_price(advert),
            rows=_rows(advert),
            lists=_lists(advert),
            text=advert.prose.html,
            map=map_frame(advert),
            product=self._product(advert),
        )
        return self.document(title_of(advert), self.base + self.path_of(advert), "", body)

    def truth_at(self, advert: TwinAdvert, base: str) -> Truth:
        """Of the photos each stands once."""
        photos = [f"{_FILES}/big/{name}" for name in photo_files(advert)]
        return super().truth_at(advert, base) | {"photo_urls": photos}

    def _product(self, advert: TwinAdvert) -> str:
        """The JSON-LD; its price has a point between thousands."""
        price = f"{round(advert.money.amount_eur):,}".replace(",", ".") if advert.money.shown else ""
        thing = {
            "@context": "https://schema.org/",
            "@type": "Product",
            "name": advert.title,
            "sku": f"SOF-{advert.external_id}",
            "brand": {"@type": "Thing", "name": self.agency},
            "offers": {"@type": "Offer", "priceCurrency": "EUR", "price": price},
        }
        return json.dumps(thing, ensure_ascii=False)

    def _card(self, advert: TwinAdvert) -> str:
        building = "(В процес на строителство)" if advert.home.age.form == "will" else ""
        return fill(
            "suprimmo_card",
            id=advert.external_id,
            link=self.base + self.path_of(advert),
            title=title_of(advert),
            act=f'<span class="badge act fix-h ">\n  акт {act(advert)} </span>' if act(advert) else "",
            type=f"{type_of(advert)}\n{building}",
            place=f"гр. {advert.home.place.city}&nbsp;/&nbsp;{quarter(advert)}",
            facts="".join(f"<b>{label}: </b><i>{value}</i> " for label, value in _card_facts(advert)),
            price=_card_price(advert),
        )


def _photos(advert: TwinAdvert) -> str:
    """The first stands twice in the gallery."""
    names = photo_files(advert)
    return "\n".join(
        f'<a class="item rel" data-fancybox="top-gallery-files-group" href="{_FILES}/big/{name}"></a>'
        for name in (*names[:1], *names)
    )


def _badges(advert: TwinAdvert) -> str:
    return f'<span class="badge alert ">\n  акт {act(advert)} </span>' if act(advert) else ""


def _crumbs(advert: TwinAdvert, base: str) -> str:
    place = advert.home.place
    words = (
        type_of(advert), quarter(advert), f"гр. {place.city}", "Софийска област", "България",
        DEALS[advert.home.deal].crumb,
    )  # fmt: skip
    return "&nbsp;/&nbsp;".join(
        f'<a class="color-medium" href="{base}/bulgaria/">{word}</a>' for word in words
    )


def _panels(advert: TwinAdvert) -> str:
    home = advert.home
    place = f"{quarter(advert)} / {home.place.city} / България"
    sizes = [
        (area_label(advert), square_metres(home.area_sqm)),
        ("Застроена площ", square_metres(net_area(advert))),
        ("Парцел", square_metres(home.yard_sqm)),
        ("&nbsp;", _state(advert)),
    ]
    inside = [
        ("Етажност на сградата", str(home.floors_total or "")),
        ("Етаж", floor_of(advert)),
        ("Асансьор", "да" if has(advert, "Асансьор") else ""),
        ("Стаи", str(home.kind.rooms or "")),
    ]
    return "".join(map(_panel, ([("Тип имот", type_of(advert)), ("Местоположение", place)], inside, sizes)))


def _state(advert: TwinAdvert) -> str:
    got = f"Получен Акт {act(advert)}" if act(advert) else ""
    return f"В процес на строителство <br> {got}" if advert.home.age.form == "will" else got


def _panel(facts: Sequence[tuple[str, str]]) -> str:
    rows = (
        f'<span class="color-medium">\n {label} </span>\n<br>\n'
        f'<b class="font-large color-black">\n {value} </b><br><br>'
        for label, value in facts
        if value
    )
    return f'<div class="panel border"><div class="scroll offr">{"".join(rows)}</div></div>'


def _price(advert: TwinAdvert) -> str:
    """Each currency on a line, the old price before the new one."""
    if not advert.money.shown:
        return '<span class="ml--03">Цена при запитване</span>'
    return "<br>".join(_sum(advert, *one) for one in sums(advert))


def _sum(advert: TwinAdvert, sign: str, price: str, old: str) -> str:
    currency = f"<span class='curr_conv'>{sign}</span>"
    less = '<b class="label alert circle"><span class="font-small">-6%</span></b>'
    before = f'{less} <s class="font-xsmall color-alert font-medium">{old} {currency}</s>' if old else ""
    vat = '<span class="font-xsmall">\n(без ДДС)\n</span>' if is_without_vat(advert) else ""
    return f'{before}<span class="ml--03">\n&nbsp;{price} {currency} {_monthly(advert)}{vat}</span>'


def _monthly(advert: TwinAdvert) -> str:
    return "/месец" if advert.home.deal == "rent" else ""


def _rows(advert: TwinAdvert) -> str:
    rows = {
        "Състояние": "има нужда от основен ремонт" if has(advert, "За ремонт") else "",
        "Обзавеждане": "Напълно обзаведен" if has(advert, "Обзаведен") else "",
        "Отопление": " / ".join(heating(advert)),
        "Разстояния": _metro(advert),
        "Последна актуализация": f"{advert.updated:%d.%m.%Y} г.",
    }
    return "".join(
        f'<div class="grid-x"><div class="cell medium-4 color-medium">{label}</div>\n'
        f'<div class="cell auto">{value}</div></div>'
        for label, value in rows.items()
        if value
    )


def _metro(advert: TwinAdvert) -> str:
    metres = metro_distance(advert)
    if metres is None:
        return ""
    return f'<span data-tooltip class="button" title="Разстояние до метростанция">{metres}&nbsp;м </span>'


def _lists(advert: TwinAdvert) -> str:
    """Distances stand among the lists of features."""
    built, warm = construction(advert), heating(advert)
    lists = {
        "Разстояния от имота до други важни обекти": ["Център на града: 7 км"],
        "Строителство": built,
        "Отопление": warm,
        "ЕКСТРИ В СГРАДАТА": extras(advert)[len(built) + len(warm) :],
    }
    return "".join(
        f'<div class="panel border light"><h5 class="color-medium">\n{head} </h5><ul class="list-inline">'
        f"{''.join(f'<li>{item}</li>' for item in items)}</ul></div>"
        for head, items in lists.items()
        if items
    )


def _card_facts(advert: TwinAdvert) -> list[tuple[str, str]]:
    home = advert.home
    facts = [
        ("Площ на сградата" if home.kind.storeys_only else "Площ", square_metres(home.area_sqm)),
        ("Етаж", floor_of(advert)),
        ("Етажност на сградата", str(home.floors_total or "")),
    ]
    return [(label, value) for label, value in facts if value]


def _card_price(advert: TwinAdvert) -> str:
    if not advert.money.shown:
        return "Цена при запитване"
    rent = "Наем " if advert.home.deal == "rent" else ""
    return rent + "<br>".join(_card_sum(advert, *one) for one in sums(advert))


def _card_sum(advert: TwinAdvert, sign: str, price: str, old: str) -> str:
    currency = f"<span class='curr_conv'>{sign}</span>"
    before = f'<s class="color-alert ">{old} {currency}</s>' if old else ""
    vat = '<span class="font-xsmall">\n(без ДДС)\n</span>' if is_without_vat(advert) else ""
    return f"{before}\n&nbsp;{price} {currency} {_monthly(advert)} {vat}"


