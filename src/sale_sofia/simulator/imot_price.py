"""The price block of an imot.bg advert, with the button to its history."""

from sale_sofia.simulator.imot_words import VAT_TEXTS, per_sqm, price_html
from sale_sofia.simulator.model import ImotAdvert

_HISTORY_BUTTON = """
      <span>
        <a onclick="{call}" title="Покажи история на цената">
          <img src="//www.imot.bg/images/picturess/icons/price-stat.svg">
        </a>
      </span>
"""
_HISTORY_BOX = """
      <div class="priceHistory {css}" id="{name}">
        <div class="title">История на цената <span onclick="{call}"></span></div>
        <statistiki></statistiki>
      </div>
"""


def price_parts(advert: ImotAdvert) -> dict[str, object]:
    """Every part of the page that prints the price; no VAT text without a price."""
    money, each = advert.money, per_sqm(advert.money, advert.home.area_sqm)
    vat = VAT_TEXTS[advert.home.vat] if money.shown else ""
    return {
        "price": price_html(money),
        "per_sqm": f"<span>{each}</span>" if each else "",
        "m2": f'<div class="m2">{each}</div>' if each else "",
        "vat": vat,
        "price_info": f'<div class="PriceInfo">{vat}</div>' if vat else "",
        "credit": _credit(advert),
        **_history(advert),
    }


def _history(advert: ImotAdvert) -> dict[str, object]:
    if not advert.trend or not advert.money.shown:
        return dict.fromkeys(("history_button", "history_box", "history_link"), "")
    box, link = _history_call(advert, "priceHistory2"), _history_call(advert, "priceHistory")
    return {
        "history_button": _HISTORY_BUTTON.format(call=box),
        "history_box": _HISTORY_BOX.format(css="priceHistory2", name="priceHistory2", call=box),
        "history_link": f'<a onclick="{link}" title="Покажи история на цената"></a>'
        + _HISTORY_BOX.format(css="priceHistory1", name="priceHistory", call=link),
    }


def _history_call(advert: ImotAdvert, where: str) -> str:
    price = round(advert.money.amount_eur)
    words = f"'{advert.external_id}','a{advert.seller.user}','{price}','EUR','{where}'"
    return f"showpricechange({words}); return false;"


def _credit(advert: ImotAdvert) -> str:
    if advert.home.deal == "rent" or not advert.money.shown:
        return ""
    price = round(advert.money.amount_eur)
    frame = f'<iframe src="/small-calculator?price={price}" name="baner">&nbsp;</iframe>'
    return f'<div class="credit">{frame}</div>'
