"""One flat on one sheet of A4, drawn as a picture: a PDF for the bank, an image for the family.

It is drawn with a font of ours, so that it looks the same everywhere. What does not fit is left out: there
is always one sheet.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageDraw, ImageFont

from sale_sofia.app.settings import PAPER_CHARACTERS, PAPER_DPI, PAPER_OFFERS
from sale_sofia.app.words import say
from sale_sofia.listings.text import CUT

_FONTS: Final = Path(__file__).parent / "fonts"
_INK, _SOFT, _RULE, _WHITE = 30, 100, 215, 255
"""Shades of grey."""
_COLUMNS: Final = 3
_A4_MM: Final = (210, 297)
_MARGIN_MM: Final = 15
_FOOT: Final = 16
"""Points at the end of a sheet for when this was so."""
_WORD: Final = 30
"""Letters after which a word may go on in the next line."""


def draw_sheet(values: Mapping[str, Any]) -> Image.Image:
    """The sheet of what `public_values` tells of a flat."""
    sheet = _Sheet.blank()
    sheet.write(values["title"], 18, bold=True)
    sheet.write(f"{values['price']} {values['vat']}".strip(), 22, bold=True)
    sheet.write(" · ".join(values["line"]), 11)
    if values["metro"]:
        sheet.write(f"{say('card.metro')}: {values['metro']}", 11)
    gone = [] if values["flat"].offered else [say("card.gone")]
    sheet.write(" · ".join([values["days"], *gone]), 9, colour=_SOFT)
    sheet.head(say("property.facts"))
    sheet.table([(one.name, one.value) for one in values["facts"]])
    sheet.head(say("property.offers"))
    for one in values["offers"][:PAPER_OFFERS]:
        parts = (one["price"], one["site"], one["seller"], *one["phones"])
        sheet.write(" · ".join(filter(None, parts)), 10)
    if values["texts"]:
        sheet.head(say("share.text"))
        text = " ".join(values["texts"][0])[:PAPER_CHARACTERS]
        sheet.write(text, 9, most=PAPER_CHARACTERS)
    place = (sheet.left, sheet.bottom + sheet.size(4))
    sheet.draw.text(place, say("share.as_of", day=values["day"]), _SOFT, _font(8, bold=False))
    return sheet.image


def as_png(image: Image.Image) -> bytes:
    """The sheet as a picture."""
    return _saved(lambda file: image.save(file, "PNG"))


def as_pdf(image: Image.Image, title: str) -> bytes:
    """The sheet as a PDF of one page."""
    return _saved(lambda file: image.save(file, "PDF", resolution=PAPER_DPI, title=title, quality=85))


def _saved(save: Callable[[BytesIO], None]) -> bytes:
    file = BytesIO()
    save(file)
    return file.getvalue()


@dataclass
class _Sheet:
    """A sheet that is written on from top to bottom; sizes are in points."""

    image: Image.Image
    draw: ImageDraw.ImageDraw
    top: float

    @classmethod
    def blank(cls) -> "_Sheet":
        image = Image.new("L", (_pixels(_A4_MM[0]), _pixels(_A4_MM[1])), _WHITE)
        return cls(image, ImageDraw.Draw(image), float(_pixels(_MARGIN_MM)))

    @property
    def left(self) -> int:
        return _pixels(_MARGIN_MM)

    @property
    def width(self) -> int:
        return self.image.width - 2 * self.left

    @property
    def bottom(self) -> float:
        """Where the foot begins."""
        return self.image.height - self.left - self.size(_FOOT)

    @staticmethod
    def size(points: float) -> float:
        return points * PAPER_DPI / 72

    def write(
        self,
        text: str,
        points: float,
        *,
        bold: bool = False,
        colour: int = _INK,
        most: int = 2,
    ) -> None:
        """Lines of text, no more than asked for and none in the foot; what is left out is marked."""
        font, step = _font(points, bold=bold), self.size(points) * 1.35
        room = int((self.bottom - self.top) / step)
        for line in _lines(text, font, self.width, min(most, room)) if room > 0 else ():
            self.draw.text((self.left, self.top), line, colour, font)
            self.top += step
        self.top += step * 0.15

    def head(self, text: str) -> None:
        """A rule, and a heading."""
        self.top += self.size(4)
        self.draw.line((self.left, self.top, self.left + self.width, self.top), _RULE, 2)
        self.top += self.size(4)
        self.write(text, 12, bold=True)

    def table(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names over values, in columns; as many as there is room for."""
        wide, small, large = self.width / _COLUMNS, _font(7.5, bold=False), _font(9.5, bold=True)
        rows = min(-(-len(pairs) // _COLUMNS), int((self.bottom - self.top) / self.size(23)))
        for place, (name, value) in enumerate(pairs[: rows * _COLUMNS]):
            row, column = divmod(place, _COLUMNS)
            at, top = self.left + column * wide, self.top + row * self.size(23)
            for text, font, down in ((name, small, 0.0), (value, large, self.size(9))):
                line = next(_lines(text, font, wide - self.size(6), 1), "")
                self.draw.text((at, top + down), line, _SOFT if font is small else _INK, font)
        self.top += rows * self.size(23)


def _pixels(millimetres: float) -> int:
    return round(millimetres / 25.4 * PAPER_DPI)


@cache
def _font(points: float, *, bold: bool) -> ImageFont.FreeTypeFont:
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    size = points * PAPER_DPI / 72
    return ImageFont.truetype(_FONTS / name, size, layout_engine=ImageFont.Layout.BASIC)


def _lines(text: str, font: ImageFont.FreeTypeFont, width: float, most: int) -> Iterator[str]:
    """The text in so many lines at most; one that is too long, or the last where more would come, is cut."""
    words = [word[at : at + _WORD] for word in text.split() for at in range(0, len(word), _WORD)]
    line = ""
    for word in words:
        longer = f"{line} {word}".strip()
        if not line or font.getlength(longer) <= width:
            line = longer
            continue
        most -= 1
        if most <= 0:
            break
        yield _fitted(line, font, width)
        line = word
    if line and most >= 0:
        yield _fitted(line if most else line + CUT, font, width)


def _fitted(line: str, font: ImageFont.FreeTypeFont, width: float) -> str:
    if font.getlength(line) <= width:
        return line
    while line and font.getlength(line + CUT) > width:
        line = line[:-1]
    return line.rstrip() + CUT
