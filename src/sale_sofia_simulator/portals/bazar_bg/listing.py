"""The page of one bazar.bg advert, in UTF-8."""

from datetime import datetime, timedelta
from random import Random

from sale_sofia_simulator.model import DEAL_WORDS, NOW, BazarAdvert
from sale_sofia_simulator.pieces import fill, script_json
from sale_sofia_simulator.portals.bazar_bg.page import (
    headline_price,
    page,
    price_html,
    script_price,
    stranger_card,
)
from sale_sofia_simulator.search_index import BAZAR_CITIES
from sale_sofia_simulator.text import bazar_moment, leva, slug, spaced

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
