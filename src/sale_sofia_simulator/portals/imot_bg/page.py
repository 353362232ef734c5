"""What every imot.bg page has around its own part."""

from sale_sofia_simulator.pieces import attribute
from sale_sofia_simulator.pieces import ballast
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.portals.imot_bg.words import floor_words
from sale_sofia_simulator.portals.imot_bg.words import price_html
from sale_sofia_simulator.model import Age
from sale_sofia_simulator.model import ImotAdvert


CHARSET = "windows-1251"
_SLOTS = ("imot.bg_details_top_980_", "imot_sidebar_left", "imot_sidebar_right", "imot.bg_inner_details")


def page(  # noqa: PLR0913
    body: str,
    *,
    title: str,
    description: str,
    canonical: str,
    imot_id: str = "",
    image: str = "",
    links: str = "",
    data: str = "",
    targeting: str = "",
    weight: int = 30,
) -> str:
    """The whole page; `weight` is the size in kilobytes of the scripts in its head."""
    head = fill(
        "imot_head",
        title=title,
        description=attribute(description),
        canonical=canonical,
        links=links,
        image=image,
        ballast=ballast(weight, "imot head"),
        slots="".join(_slot(slot, targeting) for slot in _SLOTS),
    )
    return head + fill("imot_top", imot_id=imot_id) + body + fill("imot_foot", data=data)


def _slot(name: str, targeting: str) -> str:
    return (
        f'          googletag.defineSlot("/1/{name}", [[160, 600], [300, 250]], "div-gpt-ad-{name}")\n'
        f"            .addService(googletag.pubads()){targeting}.setCollapseEmptyDiv(true,true);\n\n"
    )


# The photos of an imot.bg advert: carousel, thumbnails, and the line over them.

_SELLERS = {"agency": "Агенция", "developer": "Инвеститор", "private": "Частно лице"}
_MOST_VISIBLE = 6

_SLIDE = """
        <div class="item">
          <img class="carouselimg owl-lazy"
               data-src="{photo}"
               onclick="galleryFullScreenOpen('fromImage')"
               alt="{title} | Imot.bg — изображение {number}"
               data-src-gallery="{photo}">
        </div>
"""
_SMALL = """
            <div class="smallPicturesGallery" {style}>
              <img src="{photo}"
                   alt="{title} | Imot.bg — малка снимка {number}"
                   loading="lazy"
                   onclick="SlideTo({index})">
            </div>
"""


def gallery(advert: ImotAdvert) -> str:
    """The gallery section; without photos it holds only the portal's empty picture."""
    return gallery_section(advert.title, _heading(advert), _summary(advert), advert.photos, advert.tier)


def gallery_section(title: str, heading: str, summary: str, photos: tuple[str, ...], tier: str) -> str:
    """The gallery of any page that has one."""
    return fill(
        "imot_gallery",
        heading=heading,
        summary=summary,
        promo=_promo(tier),
        slides="".join(_slide(title, photos, i) for i in range(len(photos))) or _NO_PHOTO,
        small="".join(_thumbnail(title, photos, i) for i in range(len(photos))),
        visible=min(len(photos), _MOST_VISIBLE),
        count=len(photos),
        ballast=ballast(3, "imot gallery"),
    )


_NO_PHOTO = (
    '\n        <img src="//www.imot.bg/images/picturess/nophoto_660x495.svg" class="noborder" alt="">\n'
)


def _slide(title: str, photos: tuple[str, ...], index: int) -> str:
    return _SLIDE.format(photo=photos[index], title=title, number=index + 1)


def _thumbnail(title: str, photos: tuple[str, ...], index: int) -> str:
    style = "" if index else 'style="opacity: 0.7;"'
    return _SMALL.format(
        photo=small_photo(photos[index]), title=title, number=index + 1, index=index, style=style
    )


def small_photo(photo: str) -> str:
    """The address of the thumbnail of a photo, without its scheme."""
    folder, _, name = photo.removeprefix("https:").rpartition("/")
    return f"{folder.rpartition('//')[0]}/{name}"


def _promo(tier: str) -> str:
    if not tier:
        return ""
    icon = f"https://www.imot.bg/images/picturess/icons/{tier.lower()}.svg"
    return f'<img src="{icon}" class="promoLine" alt="status">'


def _heading(advert: ImotAdvert) -> str:
    place = advert.home.place
    return f"{price_html(advert.money)},, {advert.title}, град {place.city}, {place.neighbourhood}"


def _summary(advert: ImotAdvert) -> str:
    home = advert.home
    facts = [
        f"Площ: {home.area_sqm} кв.м",
        _SELLERS[advert.seller.kind],
        f"Етаж: {floor_words(home)}" if floor_words(home) else "",
        f"Газ: {home.gas}" if home.gas else "",
        f"ТEЦ: {home.district_heating}" if home.district_heating else "",
        home.construction or "",
        _age(home.age),
    ]
    return "".join(f"{fact}, " for fact in facts if fact)


def _age(age: Age) -> str:
    return f"{age.state} {age.span}".strip()


