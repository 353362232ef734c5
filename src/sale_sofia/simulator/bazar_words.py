"""bazar.bg's own spellings of a price and of the parameters of a flat."""

from sale_sofia.simulator.model import BazarAdvert, Money
from sale_sofia.simulator.pieces import fill
from sale_sofia.simulator.text import brief, leva

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
