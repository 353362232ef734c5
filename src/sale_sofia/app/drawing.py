"""Drawings in place of photos of simulated flats: a house, and rooms in the flat's own colours."""

from hashlib import sha256
from random import Random
from typing import Final

_WALLS: Final = ("#e8c9a0", "#d9b6a3", "#b9c7d6", "#cfd8c0", "#e3d3b8", "#c9b8d4", "#d8a48f", "#a9c0b4")
_SKIES: Final = ("#cfe3f5", "#f5e1cf", "#dfe7ee", "#e6dff2", "#bcd9ee")
_FLOORS: Final = ("#b08a5e", "#c7a276", "#8f6f52", "#bdb4a6", "#9a8c7c")
_PIECES: Final = ("#4f6d8a", "#8a4f5a", "#5a7d57", "#a9803f", "#6b5a86", "#3f7d80", "#7a6a58")
_HEAD: Final = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300">'
_FLAT_DIGITS: Final = 6


def names(urls: list[str]) -> list[str]:
    """A name for each photo of a flat: the flat's digest, and the number of the photo."""
    flat = sha256(urls[0].encode()).hexdigest()[:_FLAT_DIGITS] if urls else ""
    return [f"{flat}{number % 256:02x}" for number in range(len(urls))]


def draw_svg(name: str) -> str:
    """The drawing of this name as SVG: the first of a flat is its house, the others are rooms."""
    flat, shot = name[:_FLAT_DIGITS], name[_FLAT_DIGITS:]
    return f"{_HEAD}{_house(_generator(flat)) if shot == '00' else _room(flat, shot)}</svg>"


def _generator(name: str) -> Random:
    return Random(name)  # noqa: S311 - a drawing, no secret


def _box(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" fill="{fill}"/>'


def _house(rng: Random) -> str:
    storeys, columns = rng.randint(3, 8), rng.randint(3, 6)
    wall, width = rng.choice(_WALLS), 40 * columns + 20
    top, left = 250 - 28 * storeys, (400 - width) // 2 + rng.randint(-40, 40)
    windows = "".join(
        _box(
            left + 18 + 40 * column,
            top + 8 + 28 * storey,
            22,
            14,
            rng.choice(("#ffe9a8", "#5f7d99", "#5f7d99")),
        )
        for storey in range(storeys)
        for column in range(columns)
    )
    roof = (
        f'<path d="M{left - 6} {top}h{width + 12}l-18 -{rng.randint(6, 26)}h-{width - 24}z" fill="#8c4b3f"/>'
    )
    trees = "".join(
        f'<circle cx="{x}" cy="{rng.randint(215, 240)}" r="{rng.randint(16, 30)}" fill="#7ba070"/>'
        for x in rng.sample((20, 45, 65, 340, 362, 385), rng.randint(1, 4))
    )
    return (
        _box(0, 0, 400, 300, rng.choice(_SKIES))
        + f'<circle cx="{rng.randint(30, 370)}" cy="46" r="20" fill="#fff6d8"/>'
        + _box(0, 250, 400, 50, "#a9bf98") + trees + _box(left, top, width, 250 - top, wall) + roof + windows
    )  # fmt: skip


def _room(flat: str, shot: str) -> str:
    """A room: walls and floor are the flat's, the furniture is its own."""
    same, rng = _generator(flat), _generator(flat + shot)
    wall, floor = same.choice(_WALLS), same.choice(_FLOORS)
    ground = rng.randint(185, 215)
    window = rng.randint(30, 230)
    room = _box(0, 0, 400, 300, wall) + _box(0, ground, 400, 300 - ground, floor)
    room += _box(window, 40, 110, 90, "#ffffff") + _box(window + 6, 46, 98, 78, same.choice(_SKIES))
    room += _box(window + 53, 46, 4, 78, "#ffffff")
    for _ in range(rng.randint(2, 4)):
        width, height = rng.randint(50, 130), rng.randint(35, 95)
        x, y = rng.randint(5, 395 - width), ground + rng.randint(5, 45) - height
        room += _box(x, y, width, height, rng.choice(_PIECES))
        room += _box(x, y, width, 8, "#ffffff55")
    return room + f'<circle cx="{rng.randint(60, 340)}" cy="18" r="14" fill="#fff3c4"/>'
