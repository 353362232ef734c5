"""Numbers, dates, durations and portals' texts as pages show them; unknown is "?"."""

import math
import re
from datetime import datetime
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from sale_sofia.app import drawing
from sale_sofia.app.guard import is_own
from sale_sofia.app.settings import LONGEST_CELL, LONGEST_TEXT, TENTHS_BELOW
from sale_sofia.app.words import language, pluralise, say
from sale_sofia.buyer.opinions import MATCHING
from sale_sofia.flats.flat import Flat
from sale_sofia.history.export import FORMULA_SIGNS
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.text import CUT, address, plain, visible

UNKNOWN: Final = "?"
SPACE: Final = "\N{NO-BREAK SPACE}"
MINUS: Final = "\N{MINUS SIGN}"
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_MONTH: Final = 365.25 / 12 * _DAY
_PARTS_OF_A_DAY: Final = 3
_FEW: Final = 2
"""A unit is used from this many on: 90 minutes, and then 2 hours."""


def who(name: str) -> str:
    """The name of who changed something; matching, which joins and parts flats, has one in words."""
    return say("diary.matching") if name == MATCHING else name


def number(value: float | None, decimals: int = 0) -> str:
    """`12 345,5`, in English `12 345.5`, with non-breaking spaces between the groups."""
    if value is None:
        return UNKNOWN
    text = f"{abs(value):,.{decimals}f}".replace(",", SPACE)
    is_zero = not text.strip("0." + SPACE)
    text = text if language() == "en" else text.replace(".", ",")
    return text if value >= 0 or is_zero else MINUS + text


def euro(value: float | None) -> str:
    """`€ 245 000`."""
    return UNKNOWN if value is None else f"€{SPACE}{number(value)}"


def rounded(value: float) -> str:
    """`2 450`; a small sum with tenths, `9,4`."""
    return number(value, 0 if abs(value) >= TENTHS_BELOW or value == round(value) else 1)


def euro_per_sqm(value: float | None) -> str:
    """`€ 2 450/m²`, of a rent `€ 9,4/m²`."""
    return UNKNOWN if value is None else f"€{SPACE}{rounded(value)}/m²"


def area(value: float | None) -> str:
    """`102 m²`, `98,5 m²`."""
    if value is None:
        return UNKNOWN
    return f"{number(value, 0 if value == round(value) else 1)}{SPACE}m²"


def percent(share: float | None, decimals: int = 0) -> str:
    """`12 %` of a share of 0.12."""
    return UNKNOWN if share is None else f"{number(share * 100, decimals)}{SPACE}%"


def percent_change(old: float | None, new: float | None) -> str:
    """`−4,2 %`; unknown where the old value is zero or unknown."""
    if not old or new is None:
        return UNKNOWN
    share = (new - old) / old
    return f"{'+' if share > 0 else ''}{percent(share, 1)}"


def floor(at: int | None, total: int | None) -> str:
    """`4/8`; the ground floor is named."""
    if at is None and total is None:
        return UNKNOWN
    name = UNKNOWN if at is None else say("floor.ground") if at == 0 else str(at)
    return f"{name}/{UNKNOWN if total is None else total}"


def score(value: float | None) -> str:
    """`3,8` of five."""
    return number(value, 1)


def distance(metres: float | None, minutes: float | None = None) -> str:
    """`450 m · 7 min`, or the known one of the two."""
    parts = [f"{number(metres)}{SPACE}m"] if metres is not None else []
    parts += [f"{number(minutes)}{SPACE}{say('unit.minutes')}"] if minutes is not None else []
    return " · ".join(parts) or UNKNOWN


def walk(least: float, most: float) -> str:
    """`7 min`, `6–14 min` for a range, `up to 14 min` where the least is unknown."""
    minutes = number(most) if least in (0, most) else f"{number(least)}–{number(most)}"
    text = f"{minutes}{SPACE}{say('unit.minutes')}"
    return say("unit.up_to", value=text) if least == 0 < most else text


def day(at: float | None) -> str:
    """`15.11.2026` on Sofia's clock."""
    return UNKNOWN if at is None else f"{datetime.fromtimestamp(at, SOFIA):%d.%m.%Y}"


