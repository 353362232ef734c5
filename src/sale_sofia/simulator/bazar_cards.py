"""The small card of a bazar.bg advert, in searches and around other adverts."""

from datetime import datetime, timedelta
from functools import cache
from random import Random

from sale_sofia.simulator.clock import NOW
from sale_sofia.simulator.homes import make_home
from sale_sofia.simulator.kinds import DEAL_WORDS
from sale_sofia.simulator.model import BazarAdvert, Money
from sale_sofia.simulator.pieces import fill, lines
from sale_sofia.simulator.text import bazar_day, brief, leva, slug

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
