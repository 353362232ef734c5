"""The page of one bazar.bg advert, in UTF-8."""

from datetime import datetime, timedelta

from sale_sofia.simulator.bazar_gallery import big_gallery, gallery, images_script
from sale_sofia.simulator.bazar_page import breadcrumb_list, crumbs, page
from sale_sofia.simulator.bazar_related import related, seller_link
from sale_sofia.simulator.bazar_words import (
    VAT_TEXTS,
    headline_price,
    params_html,
    price_css,
    price_html,
    script_price,
)
from sale_sofia.simulator.clock import NOW
from sale_sofia.simulator.kinds import DEAL_WORDS
from sale_sofia.simulator.model import BazarAdvert
from sale_sofia.simulator.pieces import fill, script_json
from sale_sofia.simulator.search_index import BAZAR_CITIES
from sale_sofia.simulator.text import bazar_moment, leva, slug, spaced

VALID_DAYS = 31


def listing_page(advert: BazarAdvert, now: datetime = NOW) -> bytes:
    """The bytes of the page as it is at `now`: its dates are in words like "today"."""
    moments = _moments(advert, now)
    body = fill(
        "bazar_detail", **_texts(advert), **moments, **_price(advert), **_seller(advert), **_blocks(advert)
    )
    city = advert.home.place.city
    return page(
        body,
        title=f"{advert.title} в Апартаменти в гр. {city} - ID{advert.external_id} | Bazar.bg",
        description=_description(advert),
        canonical=advert.url,
        image=advert.photos[0].removeprefix("https:") if advert.photos else "//bazar.bg/img/bazar-logo.png",
        og=_og(advert),
        weight=26 + 3 * (16 - len(advert.photos)) // 4,
    ).encode()


def _texts(advert: BazarAdvert) -> dict[str, object]:
    place = advert.home.place
    return {
        "advert_title": advert.title,
        "id": advert.external_id,
        "top": "adNameTOP" if advert.tier else "",
        "map_key": f"{sum(map(ord, place.slug)) * 7919:09d}00000000",
        "position": _position(advert),
        "place": f"гр. {place.city}, {place.neighbourhood}",
        "city": place.city,
        "hood": place.neighbourhood,
        "city_slug": BAZAR_CITIES[place.city],
        "hood_slug": slug(place.neighbourhood),
        "deal": DEAL_WORDS[advert.home.deal],
        "params": params_html(advert),
        "text": advert.prose.html,
        "views": spaced(advert.views),
    }


def _moments(advert: BazarAdvert, now: datetime) -> dict[str, object]:
    printed = advert.updated - timedelta(minutes=advert.lag_minutes)
    return {"moment": bazar_moment(printed, now), "active": bazar_moment(advert.updated, now)}


def _position(advert: BazarAdvert) -> str:
    if advert.position is None:
        return ""
    lat, lon = advert.position
    return f' data-lat="{lat}" data-long="{lon}"'


def _price(advert: BazarAdvert) -> dict[str, object]:
    money = advert.money
    vat = f'<span class="price-vat-type-content">{VAT_TEXTS[advert.vat]}</span>' if advert.vat else ""
    credit = f'<iframe src="/banner/?prop_val={round(money.amount_eur)}" width="300" height="50"></iframe>'
    return {
        "price": price_html(money),
        "price_css": price_css(advert),
        "price_words": script_price(money),
        "price_number": f"{money.amount_eur:g}" if money.shown else "",
        "vat": vat,
        "credit": credit if money.shown and advert.home.deal == "sale" else "",
    }


def _seller(advert: BazarAdvert) -> dict[str, object]:
    link = seller_link(advert)
    named = link.endswith(".bazar.bg/")
    return {
        "seller": advert.seller_name,
        "seller_link": link,
        "user": advert.seller.user,
        "since": advert.seller.since,
        "seller_adverts": "1 обява" if advert.native else f"{advert.seller.user % 200 + 2} обяви",
        "firm": fill("bazar_firm", handle=advert.seller.handle, name=advert.seller_name) if named else "",
    }


def _blocks(advert: BazarAdvert) -> dict[str, object]:
    return {
        "crumbs": crumbs(),
        "gallery": gallery(advert),
        "big_gallery": big_gallery(advert),
        "images": images_script(advert),
        "related": related(advert),
        "product": script_json(_product(advert)),
        "breadcrumb_list": script_json(breadcrumb_list(advert.title, advert.url)),
    }


def _product(advert: BazarAdvert) -> dict[str, object]:
    return {
        "@context": "https://schema.org/",
        "@type": "Product",
        "name": advert.title,
        "description": advert.prose.glued,
        "image": [photo.replace("/pics/", "/original/") for photo in advert.photos],
        "brand": "Bazar.bg",
        "sku": int(advert.external_id),
        "mpn": int(advert.external_id),
        "offers": _offer(advert),
    }


def _offer(advert: BazarAdvert) -> dict[str, object]:
    money, in_leva = advert.money, advert.money.layout == "bgn"
    stock = {"availability": "https://schema.org/InStock"}
    if not money.shown:
        return {"@type": "Offer", "category": "free", "price": 0, "priceCurrency": "EUR", **stock}
    return {
        "@type": "Offer",
        "price": leva(money.amount_eur) if in_leva else money.amount_eur,
        "priceCurrency": "BGN" if in_leva else "EUR",
        **stock,
        "url": advert.url,
        "priceValidUntil": valid_until(advert.updated),
    }


def valid_until(updated: datetime) -> str:
    """31 days after the last update on the wall clock, with the offset of that later day."""
    return f"{updated + timedelta(days=VALID_DAYS):%Y-%m-%dT%H:%M:%S%z}"


def _description(advert: BazarAdvert) -> str:
    city = advert.home.place.city
    if not advert.money.shown:
        return f"Вижте {advert.title} от ➤ гр. {city} - ID{advert.external_id} ✔ в ❱❱Bazar.bg "
    number = f"{advert.money.amount_eur:.0f}"
    return f"Цена ✅ {headline_price(advert.money)} / {number} € ❱❱ {advert.title} от гр. {city} ➤ Bazar.bg ✔"


def _og(advert: BazarAdvert) -> str:
    price = headline_price(advert.money)
    return (
        '        <meta property="og:type" content="gifts_product" >\n'
        f'    <meta property="og:price" content="{price}" >'
    )
