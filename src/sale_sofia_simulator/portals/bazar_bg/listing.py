"""The page of one bazar.bg advert, in UTF-8."""

from sale_sofia_simulator.portals.bazar_bg.page import script_price
from sale_sofia_simulator.model import BazarAdvert
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.pieces import script_json
from random import Random
from sale_sofia_simulator.portals.bazar_bg.page import stranger_card
from datetime import datetime
from datetime import timedelta
from sale_sofia_simulator.portals.bazar_bg.page import breadcrumb_list
from sale_sofia_simulator.portals.bazar_bg.page import crumbs
from sale_sofia_simulator.portals.bazar_bg.page import page
from sale_sofia_simulator.portals.bazar_bg.page import VAT_TEXTS
from sale_sofia_simulator.portals.bazar_bg.page import headline_price
from sale_sofia_simulator.portals.bazar_bg.page import params_html
from sale_sofia_simulator.portals.bazar_bg.page import price_css
from sale_sofia_simulator.portals.bazar_bg.page import price_html
from sale_sofia_simulator.model import NOW
from sale_sofia_simulator.model import DEAL_WORDS
from sale_sofia_simulator.search_index import BAZAR_CITIES
from sale_sofia_simulator.text import bazar_moment
from sale_sofia_simulator.text import leva
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.text import spaced

# The photos of a bazar.bg advert, printed five times over as on the real page.

_NO_PHOTO = '<img class="picture" src="/img/gallery/noPhoto.svg" alt="{title}">'


def gallery(advert: BazarAdvert) -> str:
    """The gallery of the advert; without photos it holds the portal's empty picture."""
    count = len(advert.photos)
    return fill(
        "bazar_gallery",
        main=_each("bazar_photo_main", advert) or _NO_PHOTO.format(title=advert.title),
        thumbnails=_each("bazar_photo_small", advert),
        large=_each("bazar_photo_large", advert),
        count=f'<span class="images-count">1/{count}</span>' if count else "",
    )


def big_gallery(advert: BazarAdvert) -> str:
    """The pop-up with the same photos again."""
    large = _large(advert.photos[0]) if advert.photos else "/img/gallery/noPhoto.svg"
    return fill(
        "bazar_big_gallery", title=advert.title, large=large, items=_each("bazar_photo_popup", advert)
    )


def images_script(advert: BazarAdvert) -> str:
    """The photos in the page's own script."""
    title = f"<b>{advert.title}</b><br/>Цена: {script_price(advert.money)}"
    return script_json(
        [{"w": 1198, "h": 1800, "src": _large(photo), "title": title} for photo in advert.photos]
    )


def _each(piece: str, advert: BazarAdvert) -> str:
    return "".join(
        fill(
            piece,
            n=n,
            active="" if n > 1 else "active",
            current="" if n > 1 else "galleryCurrentImage",
            photo=photo.removeprefix("https:"),
            med=_med(photo),
            large=_large(photo),
            title=advert.title,
            id=advert.external_id,
        )
        for n, photo in enumerate(advert.photos, 1)
    )


def _med(photo: str) -> str:
    return _sized(photo, "med/", "pics")


def _large(photo: str) -> str:
    return _sized(photo, "big1/", "large")


def _sized(photo: str, imported: str, own: str) -> str:
    folder, _, name = photo.removeprefix("https:").rpartition("/")
    parent, _, size = folder.rpartition("/")
    return f"{parent}/{own if size == 'pics' else imported}/{name}"


# The strips of other adverts that bazar.bg prints before the price of its own advert.

_OTHERS = """
                            <div class="clearfix"></div>
                <div class="adMoreAdsTitle">
                    Другите търсят също
                </div>
                <div style="margin-top:5px;" class="relatedObiavi">
{cards}
                </div>
"""
_SELLER = """
							<div class="adMoreAdsTitle">
					Обяви на потребителя {seller}
					<a href="{link}">Виж всички <strong>{count} обяви</strong></a>
				</div>
				<div style="margin-top:5px;" class="userObiavi">
{cards}
				</div>
"""
_RECOMMENDED = """
							<div class="clearfix"></div>
				<div class="adMoreAdsTitle rec" style="line-height: 24px;">
					Препоръчани за теб
										<div class="nextPrev">
						<a href="javascript:;" class="nextList"></a>
						<a href="javascript:;" class="prevList"></a>
					</div>
					<div class="clearfix"></div>
									</div>
				<div style="margin-top:15px;" class="relatedObiavi inline rec">
					<div class='inner-container'>
{cards}
					</div>
				</div>
"""


def related(advert: BazarAdvert) -> str:
    """Three strips of strangers, each with prices that are not the advert's."""
    rng = Random(f"related {advert.external_id}")
    seller = _SELLER.format(
        seller=advert.seller_name, link=seller_link(advert), count=rng.randint(2, 200), cards=_cards(rng, 4)
    )
    return _OTHERS.format(cards=_cards(rng, 4)) + seller + _RECOMMENDED.format(cards=_cards(rng, 12))


def seller_link(advert: BazarAdvert) -> str:
    """A firm has a subdomain, anybody else a number."""
    if advert.seller.handle and advert.seller.name and advert.seller_name.startswith(advert.seller.name):
        return f"//{advert.seller.handle}.bazar.bg/"
    return f"/ads/user/{advert.seller.user}"


def _cards(rng: Random, count: int) -> str:
    return "".join(stranger_card(rng) for _ in range(count))



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


