"""Invented people, firms and telephone numbers; how the portals spell numbers, dates and addresses."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from random import Random
from typing import Any

from sale_sofia.settings.files import read_yaml

BGN_PER_EUR = 1.95583
MONTHS = (
    "януари", "февруари", "март", "април", "май", "юни",
    "юли", "август", "септември", "октомври", "ноември", "декември",
)  # fmt: skip
_LATIN = dict(zip("абвгдезийклмнопрстуфхъь", "abvgdeziyklmnoprstufhay", strict=True)) | {
    "ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sht", "ю": "yu", "я": "ya",
}  # fmt: skip
_BAZAR_LATIN = _LATIN | {"в": "w", "я": "ia"}
_ENDINGS = {1: "ви", 2: "ри", 7: "ми", 8: "ми"}


def spaced(number: int) -> str:
    """A whole number with a space between thousands."""
    return f"{number:,}".replace(",", " ")


def decimals(amount: float, point: str) -> str:
    """An amount with two decimals behind `point`."""
    whole, _, rest = f"{amount:,.2f}".partition(".")
    return f"{whole.replace(',', ' ')}{point}{rest}"


def brief(amount: float) -> str:
    """bazar.bg's amount: decimals behind a comma, left out when there are none."""
    return spaced(int(amount)) if amount == int(amount) else decimals(amount, ",")


def leva(euro: float) -> float:
    """The fixed rate, to the stotinka."""
    return round(euro * BGN_PER_EUR + 1e-9, 2)


def ordinal(number: int) -> str:
    """A floor's number with its ending: 1-ви, 2-ри, 5-ти, 7-ми, 12-ти."""
    last = number % 100 if 10 < number % 100 < 20 else number % 10  # noqa: PLR2004
    return f"{number}-{_ENDINGS.get(last, 'ти')}"


def slug(words: str, *, bazar: bool = False) -> str:
    """The words in Latin letters with hyphens, as each portal writes its addresses."""
    table = _BAZAR_LATIN if bazar else _LATIN
    spelled = "".join(table.get(letter, letter) for letter in words.lower())
    return "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in spelled).split())


def imot_moment(moment: datetime) -> str:
    """17:03 на 16 април, 2026 год.; hours without a leading zero."""
    return f"{moment.hour}:{moment:%M} на {moment.day} {MONTHS[moment.month - 1]}, {moment.year} год."


def bazar_day(moment: datetime, now: datetime) -> str:
    """днес, вчера, or the day and month with two digits."""
    days = (now.date() - moment.date()).days
    return {0: "днес", 1: "вчера"}.get(days, f"{moment:%d} {MONTHS[moment.month - 1]}")


def bazar_moment(moment: datetime, now: datetime) -> str:
    """днес в 15:31 ч., or на 05 април в 15:31 ч."""
    day = bazar_day(moment, now)
    return f"{'на ' if day[0].isdigit() else ''}{day} в {moment:%H:%M} ч."


# Invented people, firms and telephone numbers. None of them is meant to exist.

WORDS: Mapping[str, Sequence[str]] = read_yaml(files(__package__).joinpath("words.yaml").read_text("utf-8"))
"""Every list of words and sentences, by name."""
TABLES: Mapping[str, Any] = read_yaml(files(__package__).joinpath("tables.yaml").read_text("utf-8"))
"""What the world and the portals call and number things, by name."""


def firm(rng: Random, *, builder: bool = False) -> str:
    """An agency's or a developer's name in capitals."""
    second = WORDS["builder_second" if builder else "firm_second"]
    return f"{rng.choice(WORDS['firm_first'])} {rng.choice(second)}"


def handle(name: str) -> str:
    """The name of a firm's subdomain."""
    return slug(name).replace("-", "")


def person(rng: Random) -> str:
    """A broker's name."""
    first_name = rng.choice(WORDS["given"])
    return f"{first_name} {rng.choice(WORDS['family'])}{'а' if first_name.endswith('а') else ''}"


def headline(rng: Random) -> tuple[str, str]:
    """A piece of news between the adverts, and the end of its address."""
    words = rng.choice(WORDS["headlines"])
    return words, f"{rng.randint(1_000_000, 1_099_999)}-{slug(words)}"


def mobile(rng: Random) -> str:
    """A valid Bulgarian mobile number in national digits."""
    return f"0888000{rng.randrange(1000):03d}"


def grouped(phone: str) -> str:
    """The same number as people write it: 0888 000 123."""
    return f"{phone[:4]} {phone[4:7]} {phone[7:]}"


def thumbnail(photo: str) -> str:
    """The address of the small form of a photo of imot.bg, without its scheme."""
    folder, _, name = photo.removeprefix("https:").rpartition("/")
    return f"{folder.rpartition('//')[0]}/{name}"
