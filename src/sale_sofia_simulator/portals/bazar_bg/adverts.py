"""Makes the adverts of bazar.bg: imports of imot.bg, and its own."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from sale_sofia_simulator.homes import chance, describe, pick
from sale_sofia_simulator.model import NOW, BazarAdvert, ImotAdvert, Money, Property, Prose, Seller, refreshed
from sale_sofia_simulator.names import WORDS
from sale_sofia_simulator.portals.imot_bg.adverts import photo_count
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.twins import position_near

_MOST_PHOTOS = 16
_SHARE_POSITION = 0.31
"""So many say where they are, or at least about where."""
_SHARE_EXACT = 0.8
"""The same of a home that is somewhere exactly."""


def import_to_bazar(rng: Random, number: int, source: ImotAdvert) -> BazarAdvert:
    """The same advert as bazar.bg re-publishes it: its photos carry the imot.bg id."""
    home, place, seller = source.home, source.home.place, source.seller
    title = f"{source.title}, гр. {place.city}, {place.neighbourhood}"
    photos = tuple(photo.replace("//big", "/big") for photo in source.photos[:_MOST_PHOTOS])
    money = _money(rng, home, asks=not source.money.shown)
    words = Prose("", title, title) if chance(rng, 0.03) else source.prose
    seller_name = seller.name
    if seller_name is None or chance(rng, 0.1):
        seller_name = f"Потребител {seller.user}"
    elif chance(rng, 0.04):
        seller_name = f"{seller_name} 02/8000100 {seller.phones[0]}"
    return _bazar(
        rng,
        number,
        home,
        seller=seller,
        title=title,
        money=money,
        words=words,
        posted=source.posted,
        photos=photos,
        native=False,
        imot_id=source.external_id if photos else None,
        vat=home.vat,
        seller_name=seller_name,
    )


def write_on_bazar(rng: Random, number: int, home: Property, seller: Seller) -> BazarAdvert:
    """An advert that exists on bazar.bg alone: free title, own photos, no VAT text."""
    person = rng.choice(WORDS["given"]) if chance(rng, 0.6) else f"Потребител {seller.user}"
    what = home.kind.label.lower() if home.kind.rooms is None else f"{home.kind.rooms}-стаен"
    deal = "под наем" if home.deal == "rent" else "за продажба"
    tail = rng.choice((f" - {home.price_eur} евро", "", " от собственик", ", без посредник"))
    money = _money(rng, home, asks=chance(rng, 0.05), cents=chance(rng, 0.2))
    words = describe(rng, home)
    posted = NOW - timedelta(days=rng.randint(2, 90))
    photos = []
    for _ in range(min(photo_count(rng), _MOST_PHOTOS)):
        name = f"{rng.getrandbits(128):032x}"
        photos.append(f"https://cdn{rng.randint(5, 8)}.focus.bg/bazar/{name[:2]}/pics/{name}.webp")
    return _bazar(
        rng,
        number,
        home,
        seller=seller,
        title=f"{what} {deal} в {home.place.neighbourhood}{tail}",
        money=money,
        words=replace(words, html=f"<div><span><span>{words.html}</span></span></div>"),
        posted=posted,
        photos=tuple(photos),
        native=True,
        imot_id=None,
        vat=None,
        seller_name=person,
    )


def _bazar(  # noqa: PLR0913
    rng: Random,
    number: int,
    home: Property,
    *,
    title: str,
    posted: datetime,
    money: Money,
    words: Prose,
    seller: Seller,
    photos: tuple[str, ...],
    native: bool,
    imot_id: str | None,
    vat: str | None,
    seller_name: str,
) -> BazarAdvert:
    external_id = str(50_000_000 + number * 37 + rng.randrange(37))
    return BazarAdvert(
        site="bazar.bg",
        external_id=external_id,
        url=f"https://bazar.bg/obiava-{external_id}/{slug(title, bazar=True)}",
        title=title,
        home=home,
        money=money,
        prose=words,
        seller=seller,
        posted=posted,
        updated=refreshed(rng, posted),
        views=rng.randint(1, 4000),
        photos=photos,
        tier=pick(rng, ("", "TOP"), (40, 60)),
        native=native,
        imot_id=imot_id,
        vat=vat if money.shown else None,
        floor=None if home.floor is None or home.floor < 1 or chance(rng, 0.04) else home.floor,
        position=_position(rng, home),
        seller_name=seller_name,
        lag_minutes=rng.randint(0, 4),
    )


def _position(rng: Random, home: Property) -> tuple[float, float] | None:
    if home.position:
        return home.position if chance(rng, _SHARE_EXACT) else None
    return position_near(rng, home.place, share=_SHARE_POSITION, spread=0.006, digits=11)


def _money(rng: Random, home: Property, *, asks: bool, cents: bool = False) -> Money:
    if asks:
        return Money("ask", home.price_eur)
    amount = home.price_eur + (rng.randint(1, 99) / 100 if cents else 0)
    layout = pick(rng, ("both", "bgn_first", "eur", "bgn"), (68, 20, 9, 3))
    if layout != "both" or not chance(rng, 0.12):
        return Money(layout, amount)
    previous = round(amount * rng.choice((0.9, 0.94, 0.97, 1.03, 1.06, 1.12)))
    return Money(layout, amount, None if previous == amount else previous)
