"""One flat for people outside the household: what portals say of it, and nothing that the household says.

No note, opinion, status, score, place or sum of the buyer's own is read here; of private sellers neither
name nor phone is shown, even where the text of the advert has it. Nothing here links to the other pages.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageDraw, ImageFont
from sqlalchemy import Connection
from starlette.responses import HTMLResponse, Response

from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, Download, WebPage, environment
from sale_sofia.app.deck import FlatCard
from sale_sofia.app.drawing import draw_svg
from sale_sofia.app.facts import facts_of
from sale_sofia.app.pages import flat as flat_page
from sale_sofia.app.settings import PAPER_CHARACTERS, PAPER_DPI, PAPER_OFFERS, PHOTOS_SHARED
from sale_sofia.app.visit import PageVisit, Values, whole_number
from sale_sofia.app.words import say, translate, word_for
from sale_sofia.buyer.evaluations import WrongEvaluation, current_property
from sale_sofia.buyer.settings import SHARED_PATH
from sale_sofia.buyer.sharing import SharedLink, share, shared_by, take_back
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.store import listing_rows
from sale_sofia.flats.views import merged_view
from sale_sofia.listings.text import CUT, address, plain
from sale_sofia.storage.settings import LARGEST_ID

Row = Mapping[Any, Any]
_DRAWING: Final = re.compile(r"/drawing/(\w+)\.svg")
_NUMBERS: Final = re.compile(r"\+?\d(?:\W{0,3}\d){6,}")
"""Seven digits or more with hardly anything between them: a phone, or at worst a date."""
_PHONE_DIGITS: Final = 8
"""Last digits of a phone, with and without the code of the country: a landline of Sofia has so many."""
_SELLERS_NAMED: Final = frozenset({"agency", "developer"})
"""Sellers by profession; private and unknown sellers are not shown to others."""


def page(visit: PageVisit) -> Response:
    """The flat of a link; expired, revoked and invented links are refused in the same words."""

    def read(connection: Connection) -> tuple[SharedLink, PublicFlat] | None:
        link = shared_by(connection, visit.request.path_params["token"], now=visit.now)
        return (link, read_public(connection, link.property_id)) if link else None

    found = visit.database.run_read(read)
    if found is None:
        return _answer(visit, {"flat": None, "title": say("share.over")}, 410)
    link, public = found
    return _answer(visit, public_values(public, visit.now) | {"until": fmt.day(link.ends_at)}, 200)


@dataclass(frozen=True, slots=True)
class PublicFlat:
    """A flat and its adverts: what portals say, with the buyer's corrections."""

    flat: Flat
    adverts: Mapping[int, Row]
    """The stored adverts by id."""
    offers: Sequence[Row]


def read_public(connection: Connection, property_id: int) -> PublicFlat:
    """The property of this id, without the household's notes and opinions."""
    (flat,) = read_flats(connection, [property_id])
    rows = listing_rows(connection, [advert.listing_id for advert in flat.adverts])
    return PublicFlat(flat, {row["id"]: row for row in rows}, merged_view(flat, rows)["offers"])


def _answer(visit: PageVisit, values: Values, status: int) -> Response:
    shared = {"language": visit.language, "style": style()}
    text = environment().get_template("shared.html").render(shared | values)
    return HTMLResponse(text, status, _headers())


@cache
def style() -> str:
    """The style, sent inside the page: files of their own need a sign-in."""
    return (Path(__file__).parents[1] / "static" / "shared.css").read_text("utf-8").strip()


