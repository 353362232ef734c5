"""The page of one bazar.bg advert, in UTF-8."""

from datetime import datetime, timedelta
from functools import cache
from random import Random

from sale_sofia_simulator.homes import make_home
from sale_sofia_simulator.model import DEAL_WORDS, NOW, BazarAdvert, Money
from sale_sofia_simulator.pieces import fill, fill_json, script_json
from sale_sofia_simulator.search_index import BAZAR_CITIES
from sale_sofia_simulator.text import bazar_day, bazar_moment, brief, leva, slug, spaced

# What bazar.bg pages have in common: their frame, the spelling of prices, the small card of an advert.

_ASK = "Договаряне"
_SEPARATOR = '\n<span class="separator"></span>\n'
_STRANGERS = 500


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
    return fill(
        "bazar_card",
        title=advert.title,
        url=advert.url,
        id=advert.external_id,
        location=f"гр. {place.city}, {place.neighbourhood}",
        date=bazar_day(advert.updated, now),
        amounts=_amounts(advert.money),
        photo=advert.photos[0].removeprefix("https:") if advert.photos else _NO_PHOTO,
        paid=bool(advert.tier),
        small="",
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
    return fill(
        "bazar_card",
        title=title,
        url=f"https://bazar.bg/obiava-{number}/{slug(title, bazar=True)}",
        id=number,
        location=f"гр. София, {home.place.neighbourhood}",
        date=bazar_day(NOW - timedelta(days=rng.randrange(40)), NOW),
        amounts=_amounts(Money(rng.choice(("both", "both", "bgn_first")), home.price_eur)),
        photo=f"{folder}/1{home.kind.letter('sale')}{stamp}_{rng.choice('abcdef')}7.jpg",
        paid=rng.random() < 0.3,  # noqa: PLR2004
        small=" listItemLink165",
    )


_VALID_DAYS = 31
_VAT_TEXTS = {
    "none": "Не се начислява ДДС",
    "excluded": "Цената е без ДДС",
    "included": "Цената е с включен ДДС",
}
_CRUMBS = {
    "Начало": "https://bazar.bg",
    "Обяви": "https://bazar.bg/obiavi",
    "Имоти": "https://bazar.bg/obiavi/imoti",
    "Апартаменти": "https://bazar.bg/obiavi/apartamenti",
}
_NO_PHOTO = "/img/gallery/noPhoto.svg"


def listing_page(advert: BazarAdvert, now: datetime = NOW) -> bytes:
    """The bytes of the page as it is at `now`: its dates are in words like "today"."""
    home, place, money = advert.home, advert.home.place, advert.money
    printed = advert.updated - timedelta(minutes=advert.lag_minutes)
    large = [_sized(photo, "big1/", "large") for photo in advert.photos]
    caption = f"<b>{advert.title}</b><br/>Цена: {script_price(money)}"
    original = [photo.replace("/pics/", "/original/") for photo in advert.photos]
    product = fill_json(
        "bazar_product", advert=advert, images=original, valid_until=valid_until(advert.updated)
    )
    steps = {**_CRUMBS, advert.title: advert.url}
    breadcrumbs = fill_json("breadcrumbs", context="https://schema.org/", steps=steps, nested=True)
    price, number = headline_price(money), f"{money.amount_eur:.0f}"
    words = f"Вижте {advert.title} от ➤ гр. {place.city} - ID{advert.external_id} ✔ в ❱❱Bazar.bg "
    if money.shown:
        words = f"Цена ✅ {price} / {number} € ❱❱ {advert.title} от гр. {place.city} ➤ Bazar.bg ✔"
    return fill(
        "bazar_page",
        body="bazar_detail.html",
        weight=26 + 3 * (16 - len(advert.photos)) // 4,
        title=f"{advert.title} в Апартаменти в гр. {place.city} - ID{advert.external_id} | Bazar.bg",
        description=words,
        canonical=advert.url,
        head_price=price,
        advert=advert,
        map_key=f"{sum(map(ord, place.slug)) * 7919:09d}00000000",
        city_slug=BAZAR_CITIES[place.city],
        hood_slug=slug(place.neighbourhood),
        deal=DEAL_WORDS[home.deal],
        params=_params(advert),
        views=spaced(advert.views),
        moment=bazar_moment(printed, now),
        active=bazar_moment(advert.updated, now),
        price=price_html(money),
        price_words=script_price(money),
        price_number=f"{money.amount_eur:g}" if money.shown else "",
        vat=_VAT_TEXTS.get(advert.vat or ""),
        seller_link=_seller_link(advert),
        photos=[
            {"own": photo.removeprefix("https:"), "medium": _sized(photo, "med/", "pics"), "large": big}
            for photo, big in zip(advert.photos, large, strict=True)
        ],
        images=script_json([{"w": 1198, "h": 1800, "src": photo, "title": caption} for photo in large]),
        related=_related(advert),
        product=script_json(product),
        breadcrumb_list=script_json(breadcrumbs),
    ).encode()


def _params(advert: BazarAdvert) -> list[tuple[str, object]]:
    """The parameter rows; the label of the floor and the word for many rooms begin with Latin letters."""
    home, money, rooms = advert.home, advert.money, advert.home.kind.rooms or 5
    amount, sign = (leva(money.amount_eur), "лв") if money.layout == "bgn" else (money.amount_eur, "€")
    return [
        ("Тип апартамент", f"{rooms}-стаен" if rooms < 5 else "Mногостаен"),  # noqa: PLR2004
        ("Квадратура", f"{home.area_sqm} кв. м."),
        ("Цена на кв.м.", f"{round(amount / home.area_sqm)} {sign}/кв. м." if money.shown else ""),
        ("Вид строителство", home.construction),
        ("Eтаж", advert.floor),
        ("Брой етажи", home.floors_total if advert.native else None),
        ("Година", home.age.known_year),
    ]


def _sized(photo: str, imported: str, own: str) -> str:
    folder, _, name = photo.removeprefix("https:").rpartition("/")
    parent, _, size = folder.rpartition("/")
    return f"{parent}/{own if size == 'pics' else imported}/{name}"


def _related(advert: BazarAdvert) -> dict[str, object]:
    """Three strips of strangers before the price, each with prices that are not the advert's."""
    rng = Random(f"related {advert.external_id}")
    count = rng.randint(2, 200)
    strips = {"own": 4, "others": 4, "recommended": 12}
    return {"count": count} | {
        name: "".join(stranger_card(rng) for _ in range(cards)) for name, cards in strips.items()
    }


def _seller_link(advert: BazarAdvert) -> str:
    """A firm has a subdomain, anybody else a number."""
    seller = advert.seller
    if seller.handle and seller.name and advert.seller_name.startswith(seller.name):
        return f"//{seller.handle}.bazar.bg/"
    return f"/ads/user/{seller.user}"


def valid_until(updated: datetime) -> str:
    """31 days after the last update on the wall clock, with the offset of that later day."""
    return f"{updated + timedelta(days=_VALID_DAYS):%Y-%m-%dT%H:%M:%S%z}"
