"""Photos of the household's own over HTTP: without what a phone wrote into them, shown to nobody else."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, PngImagePlugin

from app_runs import put_adverts
from sale_sofia.operations.backup.reading import KEPT_FOLDERS, belongs
from web_pages import Browser, browser, plain

ADVERT = {"deal": "sale", "property_type": "apartment", "title": "Тристаен", "price_eur": 100_000.0}
SECRET = b"42.6977"
PAGE, KEPT = "/flat/1", "/flat/1/own_photos"


def taken(side: tuple[int, int] = (60, 40), kind: str = "JPEG", **more: Any) -> bytes:  # noqa: ANN401 - of Pillow
    """A picture whose left half is red and whose right half is blue, with words of a phone in it."""
    picture = Image.new("RGB", side, "red")
    picture.paste("blue", (side[0] // 2, 0, side[0], side[1]))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter clockwise
    exif[0x010F] = f"a phone at {SECRET.decode()}"
    exif.get_ifd(0x8825)[1] = "N"  # GPS
    file = io.BytesIO()
    picture.save(file, kind, exif=exif, **more)
    return file.getvalue()


@pytest.fixture
def ana(tmp_path: Path) -> Iterator[Browser]:
    put_adverts(tmp_path, ADVERT, ADVERT | {"title": "Двустаен", "rooms": 2})
    with browser(tmp_path, own_photo_max_bytes=200_000, own_photo_max_pixels=1_000_000) as opened:
        opened.cookies.set("sale_sofia_language", "en")
        opened.fill("/people/add", name="Ана", language="en")
        yield opened


def send(who: Browser, *files: bytes, origin: str = "") -> str:
    named = [("photos", (f"../../{place}.jpg", one, "image/jpeg")) for place, one in enumerate(files)]
    answer = who.post(
        KEPT, data={"back": PAGE}, files=named, headers={"origin": origin or str(who.base_url).rstrip("/")}
    )
    return plain(answer.text)


def test_a_photo_is_kept_upright_and_without_what_the_phone_wrote(ana: Browser, tmp_path: Path) -> None:
    words = PngImagePlugin.PngInfo()
    words.add_text("comment", SECRET.decode())
    sent = [
        taken(comment=SECRET, xmp=SECRET, icc_profile=SECRET),
        taken(kind="PNG", pnginfo=words),
        taken(kind="WEBP"),
    ]
    assert all(SECRET in one for one in sent[:2])
    assert "Photos kept: 3" in send(ana, *sent)
    found = ana.data("/flat/1.json")["own_photos"]
    assert [one["by"] for one in found] == ["Ана"] * 3
    for one in found:
        answer = ana.get(one["url"])
        assert (answer.headers["content-type"], answer.headers["x-content-type-options"]) == (
            "image/jpeg",
            "nosniff",
        )
        assert (answer.headers["cache-control"], answer.headers["cross-origin-resource-policy"]) == (
            "no-store",
            "same-origin",
        )
        assert SECRET not in answer.content
        with Image.open(io.BytesIO(answer.content)) as picture:
            assert (picture.format, picture.size, dict(picture.getexif())) == ("JPEG", (40, 60), {})
            assert set(picture.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}, picture.info
            top, bottom = picture.getpixel((20, 5)), picture.getpixel((20, 55))
            assert isinstance(top, tuple)
            assert isinstance(bottom, tuple)
            assert (top[0] > 200, bottom[2] > 200) == (True, True), "turned as it was taken"
    files = sorted((tmp_path / "own_photos").iterdir())
    assert [(path.suffix, path.stat().st_mode & 0o077) for path in files] == [(".jpg", 0)] * 3
    assert "photo of our own: – → ✓" in ana.text(PAGE)
    assert "is taken away" in ana.fill(f"{KEPT}/2/drop", back=PAGE)
    assert ana.get(f"{KEPT}/2.jpg").status_code == 404
    assert len(list((tmp_path / "own_photos").iterdir())) == 2
    assert len(ana.data("/flat/1.json")["own_photos"]) == 2


def test_what_is_no_photo_or_too_large_is_refused_and_nothing_is_kept(ana: Browser, tmp_path: Path) -> None:
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    for wrong in (svg, b"GIF89a" + b"\0" * 50, b"\xff\xd8\xff" + b"\0" * 100, taken()[:300]):
        assert "This is no photo that can be read" in send(ana, wrong)
    assert "This is no photo" in send(ana, taken((1200, 1000))), "too many pixels"
    assert "Too large" in send(ana, b"\xff\xd8" + b"\0" * 200_001)
    assert "Too large" in send(ana, *[b"\0" * 199_000] * 6), "too many at once"
    assert "Choose at least one photo." in send(ana, b"")
    assert "Choose at least one photo." in ana.fill(KEPT, back=PAGE)
    assert "This is no photo" in send(ana, taken(), svg), "all of a form, or none"
    assert not (tmp_path / "own_photos").exists()
    assert ana.data("/flat/1.json")["own_photos"] == []


def test_photos_are_shown_to_the_household_alone_and_beside_their_flat(ana: Browser) -> None:
    send(ana, taken())
    assert ana.get(f"{KEPT}/1.jpg").status_code == 200
    assert ana.get("/flat/2/own_photos/1.jpg").status_code == 404, "it is of another flat"
    ana.fill("/flat/2/own_photos/1/drop", back=PAGE)
    assert ana.get(f"{KEPT}/1.jpg").status_code == 200
    with Browser(ana.base_url, follow_redirects=False) as stranger:
        assert stranger.get(f"{KEPT}/1.jpg").status_code == 401
        assert "Име" in send(stranger, taken()), "who is not let in sends nothing"
    assert "another address" in send(ana, taken(), origin="http://elsewhere.example")
    assert len(ana.data("/flat/1.json")["own_photos"]) == 1
    answer = ana.post(
        "/flat/99/own_photos", files={"photos": taken()}, headers={"origin": str(ana.base_url).rstrip("/")}
    )
    assert answer.status_code == 404


def test_a_backup_has_them() -> None:
    assert "own_photos" in KEPT_FOLDERS
    assert belongs("own_photos/0123456789abcdef.jpg")
