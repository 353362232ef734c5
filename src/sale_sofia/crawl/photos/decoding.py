"""Decodes untrusted pictures in a process of its own: a hostile one costs a few seconds and no more."""

import io
from functools import partial
from typing import Final, NamedTuple

from PIL import Image, ImageFile, ImageOps

# Only the three that portals use: each further format is one more parser to attack.
from PIL import JpegImagePlugin as _Jpeg  # noqa: F401 - imported here, not in each process
from PIL import PngImagePlugin as _Png  # noqa: F401
from PIL import WebPImagePlugin as _WebP  # noqa: F401

from sale_sofia.crawl.resilience.errors import ParseHostile, ServiceError
from sale_sofia.crawl.visit.apart import Apart, Bounds, EndedApart
from sale_sofia.flats.photos.pictures import TILE, WINDOWS
from sale_sofia.flats.settings import (
    DECODE_MEMORY_BYTES,
    DECODE_SECONDS,
    OWN_PHOTO_QUALITY,
    OWN_PHOTO_SIDE,
    THUMBNAIL_QUALITY,
    THUMBNAIL_SIDE,
)
from sale_sofia.listings.settings import DESK_SLACK_BYTES, PAGE_PATIENCE
from sale_sofia.settings.model import Settings

FORMATS: Final = ("JPEG", "PNG", "WEBP")
_SIDE: Final = 8 * max(TILE)
"""Pixels to which a JPEG may be reduced while decoding: tiles show no more than that."""


class DecodedPicture(NamedTuple):
    """What is extracted from a picture."""

    tiles: bytes
    """Its windows in grey, one after the other."""
    thumbnail: bytes | None


def _bounds(most_bytes: int) -> Bounds:
    return Bounds(
        seconds=DECODE_SECONDS,
        patience=DECODE_SECONDS * PAGE_PATIENCE,
        memory=DECODE_MEMORY_BYTES,
        desk=most_bytes + DESK_SLACK_BYTES,
    )


class Decoder:
    """Decodes pictures in another process, one at a time."""

    def __init__(self, settings: Settings) -> None:
        work = partial(look, thumbnails=settings.photo_thumbnails)
        self._apart = Apart(work, _bounds(settings.photo_max_bytes))
        self._most_pixels = settings.photo_max_pixels

    async def look(self, body: bytes) -> DecodedPicture:
        """Decode a picture. Raises `ParseHostile`: it is none, too large, or took too much."""
        try:
            answer: DecodedPicture | str = await self._apart.do(self._most_pixels, body)
        except EndedApart as why:
            raise ParseHostile(f"looking at the picture was ended: {why}") from None
        except OSError as problem:
            raise ServiceError(f"no process to look at pictures in: {problem}") from problem
        if isinstance(answer, str):
            raise ParseHostile(answer)
        return answer

    def close(self) -> None:
        """End the process."""
        self._apart.close()


def look(most_pixels: int, body: bytes, *, thumbnails: bool = False) -> DecodedPicture | str:
    """Decode a picture, or say why it is none; runs in the other process."""
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    Image.MAX_IMAGE_PIXELS = None  # Pillow's own limits are off; ours is enough
    try:
        with Image.open(io.BytesIO(body), formats=FORMATS) as picture:
            wide, high = picture.size
            if wide * high > most_pixels:  # only its header was read so far
                return f"a picture of {wide} times {high} pixels"
            if min(wide, high) < max(TILE):
                return f"a picture of {wide} times {high} pixels, too small to show a flat"
            picture.draft("RGB", (_SIDE, _SIDE))
            plain = picture.convert("RGB")
    except MemoryError:
        raise
    except Exception as problem:  # noqa: BLE001 - whatever a parser raises for untrusted bytes
        return f"no picture: {type(problem).__name__}"
    return DecodedPicture(_tiles(plain.convert("L")), _thumbnail(plain) if thumbnails else None)


def decode_own(settings: Settings, body: bytes) -> bytes:
    """A photo of the household as a new JPEG, without any metadata.

    Raises:
        ParseHostile: it is none, too large, or took too much.
    """
    apart = Apart(write_anew, _bounds(settings.own_photo_max_bytes))
    try:
        answer: bytes | str = apart.do_now(settings.own_photo_max_pixels, body)
    except EndedApart as why:
        raise ParseHostile(f"looking at the picture was ended: {why}") from None
    finally:
        apart.close()
    if isinstance(answer, str):
        raise ParseHostile(answer)
    return answer


def write_anew(most_pixels: int, body: bytes) -> bytes | str:
    """The picture upright and at screen size, or why it is none; runs in the other process."""
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    Image.MAX_IMAGE_PIXELS = None  # as above
    try:
        with Image.open(io.BytesIO(body), formats=FORMATS) as picture:
            wide, high = picture.size
            if wide * high > most_pixels:
                return f"a picture of {wide} times {high} pixels"
            picture.draft("RGB", (OWN_PHOTO_SIDE, OWN_PHOTO_SIDE))
            plain = ImageOps.exif_transpose(picture).convert("RGB")
    except MemoryError:
        raise
    except Exception as problem:  # noqa: BLE001 - whatever a parser raises for untrusted bytes
        return f"no picture: {type(problem).__name__}"
    plain.thumbnail((OWN_PHOTO_SIDE, OWN_PHOTO_SIDE))
    plain.info = {}  # metadata: place, time, phone, comments
    file = io.BytesIO()
    plain.save(file, "JPEG", quality=OWN_PHOTO_QUALITY)
    return file.getvalue()


def _tiles(grey: Image.Image) -> bytes:
    def box(window: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        left, upper, right, lower = window
        return left * grey.width, upper * grey.height, right * grey.width, lower * grey.height

    tiles = (grey.resize(TILE, Image.Resampling.BOX, box(window)) for window in WINDOWS)
    return b"".join(tile.tobytes() for tile in tiles)


def _thumbnail(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    small = picture.copy()
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    small.save(file, "JPEG", quality=THUMBNAIL_QUALITY)
    return file.getvalue()
