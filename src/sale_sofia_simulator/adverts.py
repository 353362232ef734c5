"""Makes the adverts of a property on imot.bg and bazar.bg, with the quirks their pages will show."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from string import ascii_letters, digits
from typing import Any

from sale_sofia_simulator.homes import chance, describe, pick
from sale_sofia_simulator.model import (
    DEAL_WORDS,
    KINDS,
    NOW,
    RUBRIC_DIGITS,
    BazarAdvert,
    ImotAdvert,
    Money,
    Property,
    Prose,
    Seller,
    later,
    long_ago,
    refreshed,
)
from sale_sofia_simulator.text import WORDS, slug
from sale_sofia_simulator.twins import position_near

_HOSTS = ("cdn3", "imotstatic1", "imotstatic2", "imotstatic3", "imotstatic4")
_MOST_PHOTOS = 17


def make_imot(
    rng: Random, home: Property, seller: Seller, *, posted_today: datetime | None = None
) -> ImotAdvert:
    """The advert of this property on imot.bg; one posted today has not been corrected yet."""
    posted = posted_today or long_ago(rng)
    corrected = not posted_today and chance(rng, 0.6)
    kind = rng.choice(KINDS) if chance(rng, 0.05) else home.kind
    prefix = f"{RUBRIC_DIGITS[home.deal]}{kind.letter(home.deal)}"
    imot_id = f"{prefix}{int(posted.timestamp())}{rng.randrange(100_000):05d}"
    layout = pick(rng, ("both", "eur", "eur_word", "bgn", "ask"), (72, 14, 8, 2.5, 3.5))
    old_layout = chance(rng, 0.12)
    return ImotAdvert(
        site="imot.bg",
        external_id=imot_id,
        url=_url(home, imot_id),
        title=f"{DEAL_WORDS[home.deal]} {home.kind.label}",
        home=home,
        money=Money(layout, home.price_eur),
        prose=describe(rng, home),
        seller=seller,
        posted=posted,
        updated=later(rng, posted) if corrected else posted.replace(second=0),
        views=rng.randint(0, 9999),
        photos=_photos(rng, home, imot_id),
        tier=pick(rng, ("", "VIP", "TOP", "BEST"), (70, 14, 13, 3)),
        offer=not old_layout and layout != "ask",
        old_layout=old_layout,
        corrected=corrected,
        trend=pick(rng, ("", "UP", "DOWN"), (75, 13, 12)),
        private_only=chance(rng, 0.15),
    )


def _url(home: Property, imot_id: str) -> str:
    place = home.place
    street = f"-{slug(place.street)}" if place.street else ""
    words = f"{slug(DEAL_WORDS[home.deal])}-{home.kind.advert_slug}-{place.city_slug}-{place.slug}{street}"
    return f"https://www.imot.bg/obiava-{imot_id}-{words}"


def _photos(rng: Random, home: Property, imot_id: str) -> tuple[str, ...]:
    host, size = rng.choice(_HOSTS), rng.choice(("big", "big1", "big1"))
    folder = f"https://{host}.focus.bg/imot/photosimotbg/{RUBRIC_DIGITS[home.deal]}/{imot_id[-3:]}//{size}"
    codes = {
        f"{rng.choice(ascii_letters)}{rng.choice(ascii_letters + digits)}": None
        for _ in range(photo_count(rng))
    }
    return tuple(f"{folder}/{imot_id}_{code}.jpg" for code in codes)


def photo_count(rng: Random) -> int:
    """From none to seventeen."""
    return 0 if chance(rng, 0.04) else rng.randint(1, _MOST_PHOTOS)


# Makes the adverts of bazar.bg: imports of imot.bg, and its own.

_MOST_ON_BAZAR = 16
_SHARE_POSITION = 0.31
"""So many say where they are, or at least about where."""
_SHARE_EXACT = 0.8
"""The same of a home that is somewhere exactly."""


def import_to_bazar(rng: Random, number: int, source: ImotAdvert) -> BazarAdvert:
    """The same advert as bazar.bg re-publishes it: its photos carry the imot.bg id."""
    home, place, seller = source.home, source.home.place, source.seller
    title = f"{source.title}, гр. {place.city}, {place.neighbourhood}"
    photos = tuple(photo.replace("//big", "/big") for photo in source.photos[:_MOST_ON_BAZAR])
    money = _money(rng, home, asks=not source.money.shown)
    words = Prose("", title, title) if chance(rng, 0.03) else source.prose
    seller_name = seller.name
    if seller_name is None or chance(rng, 0.1):
        seller_name = f"Потребител {seller.user}"
    elif chance(rng, 0.04):
        seller_name = f"{seller_name} 02/8000100 {seller.phones[0]}"
    own = {"native": False, "imot_id": source.external_id if photos else None, "vat": home.vat}
    said = {"title": title, "money": money, "prose": words, "photos": photos, "seller_name": seller_name}
    return _bazar(rng, number, home, seller=seller, posted=source.posted, **own, **said)


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
    for _ in range(min(photo_count(rng), _MOST_ON_BAZAR)):
        name = f"{rng.getrandbits(128):032x}"
        photos.append(f"https://cdn{rng.randint(5, 8)}.focus.bg/bazar/{name[:2]}/pics/{name}.webp")
    return _bazar(
        rng,
        number,
        home,
        seller=seller,
        title=f"{what} {deal} в {home.place.neighbourhood}{tail}",
        money=money,
        prose=replace(words, html=f"<div><span><span>{words.html}</span></span></div>"),
        posted=posted,
        photos=tuple(photos),
        native=True,
        imot_id=None,
        vat=None,
        seller_name=person,
    )


def _bazar(rng: Random, number: int, home: Property, **said: Any) -> BazarAdvert:  # noqa: ANN401 - its fields
    external_id = str(50_000_000 + number * 37 + rng.randrange(37))
    return BazarAdvert(
        site="bazar.bg",
        external_id=external_id,
        url=f"https://bazar.bg/obiava-{external_id}/{slug(said['title'], bazar=True)}",
        home=home,
        updated=refreshed(rng, said["posted"]),
        views=rng.randint(1, 4000),
        tier=pick(rng, ("", "TOP"), (40, 60)),
        floor=None if home.floor is None or home.floor < 1 or chance(rng, 0.04) else home.floor,
        position=_position(rng, home),
        lag_minutes=rng.randint(0, 4),
        **said | {"vat": said["vat"] if said["money"].shown else None},
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