@cache
def _headers() -> dict[str, str]:
    looks = b64encode(sha256(style().encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{looks}'; img-src data: https: http:; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    )
    return {
        "cache-control": "no-store",
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",  # the address is the secret
        "x-robots-tag": "noindex, nofollow, noarchive",
        "x-content-type-options": "nosniff",
    }


def public_values(data: PublicFlat, now: float) -> Values:
    """What anybody may know of the flat, as text."""
    card = FlatCard(data.flat, None, "new", None, now)
    hidden = {phone for row in data.adverts.values() if not _is_professional(row) for phone in row["phones"]}
    return {
        "flat": data.flat,
        "title": _without_numbers(card.title),
        "photos": [_inside(photo) for photo in fmt.photos(data.flat)[:PHOTOS_SHARED]],
        "price": card.price,
        "vat": say("card.vat") if card.without_vat else "",
        "line": [*card.facts, card.place],
        "metro": card.metro,
        "days": card.days,
        "facts": [fact for fact in facts_of(data.flat, {}) if fact.is_known],
        "offers": [_offer(data, row, hidden) for row in data.offers],
        "texts": list(_texts(data, hidden)),
        "day": fmt.day(now),
    }


def _is_professional(row: Row) -> bool:
    return row["seller_kind"] in _SELLERS_NAMED


def _inside(photo: str) -> str:
    """The address of a photo at its portal; a drawing is inlined, as its address needs a sign-in."""
    if match := _DRAWING.fullmatch(photo):
        return f"data:image/svg+xml;base64,{b64encode(draw_svg(match[1]).encode()).decode()}"
    return photo


def _offer(data: PublicFlat, offer: Row, hidden: set[str]) -> Values:
    row = data.adverts[offer["listing_id"]]
    kind = word_for("seller_kind", row["seller_kind"]) if row["seller_kind"] else ""
    is_professional = _is_professional(row)
    name = plain(row["seller_name"]) if is_professional and row["seller_name"] else ""
    return {
        "site": plain(row["site"]),
        "url": address(row["url"]),
        "price": fmt.euro(offer["price_eur"]),
        "vat": word_for("vat", offer["vat_state"]) if offer["vat_state"] else "",
        "seller": f"{kind} {name}".strip(),
        "phones": [plain(phone) for phone in row["phones"] if is_professional and phone not in hidden],
        "gone": not offer["offered"],
    }


def _texts(data: PublicFlat, hidden: set[str]) -> Iterator[list[str]]:
    """Each description once: portals copy from each other, with the phones that are in it."""
    seen: set[str] = set()
    private = {_digits(phone)[-_PHONE_DIGITS:] for phone in hidden}
    for row in data.adverts.values():
        text = fmt.paragraphs(row["description"] or "")
        text = _without_numbers(text, private if _is_professional(row) else None)
        if text and text not in seen:
            seen.add(text)
            yield text.splitlines()


def _without_numbers(text: str, chosen: set[str] | None = None) -> str:
    """The text without long numbers; or without those alone that have these digits in them."""

    def cut(number: re.Match[str]) -> str:
        digits = _digits(number[0])
        return CUT if chosen is None or any(phone in digits for phone in chosen) else number[0]

    return _NUMBERS.sub(cut, text)


def _digits(text: str) -> str:
    return "".join(sign for sign in text if sign.isdigit())


# Links and sheets that the household makes.


def sheet(visit: PageVisit) -> Download:
    """The flat on one sheet, as a PDF or a picture, with public facts alone."""
    number = visit.property_id
    public = visit.database.run_read(
        lambda connection: read_public(connection, current_property(connection, number))
    )
    values = public_values(public, visit.now)
    image = draw_sheet(values)
    if visit.request.url.path.endswith(".pdf"):
        return Download(as_pdf(image, values["title"]), "application/pdf", f"flat-{number}.pdf")
    return Download(as_png(image), "image/png", f"flat-{number}.png")


def make(visit: PageVisit) -> Done | WebPage:
    """Make a link to the flat; it is shown once."""
    days = whole_number(visit.form.get("days", ""), below=10_000) or 0
    try:
        token = visit.database.run_write(
            partial(share, property_id=visit.property_id, days=days, by=visit.by)
        )
    except WrongEvaluation as error:
        return Done(translate(error), wrong=True)
    result = flat_page.page(visit)
    result.values["link"] = visit.absolute(f"{SHARED_PATH}{token}", visit.language)
    return result


def end(visit: PageVisit) -> Done:
    """Revoke a link: everyone of the household may."""
    number = whole_number(visit.form.get("link", ""), below=LARGEST_ID) or 0
    visit.database.run_write(partial(take_back, link_id=number, by=visit.by))
    return Done(say("share.ended"))


# One flat on one sheet of A4, drawn as a picture: a PDF for the bank, an image for the family. The font is
# bundled, so that it looks the same everywhere. What does not fit is left out: there is always one sheet.

_FONTS: Final = Path(__file__).parents[1] / "fonts"
_INK, _SOFT, _RULE, _WHITE = 30, 100, 215, 255
"""Shades of grey."""
_COLUMNS: Final = 3
_A4_MM: Final = (210, 297)
_MARGIN_MM: Final = 15
_FOOT: Final = 16
"""Points at the end of a sheet for its date."""
_WORD: Final = 30
"""Letters after which a word may be broken."""


def draw_sheet(values: Mapping[str, Any]) -> Image.Image:
    """The sheet of the `public_values` of a flat."""
    sheet = _Sheet.blank()
    sheet.write(values["title"], 18, bold=True)
    sheet.write(f"{values['price']} {values['vat']}".strip(), 22, bold=True)
    sheet.write(" · ".join(values["line"]), 11)
    if values["metro"]:
        sheet.write(f"{say('card.metro')}: {values['metro']}", 11)
    gone = [] if values["flat"].offered else [say("card.gone")]
    sheet.write(" · ".join([values["days"], *gone]), 9, colour=_SOFT)
    sheet.head(say("property.facts"))
    sheet.table([(fact.name, fact.value) for fact in values["facts"]])
    sheet.head(say("property.offers"))
    for offer in values["offers"][:PAPER_OFFERS]:
        sheet.write(offer_line(offer), 10)
    if values["texts"]:
        sheet.head(say("share.text"))
        text = " ".join(values["texts"][0])[:PAPER_CHARACTERS]
        sheet.write(text, 9, most=PAPER_CHARACTERS)
    place = (sheet.left, sheet.bottom + sheet.size(4))
    sheet.draw.text(place, say("share.as_of", day=values["day"]), _SOFT, _font(8, bold=False))
    return sheet.image


def offer_line(offer: Row) -> str:
    """An offer of a sheet, with all that the page says of it."""
    price, gone = f"{offer['price']} {offer['vat']}".strip(), say("card.gone") if offer["gone"] else ""
    return " · ".join(filter(None, (price, offer["site"], offer["seller"], *offer["phones"], gone)))


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
    """A sheet filled from top to bottom; sizes are in points."""

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
        self, text: str, points: float, *, bold: bool = False, colour: int = _INK, most: int = 2
    ) -> None:
        """Write at most `most` lines and none in the foot; a cut is marked."""
        font, step = _font(points, bold=bold), self.size(points) * 1.35
        room = int((self.bottom - self.top) / step)
        for line in _lines(text, font, self.width, min(most, room)) if room > 0 else ():
            self.draw.text((self.left, self.top), line, colour, font)
            self.top += step
        self.top += step * 0.15

    def head(self, text: str) -> None:
        """Draw a rule and a heading."""
        self.top += self.size(4)
        self.draw.line((self.left, self.top, self.left + self.width, self.top), _RULE, 2)
        self.top += self.size(4)
        self.write(text, 12, bold=True)

    def table(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Write names over values, in columns; as many as there is room for."""
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
    """The text in at most `most` lines; too long a line, and the last where text is left, is cut."""
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
