"""Numbers, dates and durations as a Bulgarian reader writes them; what is not known is "?"."""

import ipaddress
import re
from base64 import b64encode
from datetime import datetime
from html import escape
from typing import Final
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from sale_sofia.app.settings import LONGEST_CELL, LONGEST_TEXT, LONGEST_TITLE
from sale_sofia.app.words import say, told
from sale_sofia.flats.flat import Flat
from sale_sofia.history.export import FORMULA_SIGNS
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.text import CUT, address, html, html_address, plain, visible

UNKNOWN: Final = "?"
SPACE: Final = "\N{NO-BREAK SPACE}"
MINUS: Final = "\N{MINUS SIGN}"
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_MONTH: Final = 365.25 / 12 * _DAY
_FEW: Final = 2
"""Of a unit this many are counted in the next smaller one: 90 minutes, and then 2 hours."""


def number(value: float | None, decimals: int = 0) -> str:
    """`12 345,5`, the groups held together by spaces that do not break."""
    if value is None:
        return UNKNOWN
    text = f"{abs(value):,.{decimals}f}".replace(",", SPACE).replace(".", ",")
    is_zero = not text.strip("0," + SPACE)
    return text if value >= 0 or is_zero else MINUS + text


def euro(value: float | None) -> str:
    """`€ 245 000`."""
    return UNKNOWN if value is None else f"€{SPACE}{number(value)}"


def euro_change(old: float, new: float) -> str:
    """`−€ 5 000`: how much more or less it is."""
    sign = "+" if new > old else MINUS if new < old else "±"
    return f"{sign}€{SPACE}{number(abs(new - old))}"


def euro_per_sqm(value: float | None) -> str:
    """`€ 2 450/m²`."""
    return UNKNOWN if value is None else f"{euro(value)}/m²"


def area(value: float | None) -> str:
    """`102 m²`, `98,5 m²`."""
    if value is None:
        return UNKNOWN
    return f"{number(value, 0 if value == round(value) else 1)}{SPACE}m²"


def percent(share: float | None, decimals: int = 0) -> str:
    """`12 %` of a share of 0.12."""
    return UNKNOWN if share is None else f"{number(share * 100, decimals)}{SPACE}%"


def percent_change(old: float | None, new: float | None) -> str:
    """`−4,2 %`; none can be said from nothing."""
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
    """`450 m`, `7 min`, or what is known of the two."""
    told = [f"{number(metres)}{SPACE}m"] if metres is not None else []
    told += [f"{number(minutes)}{SPACE}{say('unit.minutes')}"] if minutes is not None else []
    return " · ".join(told) or UNKNOWN


def walk(least: float, most: float) -> str:
    """`7 min`, or `6–14 min` where it is a range."""
    minutes = number(least) if least == most else f"{number(least)}–{number(most)}"
    return f"{minutes}{SPACE}{say('unit.minutes')}"


def day(at: float | None) -> str:
    """`15.11.2026` on Sofia's clock."""
    return UNKNOWN if at is None else f"{datetime.fromtimestamp(at, SOFIA):%d.%m.%Y}"


def moment(at: float | None) -> str:
    """`15.11.2026 18:05` on Sofia's clock."""
    return UNKNOWN if at is None else f"{datetime.fromtimestamp(at, SOFIA):%d.%m.%Y %H:%M}"


def ago(at: float | None, now: float) -> str:
    """`преди 3 ч`, in the largest unit of which there are at least two."""
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


# Nothing from a portal is trusted: what of its texts and addresses may be shown, and in what form.

__all__ = ["address", "cell", "html", "html_address", "html_paragraphs", "markdown", "paragraphs", "plain"]

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=&@/])")


def paragraphs(text: object, most: int = LONGEST_TEXT) -> str:
    """A long text of visible characters, its line ends kept, cut where it gets too long."""
    lines = [" ".join(visible(line).split()) for line in str(text)[: 2 * most].splitlines()]
    whole = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + CUT


def html_paragraphs(text: object, most: int = LONGEST_TEXT) -> str:
    """The same for a long text, its line ends as breaks."""
    return escape(paragraphs(text, most), quote=True).replace("\n", "<br>")


def markdown(text: object, most: int = LONGEST_TITLE) -> str:
    """The text inside Markdown, as labels of Streamlit are: no mark in it means anything."""
    return _MARKDOWN.sub(r"\\\1", plain(text, most))


def cell(value: object, most: int = LONGEST_CELL) -> object:
    """A value of an exported table: a text that a spreadsheet would take for a formula begins with `'`."""
    if not isinstance(value, str):
        return value
    text = plain(value, most)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


# Controls that Streamlit has not: numbers with a decimal comma.


def decimal(label: str, range_: tuple[float, float, float], value: float, key: str | None = None) -> float:
    """A number of a range (from, to, step), shown with a comma; a value between two steps is among them."""
    chosen: float = st.select_slider(
        label, options=steps(range_, value), value=value, format_func=lambda one: number(one, 1), key=key
    )
    return chosen


def steps(range_: tuple[float, float, float], value: float) -> list[float]:
    """All numbers of the range, and this one."""
    least, most, step = range_
    grid = {round(least + place * step, 6) for place in range(round((most - least) / step) + 1)}
    return sorted(grid | {value})


def refusal(error: object) -> str:
    """Why something was refused, as Markdown in which no mark means anything."""
    return markdown(told(error), LONGEST_CELL)


# By which names the dashboard may be asked for where it has no password: this machine's own. A page on the
# web can have its name lead to 127.0.0.1 once a browser has opened it; what that page then asks for looks
# as if the dashboard's own page asked for it. Only the name gives it away.

_LOCALHOST: Final = "localhost"
_ANOTHERS_NAME: Final = 4421
_SENTENCE: Final = "This dashboard is for its own machine: ask for localhost, or set DASHBOARD_PASSWORD.\n"


class OwnHosts:
    """Lets through whoever asked this machine by its own name; everybody else gets nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse it."""
        if scope["type"] == "lifespan" or is_own(Headers(scope=scope).get("host", "")):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(_ANOTHERS_NAME)(scope, receive, send)
        else:
            await PlainTextResponse(_SENTENCE, 421)(scope, receive, send)


def is_own(host: str) -> bool:
    """Whether a `Host` header names this machine: `localhost`, or an address of the loopback."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == _LOCALHOST or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


# The photos of a flat that a browser may fetch.

_HOUSE: Final = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300">
<rect width="400" height="300" fill="#dfe7ee"/>
<path d="M60 230V130L140 80l80 50v100z" fill="#9fb6cc"/><path d="M220 230V100h120v130z" fill="#7f9ab5"/>
<path d="M0 230h400v70H0z" fill="#b7c9a8"/></svg>"""
DRAWING: Final = f"data:image/svg+xml;base64,{b64encode(_HOUSE.encode()).decode()}"


def shown_photos(flat: Flat) -> list[str]:
    """Addresses a browser may be sent to; of a flat that a simulator made up a drawing for each photo.

    Its photos have addresses as the real portal would give them and nothing behind: nobody is asked for them.
    """
    if any(_is_simulated(advert.url) for advert in flat.adverts):
        return [DRAWING for _ in flat.photo_urls]
    return [good for url in flat.photo_urls if (good := address(url))]


def _is_simulated(url: str) -> bool:
    good = address(url)
    return good is not None and is_own(urlsplit(good).netloc)
