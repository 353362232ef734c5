"""Photos of the simulated world: what those of an advert show, and how they are drawn."""

import io
import zlib
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import numpy as np
from PIL import Image, ImageDraw, ImageOps

from sale_sofia_simulator.model import Advert, BazarAdvert

SIZE: Final = (400, 300)


@dataclass(frozen=True, slots=True)
class Photo:
    """What a picture shows, and what was done to it."""

    scene: str
    """`flat:NUMBER:SHOT`, `agency:NAME` or `building:PLACE`."""
    treatment: int = 0
    """The seed of what was done to it; 0: nothing."""
    mirrored: bool = False


def draw(photo: Photo) -> bytes:
    """The picture as JPEG; the same photo always gives the same bytes."""
    scene = _room(photo.scene) if photo.scene.startswith("flat:") else _front(photo.scene)
    if not photo.treatment:
        return packed(scene, 88)
    return treat(scene, photo.treatment, in_mirror=photo.mirrored)


def treat(scene: Image.Image, seed: int, *, in_mirror: bool) -> bytes:
    """The scene as somebody else shows it: another size and packing, perhaps cropped and marked."""
    rng = Random(seed)
    if in_mirror:
        scene = ImageOps.mirror(scene)
    if rng.random() < 0.5:  # noqa: PLR2004
        scene = cropped(rng, scene)
    if rng.random() < 0.6:  # noqa: PLR2004
        scene = marked(rng, scene)
    wide = rng.choice((320, 400, 560))
    return packed(scene.resize((wide, round(wide * scene.height / scene.width))), rng.randint(35, 90))


def cropped(rng: Random, scene: Image.Image) -> Image.Image:
    """Without 5 to 10 % of its width and height, taken from one side or from both."""
    box: list[float] = []
    for size in scene.size:
        lost = rng.uniform(0.05, 0.10) * size
        before = lost * rng.choice((0, 0.5, 1))
        box += [before, size - lost + before]
    return scene.crop((round(box[0]), round(box[2]), round(box[1]), round(box[3])))


