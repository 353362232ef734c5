"""The page of one bazar.bg advert, in UTF-8."""

from datetime import datetime, timedelta
from functools import cache
from random import Random

from sale_sofia_simulator.homes import make_home
from sale_sofia_simulator.model import DEAL_WORDS, NOW, BazarAdvert, Money
from sale_sofia_simulator.pieces import attribute, ballast, fill, script_json
from sale_sofia_simulator.search_index import BAZAR_CITIES
from sale_sofia_simulator.text import bazar_day, bazar_moment, brief, leva, slug, spaced

# What bazar.bg pages have in common: their frame, the spelling of prices, the small card of an advert.

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
    home, place, money, seller = advert.home, advert.home.place, advert.money, advert.seller
    printed = advert.updated - timedelta(minutes=advert.lag_minutes)
    # The word "included" stands in the class whatever the VAT text says.
    vat_class = "price-vat-type-included" if advert.vat else ""
    credit = f'<iframe src="/banner/?prop_val={round(money.amount_eur)}" width="300" height="50"></iframe>'
    link = _seller_link(advert)
    body = fill(
        "bazar_detail",
        advert=advert,
        place=place,
        top="adNameTOP" if advert.tier else "",
        map_key=f"{sum(map(ord, place.slug)) * 7919:09d}00000000",
        position=' data-lat="{}" data-long="{}"'.format(*advert.position) if advert.position else "",
        where=f"гр. {place.city}, {place.neighbourhood}",
        city_slug=BAZAR_CITIES[place.city],
        hood_slug=slug(place.neighbourhood),
        deal=DEAL_WORDS[home.deal],
        params=_params(advert),
        views=spaced(advert.views),
        moment=bazar_moment(printed, now),
        active=bazar_moment(advert.updated, now),
        price=price_html(money),
        price_css=f"{vat_class} {'previous-price-included' if money.previous_eur else ''}",
        price_words=script_price(money),
        price_number=f"{money.amount_eur:g}" if money.shown else "",
        vat=f'<span class="price-vat-type-content">{_VAT_TEXTS[advert.vat]}</span>' if advert.vat else "",
        credit=credit if money.shown and home.deal == "sale" else "",
        seller_link=link,
        seller_adverts="1 обява" if advert.native else f"{seller.user % 200 + 2} обяви",
        firm=fill("bazar_firm", advert=advert) if link.endswith(".bazar.bg/") else "",
        crumbs=fill("bazar_crumbs"),
        **_galleries(advert),
        related=_related(advert, link),
        product=script_json(_product(advert)),
        breadcrumb_list=script_json(_breadcrumb_list(advert)),
    )
    price, number = headline_price(money), f"{money.amount_eur:.0f}"
    words = f"Вижте {advert.title} от ➤ гр. {place.city} - ID{advert.external_id} ✔ в ❱❱Bazar.bg "
    if money.shown:
        words = f"Цена ✅ {price} / {number} € ❱❱ {advert.title} от гр. {place.city} ➤ Bazar.bg ✔"
    return page(
        body,
        title=f"{advert.title} в Апартаменти в гр. {place.city} - ID{advert.external_id} | Bazar.bg",
        description=words,
        canonical=advert.url,
        image=advert.photos[0].removeprefix("https:") if advert.photos else "//bazar.bg/img/bazar-logo.png",
        og='        <meta property="og:type" content="gifts_product" >\n'
        f'    <meta property="og:price" content="{price}" >',
        weight=26 + 3 * (16 - len(advert.photos)) // 4,
    )


def _params(advert: BazarAdvert) -> str:
    """The parameter rows; the label of the floor and the word for many rooms begin with Latin letters."""
    home, money, rooms = advert.home, advert.money, advert.home.kind.rooms or 5
    amount, sign = (leva(money.amount_eur), "лв") if money.layout == "bgn" else (money.amount_eur, "€")
    rows = [
        ("Тип апартамент", f"{rooms}-стаен" if rooms < 5 else "Mногостаен"),  # noqa: PLR2004
        ("Квадратура", f"{home.area_sqm} кв. м."),
        ("Цена на кв.м.", f"{round(amount / home.area_sqm)} {sign}/кв. м." if money.shown else ""),
        ("Вид строителство", home.construction),
        ("Eтаж", advert.floor),
        ("Брой етажи", home.floors_total if advert.native else None),
        ("Година", home.age.known_year),
    ]
    return "".join(fill("bazar_param", label=label, value=value) for label, value in rows if value)


