"""What bazar.bg pages have in common: their frame, the spelling of prices, the small card of an advert."""

from datetime import datetime, timedelta
from functools import cache
from random import Random

from sale_sofia_simulator.homes import make_home
from sale_sofia_simulator.model import DEAL_WORDS, NOW, BazarAdvert, Money
from sale_sofia_simulator.pieces import attribute, ballast, fill
from sale_sofia_simulator.text import bazar_day, brief, leva, slug

_ASK = "Договаряне"
_SEPARATOR = '\n<span class="separator"></span>\n'
_TOP = '<img alt="TOP оферта" class="icon_new" src="/img/icons/TOP-Gallery-Ico.svg">'
_STRANGERS = 500


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
) -> bytes:
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
    return (head + body + fill("bazar_foot", path=path, ballast=ballast(8, "bazar foot"))).encode()


def _amounts(money: Money) -> list[tuple[str, str]]:
    """The printed sums with their currencies, in the order they are printed."""
    euro, lev = (brief(money.amount_eur), "€"), (brief(leva(money.amount_eur)), "лв")
    orders = {"both": [euro, lev], "bgn_first": [lev, euro], "eur": [euro], "bgn": [lev], "ask": []}
    return orders[money.layout]


def sums(money: Money) -> list[str]:
    """What is printed, in the order it is printed: 437 500 €, 855 675,63 лв."""
    return [f"{amount} {currency}" for amount, currency in _amounts(money)] or [_ASK, _ASK]


def headline_price(money: Money) -> str:
    """The price in the head of the page: euro, else leva, else the word."""
    return sums(Money("both", money.amount_eur) if money.layout == "bgn_first" else money)[0]


def script_price(money: Money) -> str:
    """The price in the page's own script: always both, leva first."""
    return " / ".join(sums(Money("bgn_first", money.amount_eur) if money.shown else money))


def price_html(money: Money) -> str:
    """The price block; an old price is nested inside the current one."""
    if money.previous_eur is None:
        return f'<div class="current-price">\n{_SEPARATOR.join(sums(money))}\n</div>'
    euro, lev = sums(Money("both", money.amount_eur))
    old_euro, old_lev = sums(Money("both", money.previous_eur))
    way = "up" if money.amount_eur > money.previous_eur else "down"
    return fill("bazar_changed_price", way=way, euro=euro, lev=lev, old_euro=old_euro, old_lev=old_lev)


def advert_card(advert: BazarAdvert, now: datetime) -> str:
    """The small card of this advert, in a search; it prints no area."""
    place = advert.home.place
    return _card(
        title=advert.title,
        url=advert.url,
        number=advert.external_id,
        location=f"гр. {place.city}, {place.neighbourhood}",
        date=bazar_day(advert.updated, now),
        money=advert.money,
        photo=advert.photos[0].removeprefix("https:") if advert.photos else "/img/gallery/noPhoto.svg",
        paid=bool(advert.tier),
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
    stamp = f"{rng.randint(1_600_000_000, 1_776_000_000)}{rng.randrange(100_000):05d}"
    folder = f"//cdn3.focus.bg/imot/photosimotbg/1/{stamp[-3:]}/big1"
    return _card(
        title=title,
        url=f"https://bazar.bg/obiava-{number}/{slug(title, bazar=True)}",
        number=str(number),
        location=f"гр. София, {home.place.neighbourhood}",
        date=bazar_day(NOW - timedelta(days=rng.randrange(40)), NOW),
        money=Money(rng.choice(("both", "both", "bgn_first")), home.price_eur),
        photo=f"{folder}/1{home.kind.letter('sale')}{stamp}_{rng.choice('abcdef')}7.jpg",
        paid=rng.random() < 0.3,  # noqa: PLR2004
        small=" listItemLink165",
    )


def _card(*, number: str, money: Money, paid: bool, small: str = "", **texts: str) -> str:
    prices = [
        f'            <span class="price">{amount} <span class="currency">{currency}</span> </span>'
        for amount, currency in _amounts(money) or [(_ASK, "")]
    ]
    return fill(
        "bazar_card",
        **texts,
        id=number,
        prices="\n".join(prices),
        paid=str(paid).lower(),
        css="listTop" if paid else "",
        promo=_TOP if paid else "",
        small=small,
    )