def marked(rng: Random, scene: Image.Image) -> Image.Image:
    """With a half transparent sign in a corner or in the middle."""
    sign = Image.new("RGBA", scene.size, (0, 0, 0, 0))
    wide, high = scene.width // 3, scene.height // 9
    left, top = rng.choice(((0, 0), (0, 2), (2, 0), (2, 2), (1, 1)))
    corner = ((scene.width - wide) * left // 2, (scene.height - high) * top // 2)
    pen = ImageDraw.Draw(sign)
    pen.rectangle((*corner, corner[0] + wide, corner[1] + high), fill=(255, 255, 255, 70))
    for place in range(8):
        x = corner[0] + wide * (2 * place + 1) // 17
        pen.rectangle(
            (x, corner[1] + high // 4, x + wide // 20, corner[1] + 3 * high // 4), fill=(20, 20, 60, 150)
        )
    return Image.alpha_composite(scene.convert("RGBA"), sign).convert("RGB")


def packed(scene: Image.Image, quality: int) -> bytes:
    """As JPEG."""
    file = io.BytesIO()
    scene.save(file, "JPEG", quality=quality)
    return file.getvalue()


def _room(name: str) -> Image.Image:
    """Two walls, a floor, a window and some furniture, in the light of a day."""
    rng = Random(name)
    wide, high = SIZE
    picture = Image.new("RGB", SIZE, _tint(rng, 170, 245))
    pen = ImageDraw.Draw(picture)
    corner, ground = rng.uniform(0.1, 0.9) * wide, rng.uniform(0.55, 0.8) * high
    pen.rectangle((corner, 0, wide, high), fill=_tint(rng, 140, 235))
    near = rng.uniform(0.75, 1.1) * high
    pen.polygon(
        ((0, near), (corner, ground), (wide, rng.uniform(0.75, 1.1) * high), (wide, high), (0, high)),
        fill=_tint(rng, 70, 190),
    )
    for _ in range(rng.randint(1, 2)):  # windows, doors
        x, y = rng.uniform(0, 0.8) * wide, rng.uniform(0.05, 0.3) * high
        box = (x, y, x + rng.uniform(0.1, 0.35) * wide, y + rng.uniform(0.25, 0.5) * high)
        pen.rectangle(box, fill=_tint(rng, 60, 255), outline=_tint(rng, 40, 120), width=rng.randint(2, 8))
    for _ in range(rng.randint(4, 9)):  # furniture, lamps, pictures
        x, y = rng.uniform(-0.05, 0.9) * wide, rng.uniform(0.1, 0.85) * high
        box = (x, y, x + rng.uniform(0.06, 0.45) * wide, y + rng.uniform(0.06, 0.4) * high)
        shape = rng.choice((pen.rectangle, pen.rectangle, pen.ellipse))
        shape(box, fill=_tint(rng, 20, 230))
    return _lit(rng, picture)


def _front(name: str) -> Image.Image:
    """A house with rows of windows, or the sign of an agency."""
    rng = Random(name)
    wide, high = SIZE
    picture = Image.new("RGB", SIZE, _tint(rng, 120, 230))
    pen = ImageDraw.Draw(picture)
    left, top = rng.uniform(0.05, 0.35) * wide, rng.uniform(0.05, 0.35) * high
    right = rng.uniform(0.6, 0.95) * wide
    pen.rectangle((left, top, right, high), fill=_tint(rng, 90, 220))
    columns, rows = rng.randint(2, 6), rng.randint(2, 6)
    step, drop = (right - left) / columns, (high - top) / rows
    for place in range(columns * rows):
        if rng.random() < 0.8:  # noqa: PLR2004
            x, y = left + step * (place % columns + 0.25), top + drop * (place // columns + 0.25)
            pen.rectangle((x, y, x + step / 2, y + drop / 2), fill=_tint(rng, 20, 120))
    return _lit(rng, picture)


def _tint(rng: Random, least: int, most: int) -> tuple[int, int, int]:
    light = rng.randint(least, most)
    return tuple(min(255, max(0, light + rng.randint(-25, 25))) for _ in range(3))  # type: ignore[return-value]


def _lit(rng: Random, picture: Image.Image) -> Image.Image:
    """In light that falls from one side, with the grain of a camera."""
    noise = np.random.default_rng(zlib.crc32(str(rng.random()).encode()))
    pixels: Any = np.asarray(picture, np.float32)
    high, wide = pixels.shape[:2]
    across, down = np.linspace(-1, 1, wide, dtype="f4"), np.linspace(-1, 1, high, dtype="f4")[:, None]
    light = 1 + rng.uniform(-0.3, 0.3) * across + rng.uniform(-0.2, 0.2) * down
    grain = 5 * noise.standard_normal((high, wide), np.float32)
    return Image.fromarray(np.clip(pixels * light[..., None] + grain[..., None], 0, 255).astype(np.uint8))


# What the photos of an advert show: which flat each is of is known, and so is what became of it.
#
# Whoever sells a flat as the second, in his own words, takes the photos he finds, and packs, crops, marks or
# mirrors them. Some pictures are of no flat: an agency's sign, and a building that stands for many flats.

_SHARE_REUSED: Final = 0.85
"""Of those who sell the same flat in their own words: how many take the photos they find."""
_SHARE_MIRRORED: Final = 0.3
_SHARE_AGENCY: Final = 0.15
_SHARE_BUILDING: Final = 0.10
_OWN_SHOTS: Final = 100
"""From this number on photos of a flat are another photographer's."""


def photos_of(advert: Advert, count: int) -> list[Photo]:
    """What the photos of an advert show, in their order; always the same for the same advert."""
    rng = Random(f"photos:{advert.site}:{advert.external_id}")
    place = f"{advert.home.place.district}:{advert.home.construction}"
    if advert.home.age.form == "will":  # nothing to photograph yet
        return [Photo(f"building:{place}:{number}") for number in range(count)]
    flat, shots, in_mirror = advert.home.number, list(range(count)), False
    if isinstance(advert, BazarAdvert) and advert.native:
        if rng.random() < _SHARE_REUSED:  # some are left out, the rest keeps its order
            shots, in_mirror = sorted(rng.sample(range(count + 2), count)), rng.random() < _SHARE_MIRRORED
        else:
            shots = [_OWN_SHOTS + shot for shot in shots]
    treated = advert.site != "imot.bg"
    photos = [
        Photo(f"flat:{flat}:{shot}", rng.getrandbits(32) if treated else 0, in_mirror) for shot in shots
    ]
    for share, scene in (
        (_SHARE_AGENCY, f"agency:{advert.seller.name or advert.seller.user}"),
        (_SHARE_BUILDING, f"building:{place}"),
    ):
        if photos and rng.random() < share:
            photos[rng.randrange(min(3, len(photos)))] = Photo(scene)
    return photos
