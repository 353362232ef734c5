"""The pieces a report's page is made of. Whatever comes in is a text, never markup."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from sale_sofia.config.monitoring import PAGE_TEXT_MAX
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.safe_text import html, html_address

_UNKNOWN: Final = "–"
_SPACE: Final = "\u202f"
"""A narrow space that does not break: between thousands, and between a number and its unit."""
_UNITS: Final = ((3600, "h", "min"), (60, "min", "s"))
_BYTE_STEPS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def words(text: object) -> str:
    """A text between tags: nothing in it is obeyed, and it is cut where it gets too long."""
    return html(text, PAGE_TEXT_MAX)


def number(value: float | None, digits: int = 0) -> str:
    """A number; a dash for what is not known."""
    return _UNKNOWN if value is None else f"{value:,.{digits}f}".replace(",", _SPACE)


def percent(share: float | None) -> str:
    """A share as a percentage."""
    return _UNKNOWN if share is None else f"{100 * share:.1f}{_SPACE}%"


def seconds(value: float | None) -> str:
    """A short time, as that of an answer."""
    return _UNKNOWN if value is None else f"{value:.2f}{_SPACE}s"


def duration(value: float | None) -> str:
    """A long time in its two greatest units."""
    if value is None:
        return _UNKNOWN
    whole = round(value)
    for size, large, small in _UNITS:
        if whole >= size:
            rest = whole % size * 60 // size
            return f"{number(whole // size)}{_SPACE}{large} {rest}{_SPACE}{small}"
    return f"{whole}{_SPACE}s"


def size(count: int) -> str:
    """Bytes in a unit that can be read."""
    for step, unit in _BYTE_STEPS:
        if count >= step:
            return f"{count / step:.1f}{_SPACE}{unit}"
    return f"{count}{_SPACE}B"


def moment(value: float | None) -> str:
    """A moment on Sofia's clock."""
    return "never" if value is None else f"{datetime.fromtimestamp(value, SOFIA):%Y-%m-%d %H:%M}"


def link(url: object) -> str:
    """An address, to be followed where a browser may be sent there."""
    good = html_address(url)
    shown = words(url)
    return f'<a href="{good}" rel="noopener noreferrer nofollow">{shown}</a>' if good else shown


def health_word(state: str) -> str:
    """How a run is, told by its word and not by its colour alone."""
    return f'<span class="word {words(state)}">{words(state)}</span>'


def facts(pairs: Mapping[str, str]) -> str:
    """Boxes of a name and a value, as many beside each other as there is room for."""
    boxes = (f"<div><dt>{words(name)}</dt><dd>{value}</dd></div>" for name, value in pairs.items())
    return f"<dl>{''.join(boxes)}</dl>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{words(one)}</th>' for one in headings)
    body = "".join(_row(row) for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{one}</td>" for one in others)}</tr>'


def bullets(title: str, items: Sequence[str]) -> str:
    """A list under its heading; nothing where there is nothing to list."""
    listed = "".join(f"<li>{one}</li>" for one in items)
    return f"<h3>{words(title)}</h3><ul>{listed}</ul>" if items else ""
