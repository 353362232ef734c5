"""The page of one imot.bg advert, in windows-1251 as the portal sends it."""

from random import Random

from sale_sofia.simulator.imot_data import breadcrumbs, crumb_links, data_scripts
from sale_sofia.simulator.imot_gallery import gallery
from sale_sofia.simulator.imot_page import CHARSET, page
from sale_sofia.simulator.imot_price import price_parts
from sale_sofia.simulator.imot_seller import contacts, dealer, plain_phones, private_line
from sale_sofia.simulator.imot_similar import similar
from sale_sofia.simulator.imot_stats import stats
from sale_sofia.simulator.imot_words import params_html, price_line
from sale_sofia.simulator.kinds import RUBRICS
from sale_sofia.simulator.model import ImotAdvert
from sale_sofia.simulator.pieces import fill
from sale_sofia.simulator.text import imot_moment

_TITLES = (
    "{words} - {area} кв.м / {price}, {seller} :: imot.bg Обява {tail}",
    "{words} - {area} кв.м / {price} :: imot.bg Обява {tail}",
    "{words}, {area} кв.м, {price} | imot.bg | {tail}",
)
_FEATURES = """  <div class="borderBox MB20">
    <div class="carExtri">
      <span class="Title">Особености</span><br/>
      <div class="items">
        {items}

      </div>
    </div>
  </div>
"""


def listing_page(advert: ImotAdvert) -> bytes:
    """The bytes of the page; every character has a place in windows-1251."""
    body = fill("imot_detail", **_texts(advert), **price_parts(advert), **_blocks(advert))
    text = page(
        body,
        title=_title(advert),
        description=f"imot.bg: Обява: {_title(advert)}",
        canonical=advert.url,
        imot_id=advert.external_id,
        image=_image(advert),
        links=_links(advert),
        data=data_scripts(advert),
        targeting=_targeting(advert),
    )
    return text.encode(CHARSET)


def _texts(advert: ImotAdvert) -> dict[str, object]:
    place = advert.home.place
    search = f"//www.imot.bg/obiavi/{RUBRICS[advert.home.deal]}/{place.city_slug}/{place.slug}"
    return {
        "rubric": RUBRICS[advert.home.deal],
        "advert_title": advert.title,
        "url": advert.url,
        "short_url": advert.url.removeprefix("https:"),
        "imot_id": advert.external_id,
        "mail": f"{Random(advert.external_id).getrandbits(2400):0600x}",
        "place": f"град {place.city}, {place.neighbourhood}",
        "city": place.city,
        "street": f'<div style="font-weight:normal;">{place.street}</div>' if place.street else "",
        "comma_street": f", {place.street}" if place.street else "",
        "hood_search": search,
        "kind_search": f"{search}/{advert.home.kind.slug}",
        "plural": advert.home.kind.plural,
        "moment": f"{'Коригирана' if advert.corrected else 'Публикувана'} в {imot_moment(advert.updated)}",
        "views": advert.views,
        "params": params_html(advert.home),
    }


def _blocks(advert: ImotAdvert) -> dict[str, object]:
    return {
        "gallery": gallery(advert),
        "description": fill("imot_description", text=advert.prose.html),
        "features": _features(advert),
        "contacts": contacts(advert.seller, private_only=advert.private_only),
        "phones": plain_phones(advert.seller),
        "private": private_line(advert.seller),
        "dealer": dealer(advert.seller),
        "stats": stats(advert),
        "similar": similar(advert),
        "crumbs": crumb_links(breadcrumbs(advert)),
    }


def _features(advert: ImotAdvert) -> str:
    items = "\n".join(f"<div>{feature}</div>" for feature in advert.home.features)
    return _FEATURES.format(items=items) if items else ""


def _title(advert: ImotAdvert) -> str:
    place = advert.home.place
    form = _TITLES[2 if advert.old_layout else advert.seller.name is None]
    return form.format(
        words=f"{advert.title} в град {place.city}, {place.neighbourhood}",
        area=advert.home.area_sqm,
        price=price_line(advert.money),
        seller=advert.seller.name,
        tail=advert.external_id[-6:],
    )


def _image(advert: ImotAdvert) -> str:
    return "".join(
        f'<meta property="og:image" content="{photo.removeprefix("https:")}" />'
        for photo in advert.photos[:1]
    )


def _links(advert: ImotAdvert) -> str:
    if not advert.old_layout:
        return ""
    mobile = advert.url.replace("www.", "m.")
    return f'<link rel="alternate" media="only screen and (max-width: 640px)" href="{mobile}" />'


def _targeting(advert: ImotAdvert) -> str:
    home = advert.home
    return (
        f".setTargeting('agency', ['{advert.seller.handle or ''}'])"
        f".setTargeting('AdvertTown', ['ГРАД {home.place.city.upper()}'])"
        f".setTargeting('AdvertDistrict', ['{home.place.neighbourhood.upper()}'])"
        f".setTargeting('AdvertTypeImot', ['{home.kind.label}'])"
    )
