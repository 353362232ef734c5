"""The photos of a bazar.bg advert, printed five times over as on the real page."""

from sale_sofia.simulator.bazar_words import script_price
from sale_sofia.simulator.model import BazarAdvert
from sale_sofia.simulator.pieces import fill, script_json

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