def weekday(at: float) -> str:
    """`четвъртък, 19.11.2026` on Sofia's clock."""
    return f"{say(f'weekday.{datetime.fromtimestamp(at, SOFIA).weekday()}')}, {day(at)}"


def hour(at: float) -> str:
    """`18:05` on Sofia's clock."""
    return f"{datetime.fromtimestamp(at, SOFIA):%H:%M}"


def moment(at: float | None) -> str:
    """`15.11.2026 18:05` on Sofia's clock."""
    return UNKNOWN if at is None else f"{datetime.fromtimestamp(at, SOFIA):%d.%m.%Y %H:%M}"


def ago(at: float | None, now: float) -> str:
    """`преди 3 ч`, in the largest unit with at least two."""
    if at is None:
        return say("ago.never")
    seconds = max(0.0, now - at)
    for unit, length in (("months", _MONTH), ("days", _DAY), ("hours", _HOUR), ("minutes", _MINUTE)):
        if seconds >= _FEW * length:
            return say(f"ago.{unit}", n=number(seconds // length))
    return say("ago.now")


def days(count: float | None) -> str:
    """`12 дни`; less than one is "today"."""
    if count is None:
        return UNKNOWN
    return (
        say("days.none")
        if count < 1
        else say("days.one")
        if count < _FEW
        else say("days.many", n=number(int(count)))
    )


def yes_no(value: bool | None) -> str:  # noqa: FBT001 - it is the value itself
    """Yes, no, or "?"."""
    return UNKNOWN if value is None else say("yes" if value else "no")


def count_line(count: int) -> str:
    """`12 имота`."""
    return pluralise("properties", count, number(count))


def count_adverts(count: int) -> str:
    """`12 обяви`."""
    return pluralise("adverts", count, number(count))


# Days and numbers in the fields of forms.


def iso_day(text: str) -> str:
    """A day like `25.11.2026` as `2026-11-25`; other text unchanged."""
    parts = text.strip().split(".")
    return (
        "-".join(part.zfill(2) for part in reversed(parts)) if len(parts) == _PARTS_OF_A_DAY else text.strip()
    )


def for_input(value: object) -> str:
    """A number as people type it, `250 000` or `2,5`; empty for None, other values as text."""
    if not isinstance(value, int | float):
        return "" if value is None else str(value)
    return number(value, 0 if float(value).is_integer() else len(str(value).partition(".")[2]))


def parse_number(text: str) -> float | str | None:
    """The number in a form field, an int where it is whole; None for an empty one, other text unchanged.

    Other text is refused by the check of the field, which names it.
    """
    digits = "".join(text.split()).replace(",", ".").replace(MINUS, "-")
    try:
        value = float(digits)
    except ValueError:
        return text.strip() or None
    if not math.isfinite(value):
        return text.strip()
    return int(value) if value.is_integer() else value


# Nothing from a portal is trusted: templates escape it, and only its visible characters are kept.


def paragraphs(text: object, most: int = LONGEST_TEXT) -> str:
    """A long text with its line ends, reduced to visible characters and cut to length."""
    lines = [" ".join(visible(line).split()) for line in str(text)[: 2 * most].splitlines()]
    whole = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + CUT


def cell(value: object, most: int = LONGEST_CELL) -> object:
    """A value for an exported table: a text that looks like a formula gets a `'` in front."""
    if not isinstance(value, str):
        return value
    text = plain(value, most)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def photos(flat: Flat) -> list[str]:
    """Safe addresses of photos; for a simulated flat, a drawing for each photo.

    Photos of a simulated flat have addresses like the real portal's, which must not be requested.
    """
    if any(_is_simulated(advert.url) for advert in flat.adverts):
        return [f"/drawing/{name}.svg" for name in drawing.names(list(flat.photo_urls))]
    return [good for url in flat.photo_urls if (good := address(url))]


def _is_simulated(url: str) -> bool:
    good = address(url)
    return good is not None and _is_own(urlsplit(good).netloc)


_is_own: Final = lru_cache(is_own)  # portals have few hosts, and a page many adverts
