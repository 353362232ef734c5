"""What every bazar.bg page has around its own part."""

from sale_sofia_simulator.pieces import attribute
from sale_sofia_simulator.pieces import ballast
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.model import BazarAdvert
from sale_sofia_simulator.model import Money
from sale_sofia_simulator.text import brief
from sale_sofia_simulator.text import leva
from datetime import datetime
from datetime import timedelta
from functools import cache
from random import Random
from sale_sofia_simulator.model import NOW
from sale_sofia_simulator.homes import make_home
from sale_sofia_simulator.model import DEAL_WORDS
from sale_sofia_simulator.pieces import lines
from sale_sofia_simulator.text import bazar_day
from sale_sofia_simulator.text import slug


_STEPS = (
    ("Начало", "https://bazar.bg"),
    ("Обяви", "https://bazar.bg/obiavi"),
    ("Имоти", "https://bazar.bg/obiavi/imoti"),
    ("Апартаменти", "https://bazar.bg/obiavi/apartamenti"),
)


def page(  # noqa: PLR0913
    body: str,
    *,
    title: str,
    description: str,
    canonical: str,
    image: str = "//bazar.bg/img/bazar-logo.png",
    og: str = "",
    links: str = "",
    weight: int = 25,
) -> str:
    """The whole page; `weight` is the size in kilobytes of the scripts in its head."""
    head = fill(
        "bazar_head",
        title=title,
        description=attribute(description),
        canonical=canonical,
        image=image,
        og=og,
        links=links,
        ballast=ballast(weight, "bazar head"),
    )
    path = canonical.removeprefix("https://bazar.bg")
    return head + body + fill("bazar_foot", path=path, ballast=ballast(8, "bazar foot"))


def crumbs() -> str:
    """The breadcrumbs with their menus."""
    return fill("bazar_crumbs")


def breadcrumb_list(title: str, url: str) -> dict[str, object]:
    """The JSON-LD of the breadcrumbs."""
    return {
        "@context": "https://schema.org/",
        "@type": "BreadcrumbList",
        "itemListElement": [
            {"@type": "ListItem", "position": i, "item": {"@id": address, "name": name}}
            for i, (name, address) in enumerate((*_STEPS, (title, url)), 1)
        ],
    }


# bazar.bg's own spellings of a price and of the parameters of a flat.

VAT_TEXTS = {
    "none": "Не се начислява ДДС",
    "excluded": "Цената е без ДДС",
    "included": "Цената е с включен ДДС",
}
_ASK = "Договаряне"
_SEPARATOR = '\n<span class="separator"></span>\n'
_PARAM = (
    '    <div class="row-fluid productInfo"><div class="span4">{label}</div>'
    '<div class="span8"><span >{value}</span></div></div>\n\n'
)


def euros(amount: float) -> str:
    """437 500 €, or 215 621,67 €."""
    return f"{brief(amount)} €"


def levs(amount_eur: float) -> str:
    """The same sum in leva: 855 675,63 лв, or 782 332 лв."""
    return f"{brief(leva(amount_eur))} лв"


def headline_price(money: Money) -> str:
    """The price in the head of the page: euro, else leva, else the word."""
    if not money.shown:
        return _ASK
    return levs(money.amount_eur) if money.layout == "bgn" else euros(money.amount_eur)


def script_price(money: Money) -> str:
    """The price in the page's own script: always both, leva first."""
    if not money.shown:
        return f"{_ASK} / {_ASK}"
    return f"{levs(money.amount_eur)} / {euros(money.amount_eur)}"


def price_html(money: Money) -> str:
    """The price block; an old price is nested inside the current one."""
    if money.previous_eur is not None:
        return _changed(money, money.previous_eur)
    return f'<div class="current-price">\n{_SEPARATOR.join(sums(money))}\n</div>'


def sums(money: Money) -> list[str]:
    """What is printed, in the order it is printed."""
    euro, lev = euros(money.amount_eur), levs(money.amount_eur)
    return {
        "both": [euro, lev],
        "bgn_first": [lev, euro],
        "eur": [euro],
        "bgn": [lev],
        "ask": [_ASK, _ASK],
    }[money.layout]


def _changed(money: Money, previous: float) -> str:
    return fill(
        "bazar_changed_price",
        way="up" if money.amount_eur > previous else "down",
        euro=euros(money.amount_eur),
        lev=levs(money.amount_eur),
        old_euro=euros(previous),
        old_lev=levs(previous),
    )