def _galleries(advert: BazarAdvert) -> dict[str, str]:
    """The photos, printed five times over as on the real page; without any, the portal's empty picture."""
    photos, large = advert.photos, [_sized(photo, "big1/", "large") for photo in advert.photos]

    def each(piece: str) -> str:
        return "".join(
            fill(
                piece,
                advert=advert,
                n=n,
                active="" if n > 1 else "active",
                current="" if n > 1 else "galleryCurrentImage",
                photo=photo.removeprefix("https:"),
                med=_sized(photo, "med/", "pics"),
                large=large[n - 1],
            )
            for n, photo in enumerate(photos, 1)
        )

    title = f"<b>{advert.title}</b><br/>Цена: {script_price(advert.money)}"
    big = large[0] if photos else _NO_PHOTO
    return {
        "gallery": fill(
            "bazar_gallery",
            main=each("bazar_photo_main") or f'<img class="picture" src="{_NO_PHOTO}" alt="{advert.title}">',
            thumbnails=each("bazar_photo_small"),
            large=each("bazar_photo_large"),
            count=f'<span class="images-count">1/{len(photos)}</span>' if photos else "",
        ),
        "big_gallery": fill("bazar_big_gallery", advert=advert, large=big, items=each("bazar_photo_popup")),
        "images": script_json([{"w": 1198, "h": 1800, "src": photo, "title": title} for photo in large]),
    }


def _sized(photo: str, imported: str, own: str) -> str:
    folder, _, name = photo.removeprefix("https:").rpartition("/")
    parent, _, size = folder.rpartition("/")
    return f"{parent}/{own if size == 'pics' else imported}/{name}"


def _related(advert: BazarAdvert, link: str) -> str:
    """Three strips of strangers before the price, each with prices that are not the advert's."""
    rng = Random(f"related {advert.external_id}")
    return fill(
        "bazar_related",
        advert=advert,
        link=link,
        count=rng.randint(2, 200),
        own="".join(stranger_card(rng) for _ in range(4)),
        others="".join(stranger_card(rng) for _ in range(4)),
        recommended="".join(stranger_card(rng) for _ in range(12)),
    )


def _seller_link(advert: BazarAdvert) -> str:
    """A firm has a subdomain, anybody else a number."""
    seller = advert.seller
    if seller.handle and seller.name and advert.seller_name.startswith(seller.name):
        return f"//{seller.handle}.bazar.bg/"
    return f"/ads/user/{seller.user}"


def _product(advert: BazarAdvert) -> dict[str, object]:
    money, in_leva = advert.money, advert.money.layout == "bgn"
    stock = {"availability": "https://schema.org/InStock"}
    offer = {"@type": "Offer", "category": "free", "price": 0, "priceCurrency": "EUR", **stock}
    if money.shown:
        offer = {
            "@type": "Offer",
            "price": leva(money.amount_eur) if in_leva else money.amount_eur,
            "priceCurrency": "BGN" if in_leva else "EUR",
            **stock,
            "url": advert.url,
            "priceValidUntil": valid_until(advert.updated),
        }
    return {
        "@context": "https://schema.org/",
        "@type": "Product",
        "name": advert.title,
        "description": advert.prose.glued,
        "image": [photo.replace("/pics/", "/original/") for photo in advert.photos],
        "brand": "Bazar.bg",
        "sku": int(advert.external_id),
        "mpn": int(advert.external_id),
        "offers": offer,
    }


def valid_until(updated: datetime) -> str:
    """31 days after the last update on the wall clock, with the offset of that later day."""
    return f"{updated + timedelta(days=_VALID_DAYS):%Y-%m-%dT%H:%M:%S%z}"


def _breadcrumb_list(advert: BazarAdvert) -> dict[str, object]:
    steps = [*_CRUMBS.items(), (advert.title, advert.url)]
    items = [
        {"@type": "ListItem", "position": i, "item": {"@id": address, "name": name}}
        for i, (name, address) in enumerate(steps, 1)
    ]
    return {"@context": "https://schema.org/", "@type": "BreadcrumbList", "itemListElement": items}
