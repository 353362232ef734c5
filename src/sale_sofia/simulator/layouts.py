"""Layouts a portal may change to overnight: what is served is another page, what is true stays the same."""

import re
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

from sale_sofia.simulator.text import BGN_PER_EUR, spaced


class Served(NamedTuple):
    """A page about to be sent, as text."""

    text: str
    path: str
    is_listing: bool


class Layout(NamedTuple):
    """One change of one portal."""

    site: str
    says: str
    change: Callable[[Served], str]


_AREA_AND_PRICE = re.compile(
    r'(?P<head>(?P<area>\d+) м<sup>2</sup>(?:(?!<strong class="price">).)*?<strong class="price">\s*)'
    r"(?P<price>\d[\d ]*)(?P<mid> <small>€</small>\s*)(?P<lev><br/> \d[\d ]*(?P<after> <small>BGN))?",
    re.DOTALL,
)
_NET_SUMS = re.compile(r'<header class="blue-header clearfix">(?P<sums>.*?)</header>', re.DOTALL)
_NET_SUM = re.compile(r"<strong>(?P<sum>\d[\d ]*) (?P<sign>€|BGN)</strong>")
_NET_AREA = re.compile(r'<h2 itemprop="name">[^<]*, (\d+) м<sup>')
_HOMES_PRICE = re.compile(r'("currency": "EUR", "value": ")([\d,]+)(")')
_NET_PRICE = re.compile(r'<strong class="price">.*?</strong>', re.DOTALL)
_ALO_AREA = re.compile(
    r'<div class="ads-params-row">(?:(?!ads-params-row).)*?Квадратура:.*?</div>\s*(?:<!--\s*-->)?</div>',
    re.DOTALL,
)
_ALO_MULTI_AREA = re.compile(r'<span class="ads-params-multi"  title="Квадратура" >[^<]*</span>')
_BAZAR_LABELS = {"Квадратура": "Area", "Етаж": "Floor", "Вид строителство": "Construction", "Година": "Year"}
_IMOT_CARD = re.compile(r'<div class="item ([^"]*)" id="ida(\w+)"')


def replaced(*pairs: tuple[str, str]) -> Callable[[Served], str]:
    """Other words in the same places, on every page."""

    def change(page: Served) -> str:
        text = page.text
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return change


def on_half(change: Callable[[Served], str]) -> Callable[[Served], str]:
    """The change on half of the adverts, always the same half."""
    return lambda page: change(page) if page.is_listing and _is_chosen(page.path) else page.text


def _is_chosen(name: str) -> bool:
    return zlib.crc32(name.encode()) % 2 == 0


def _moved_price(page: Served) -> str:
    """The price leaves the sidebar."""
    found = _NET_SUMS.search(page.text) if page.is_listing else None
    if found is None:
        return page.text
    without = page.text.replace(found[0], "", 1)
    return without.replace("</section>", f"</section><aside>{found['sums']}</aside>", 1)


def _per_sqm(page: Served) -> str:
    """The price of a square metre where the price was."""
    return _each_sqm(page.text) if page.is_listing else _each_card_sqm(page)


def _each_sqm(text: str) -> str:
    area = _NET_AREA.search(text)

    def each(found: re.Match[str]) -> str:
        whole = int(found["sum"].replace(" ", ""))
        return f"<strong>{spaced(round(whole / int(area[1])))} {found['sign']}</strong>" if area else found[0]

    return _NET_SUMS.sub(lambda sums: _NET_SUM.sub(each, sums[0]), text)


def _each_card_sqm(page: Served) -> str:

    def each(found: re.Match[str]) -> str:
        price = round(int(found["price"].replace(" ", "")) / int(found["area"]))
        lev = f"<br/> {spaced(round(price * BGN_PER_EUR))}{found['after']}" if found["lev"] else ""
        return f"{found['head']}{spaced(price)}{found['mid']}{lev}"

    return _AREA_AND_PRICE.sub(each, page.text)


def _dearer(page: Served) -> str:
    """All prices three tenths higher."""

    def more(found: re.Match[str]) -> str:
        return f"{found[1]}{round(int(found[2].replace(',', '')) * 1.3):,}{found[3]}"

    return _HOMES_PRICE.sub(more, page.text)


def _moved_currency(page: Served) -> str:
    if page.is_listing:
        return _NET_SUMS.sub(lambda sums: _NET_SUM.sub(r"<strong>\g<sum></strong>", sums[0]) + "€", page.text)
    return _NET_PRICE.sub(_without_sign, page.text)


def _without_area(page: Served) -> str:
    return _ALO_MULTI_AREA.sub("", _ALO_AREA.sub("", page.text))


def _translated(page: Served) -> str:
    text = page.text
    for label, word in _BAZAR_LABELS.items():
        text = text.replace(f'<div class="span4">{label}</div>', f'<div class="span4">{word}</div>')
    return text


def _half_the_cards(page: Served) -> str:
    """Every second card is made of another element."""

    def other(found: re.Match[str]) -> str:
        return f'<div class="tile {found[1]}" data-ida="{found[2]}"' if _is_chosen(found[2]) else found[0]

    return _IMOT_CARD.sub(other, page.text)


LAYOUTS: Final = {
    "renamed-class": Layout(
        "imot.bg", "the class of the price is another", replaced(('class="cena"', 'class="suma"'))
    ),
    "half-template": Layout(
        "imot.bg",
        "half of the adverts come in a new template",
        on_half(replaced(('class="adParams"', 'class="adFacts"'))),
    ),
    "half-cards": Layout("imot.bg", "half of the cards come in a new template", _half_the_cards),
    "charset": Layout(
        "imot.bg",
        "pages call themselves UTF-8 and are not",
        replaced(("charset=windows-1251", "charset=utf-8")),
    ),
    "renamed-rows": Layout(
        "bazar.bg", "the rows of facts have another class", replaced((" productInfo", " factRow"))
    ),
    "translated": Layout("bazar.bg", "labels are in English", _translated),
    "moved-block": Layout("imoti.net", "the price stands outside its sidebar", _moved_price),
    "per-sqm": Layout("imoti.net", "the price of a square metre stands where the price was", _per_sqm),
    "moved-currency": Layout(
        "imoti.net",
        "the sign of the currency stands after the price's element",
        _moved_currency,
    ),
    "dropped-field": Layout("alo.bg", "areas are not shown any more", _without_area),
    "renamed-cards": Layout("alo.bg", "cards have other ids", replaced(('id="adrows_', 'id="offer_'))),
    "json-key": Layout("homes.bg", "a key of the price is another", replaced(('"value": "', '"amount": "'))),
    "dearer": Layout("homes.bg", "all prices are three tenths higher", _dearer),
    "json-params": Layout(
        "olx.bg",
        "the parameters have another key",
        replaced(('\\"params\\":', '\\"parameters\\":'), ('"params":', '"parameters":')),
    ),
    "json-adverts": Layout(
        "imoti.com", "the list of cards has another key", replaced(('"adverts":', '"offers":'))
    ),
}
"""Every layout by its name."""


def _without_sign(found: re.Match[str]) -> str:
    sign = "<small>€</small>"
    return f"{found[0].replace(sign, '', 1)}{sign}" if sign in found[0] else found[0]


def changed(layout: Layout | None, body: bytes, charset: str, path: str, *, is_listing: bool) -> bytes:
    """The page as the layout has it; without one, as it was."""
    if layout is None:
        return body
    return layout.change(Served(body.decode(charset), path, is_listing)).encode(charset)