def price_css(advert: BazarAdvert) -> str:
    """The classes beside `adPrice`; the word "included" stands there whatever the VAT text says."""
    vat = "price-vat-type-included" if advert.vat else ""
    return f"{vat} {'previous-price-included' if advert.money.previous_eur else ''}"


def params_html(advert: BazarAdvert) -> str:
    """The parameter rows; the label of the floor and the word for many rooms begin with Latin letters."""
    home = advert.home
    rows = [
        ("Тип апартамент", f"{home.kind.rooms}-стаен" if (home.kind.rooms or 5) < 5 else "Mногостаен"),  # noqa: PLR2004
        ("Квадратура", f"{home.area_sqm} кв. м."),
        ("Цена на кв.м.", _per_sqm(advert)),
        ("Вид строителство", home.construction or ""),
        ("Eтаж", str(advert.floor or "")),
        ("Брой етажи", str(home.floors_total or "") if advert.native else ""),
        ("Година", str(home.age.known_year or "")),
    ]
    return "".join(_PARAM.format(label=label, value=value) for label, value in rows if value)


def _per_sqm(advert: BazarAdvert) -> str:
    money, area = advert.money, advert.home.area_sqm
    if not money.shown:
        return ""
    if money.layout == "bgn":
        return f"{round(leva(money.amount_eur) / area)} лв/кв. м."
    return f"{round(money.amount_eur / area)} €/кв. м."


# The small card of a bazar.bg advert, in searches and around other adverts.

_PRICE = '            <span class="price">{amount} <span class="currency">{currency}</span> </span>'
_TOP = '<img alt="TOP оферта" class="icon_new" src="/img/icons/TOP-Gallery-Ico.svg">'

_STRANGERS = 500


def advert_card(advert: BazarAdvert, now: datetime) -> str:
    """The card of this advert; it prints no area."""
    place = advert.home.place
    return fill(
        "bazar_card",
        title=advert.title,
        url=advert.url,
        id=advert.external_id,
        location=f"гр. {place.city}, {place.neighbourhood}",
        date=bazar_day(advert.updated, now),
        prices=_prices(advert.money),
        photo=advert.photos[0].removeprefix("https:") if advert.photos else "/img/gallery/noPhoto.svg",
        small="",
        **_promotion(paid=bool(advert.tier)),
    )


def stranger_card(rng: Random) -> str:
    """A card of one of the adverts outside the world, with its own price and photo."""
    return _stranger(rng.randrange(_STRANGERS))


@cache
def _stranger(which: int) -> str:
    rng = Random(f"bazar stranger {which}")
    home = make_home(rng, 0, flat=True)
    number = rng.randint(43_000_000, 49_999_999)
    title = f"{DEAL_WORDS[home.deal]} {home.kind.label}, гр. София, {home.place.neighbourhood}"
    imot_id = (
        f"1{home.kind.letter('sale')}{rng.randint(1_600_000_000, 1_776_000_000)}{rng.randrange(100_000):05d}"
    )
    return fill(
        "bazar_card",
        title=title,
        url=f"https://bazar.bg/obiava-{number}/{slug(title, bazar=True)}",
        id=number,
        location=f"гр. София, {home.place.neighbourhood}",
        date=bazar_day(NOW - timedelta(days=rng.randrange(40)), NOW),
        prices=_prices(Money(rng.choice(("both", "both", "bgn_first")), home.price_eur)),
        photo=f"//cdn3.focus.bg/imot/photosimotbg/1/{imot_id[-3:]}/big1/{imot_id}_{rng.choice('abcdef')}7.jpg",
        small=" listItemLink165",
        **_promotion(paid=rng.random() < 0.3),  # noqa: PLR2004
    )


def _promotion(*, paid: bool) -> dict[str, object]:
    return {"paid": str(paid).lower(), "css": "listTop" if paid else "", "promo": _TOP if paid else ""}


def _prices(money: Money) -> str:
    euro = (brief(money.amount_eur), "€")
    lev = (brief(leva(money.amount_eur)), "лв")
    chosen = {
        "both": [euro, lev],
        "bgn_first": [lev, euro],
        "eur": [euro],
        "bgn": [lev],
        "ask": [("Договаряне", "")],
    }[money.layout]
    return lines([_PRICE.format(amount=amount, currency=currency) for amount, currency in chosen])


