"""What every imot.bg page has around its own part, and the gallery of some."""

from sale_sofia_simulator.pieces import attribute, ballast, fill

CHARSET = "windows-1251"
_SLOTS = ("imot.bg_details_top_980_", "imot_sidebar_left", "imot_sidebar_right", "imot.bg_inner_details")
_MOST_VISIBLE = 6
_NO_PHOTO = (
    '\n        <img src="//www.imot.bg/images/picturess/nophoto_660x495.svg" class="noborder" alt="">\n'
)


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
) -> bytes:
    """The whole page; `weight` is the size in kilobytes of the scripts in its head."""
    slots = "".join(
        f'          googletag.defineSlot("/1/{slot}", [[160, 600], [300, 250]], "div-gpt-ad-{slot}")\n'
        f"            .addService(googletag.pubads()){targeting}.setCollapseEmptyDiv(true,true);\n\n"
        for slot in _SLOTS
    )
    head = fill(
        "imot_head",
        title=title,
        description=attribute(description),
        canonical=canonical,
        links=links,
        image=image,
        ballast=ballast(weight, "imot head"),
        slots=slots,
    )
    text = head + fill("imot_top", imot_id=imot_id) + body + fill("imot_foot", data=data)
    return text.encode(CHARSET)


def gallery(title: str, heading: str, summary: str, photos: tuple[str, ...], tier: str = "") -> str:
    """Carousel, thumbnails, and the line over them; without photos only the portal's empty picture."""
    icon = f"https://www.imot.bg/images/picturess/icons/{tier.lower()}.svg"
    slides = [
        fill("imot_slide", photo=photo, title=title, number=number) for number, photo in enumerate(photos, 1)
    ]
    small = [
        fill(
            "imot_thumbnail",
            photo=small_photo(photo),
            title=title,
            number=index + 1,
            index=index,
            style="" if index else 'style="opacity: 0.7;"',
        )
        for index, photo in enumerate(photos)
    ]
    return fill(
        "imot_gallery",
        heading=heading,
        summary=summary,
        promo=f'<img src="{icon}" class="promoLine" alt="status">' if tier else "",
        slides="".join(slides) or _NO_PHOTO,
        small="".join(small),
        visible=min(len(photos), _MOST_VISIBLE),
        count=len(photos),
        ballast=ballast(3, "imot gallery"),
    )


def small_photo(photo: str) -> str:
    """The address of the thumbnail of a photo, without its scheme."""
    folder, _, name = photo.removeprefix("https:").rpartition("/")
    return f"{folder.rpartition('//')[0]}/{name}"
