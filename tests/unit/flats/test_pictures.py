"""Copies of a photo are known again, other photos are not; measured on drawn rooms of many flats."""

import io
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from PIL import Image, ImageOps

from sale_sofia.crawl.photos.decoding import DecodedPicture, look
from sale_sofia.flats.photos.pictures import Hashes, alike, mirrored, signature, unpacked
from sale_sofia.flats.photos.store import Gallery, count_flats
from sale_sofia_simulator.photos import Photo, cropped, draw, marked, packed, treat

ROOMS = 60
MOST_PIXELS = 25_000_000
Treatment = Callable[[Random, Image.Image], bytes]


def hashes(body: bytes) -> Hashes:
    seen = look(MOST_PIXELS, body)
    assert isinstance(seen, DecodedPicture)
    found = signature(seen.tiles)
    assert found is not None
    return unpacked([found]).reshape(-1, 2)


@pytest.fixture(scope="module")
def bodies() -> list[bytes]:
    return [draw(Photo(f"flat:{number}:0")) for number in range(ROOMS)]


@pytest.fixture(scope="module")
def rooms(bodies: list[bytes]) -> Hashes:
    return np.stack([hashes(body) for body in bodies])


def opened(body: bytes) -> Image.Image:
    return Image.open(io.BytesIO(body)).convert("RGB")


def webp(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=60)
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("treatment", "least"),
    [
        pytest.param(lambda _, room: packed(room.resize((320, 240)), 30), 60, id="packed again, smaller"),
        pytest.param(lambda _, room: webp(room), 60, id="as WebP"),
        pytest.param(lambda rng, room: packed(cropped(rng, room), 75), 57, id="5 to 10 % cropped"),
        pytest.param(lambda rng, room: packed(marked(rng, room), 75), 58, id="with a watermark"),
        pytest.param(lambda _, room: packed(ImageOps.mirror(room), 75), 60, id="mirrored"),
        pytest.param(lambda rng, room: treat(room, rng.getrandbits(32), in_mirror=True), 56, id="all of it"),
    ],
)
def test_a_copy_is_known_again(bodies: list[bytes], rooms: Hashes, treatment: Treatment, least: int) -> None:
    copies = [hashes(treatment(Random(number), opened(body))) for number, body in enumerate(bodies)]
    known = sum(alike(copy, rooms[number : number + 1])[0] >= 0 for number, copy in enumerate(copies))
    assert known >= least
    # And it is taken for no other room: 3540 pairs for each treatment.
    others = sum(
        int((alike(copy, np.delete(rooms, number, axis=0)) >= 0).sum()) for number, copy in enumerate(copies)
    )
    assert others == 0


@pytest.mark.slow
def test_photos_of_other_flats_are_other_photos() -> None:
    bodies = [draw(Photo(f"flat:{number}:{shot}")) for number in range(40) for shot in range(2)]
    seen = np.stack([hashes(body) for body in bodies])
    false = sum(int((alike(seen[one], seen[one + 1 :]) >= 0).sum()) for one in range(len(seen) - 1))
    assert (len(bodies) * (len(bodies) - 1) // 2, false) == (3160, 0)


def test_a_mirror_in_a_mirror_is_the_picture_itself(bodies: list[bytes], rooms: Hashes) -> None:
    assert np.array_equal(mirrored(mirrored(rooms[0])), rooms[0])
    in_mirror = hashes(packed(ImageOps.mirror(opened(bodies[0])), 95))
    apart = np.bitwise_count(in_mirror ^ mirrored(rooms[0]))
    assert apart.max() <= 6
    assert alike(in_mirror, rooms[:1])[0] >= 0


@pytest.mark.parametrize("light", [0, 128, 255])
def test_a_blank_picture_says_nothing(light: int) -> None:
    seen = look(MOST_PIXELS, packed(Image.new("RGB", (300, 200), (light, light, light)), 90))
    assert isinstance(seen, DecodedPicture)
    assert signature(seen.tiles) is None


def test_a_gallery_gives_copies_one_number(bodies: list[bytes]) -> None:
    gallery = Gallery()
    first = signature_of(bodies[0])
    assert gallery.find(first) is None
    gallery.add(7, first)
    gallery.add(8, signature_of(bodies[1]))
    assert gallery.find(signature_of(packed(ImageOps.mirror(opened(bodies[1])), 60))) == 8
    assert gallery.find(signature_of(packed(opened(bodies[0]), 40))) == 7
    assert gallery.find(signature_of(bodies[2])) is None


def signature_of(body: bytes) -> bytes:
    return hashes(body).tobytes()


@pytest.mark.parametrize(
    ("facts", "flats"),
    [
        pytest.param([(87.0, 4), (86.0, 4), (87.0, None), (None, None)], 1, id="one flat, told shortly"),
        pytest.param([(87.0, None), (87.0, 4), (87.0, 5)], 2, id="two floors, who does not say comes first"),
        pytest.param([(87.0, 4), (60.0, 4), (110.0, None)], 3, id="three areas"),
        pytest.param([], 0, id="none"),
    ],
)
def test_flats_that_contradict_each_other_are_counted(
    facts: list[tuple[float | None, int | None]], flats: int
) -> None:
    assert count_flats(facts) == flats
