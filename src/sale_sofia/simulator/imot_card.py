"""The card of an imot.bg advert on a search page."""

from sale_sofia.simulator.imot_gallery import small_photo
from sale_sofia.simulator.imot_words import VAT_TEXTS, floor_in_line, heating_in_line, price_html
from sale_sofia.simulator.model import ImotAdvert
from sale_sofia.simulator.pieces import fill

_PROMO = '<img src="https://imot.bg/images/picturess/icons/{tier}-wrap.svg" class="promoLine" alt="status" >'
_NEW = "<span><strong>НОВА ОБЯВА</strong></span>"
_SMALL = '<a href="{url}" class="saveSlink"><img src="{photo}" alt="Обява {title}" loading="lazy"></a>'
_NO_PHOTO = "//www.imot.bg/images/picturess/nophoto_490x341.svg"
_LONGEST_TEXT = 100


def advert_card(advert: ImotAdvert) -> str:
    """The card: price, one comma-joined line of facts, and the firm; a private person is not named."""
    url = advert.url.removeprefix("https:")
    place = advert.home.place
    photos = [small_photo(photo) for photo in advert.photos]
    return fill(
        "imot_card",
        id=advert.external_id,
        url=url,
        title=advert.title,
        place=f"град {place.city}, {place.neighbourhood}",
        tier=advert.tier,
        promo=_PROMO.format(tier=advert.tier) if advert.tier else "",
        photo=photos[0] if photos else _NO_PHOTO,
        small="\n        ".join(
            _SMALL.format(url=url, photo=photo, title=advert.title) for photo in photos[1:4]
        ),
        trend=advert.trend,
        price=price_html(advert.money),
        vat=_vat(advert),
        new=_NEW if not advert.corrected and not advert.tier else "",
        info=info_line(advert),
        seller=_seller(advert),
        photos=f" <strong>и {len(photos)} снимки</strong>" if len(photos) > 1 else "",
    )


def info_line(advert: ImotAdvert) -> str:
    """Area, street, floor, heating, age, the beginning of the description, telephone."""
    home = advert.home
    facts = [
        f"{home.area_sqm} кв.м",
        home.place.street or "",
        f"двор {home.yard_sqm} кв.м" if home.yard_sqm else "",
        floor_in_line(home),
        *heating_in_line(home),
        f"{home.age.state} {home.age.span}".strip(),
        f"{_beginning(advert)} ...",
        f"тел.: {advert.seller.phones[0]}",
    ]
    return ", ".join(fact for fact in facts if fact)


def _beginning(advert: ImotAdvert) -> str:
    """The first words without markup, as the portal cuts them: an entity may be cut in two."""
    return " ".join(advert.prose.html.replace("<br />", " ").replace("<br>", " ").split())[:_LONGEST_TEXT]


def _vat(advert: ImotAdvert) -> str:
    excluded = advert.home.vat == "excluded" and advert.money.shown
    return f"<span>{VAT_TEXTS['excluded']}</span>" if excluded else ""


def _seller(advert: ImotAdvert) -> str:
    seller = advert.seller
    if seller.kind == "private":
        return ""
    return fill("imot_card_seller", handle=seller.handle, name=seller.name, address=seller.address)
