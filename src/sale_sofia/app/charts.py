"""Charts as SVG, made on the server: numbers are placed here, drawn by `templates/charts.html`.

No script, no style of their own, a table behind each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import environment
from sale_sofia.listings.dates import SOFIA

WIDTH: Final = 520
HEIGHT: Final = 230
_EDGES: Final = (88, 16, 12, 34)
"""Pixels left, right, above and below what is drawn."""
_LAST_LABEL: Final = WIDTH - 30
"""The largest x of a label's middle: half of the label must fit beside it."""
_LABEL: Final = 184
"""Pixels for the names of bars."""
_ROW: Final = 26
_TICKS: Final = 4
_DAY: Final = 86_400
_LEAST_SPAN: Final = 0.1
"""Share of the largest value that an axis spans at least, so that a small change looks small."""
_INKS: Final = 7
_ROUND: Final = (1, 2, 2.5, 5, 10, 20)


class DataPoint(NamedTuple):
    """A value at a moment, in seconds since 1970."""

    at: float
    value: float


@dataclass(frozen=True, slots=True)
class Line:
    """Points under one name; each line has its own colour and dashes."""

    name: str
    points: Sequence[DataPoint]
    steps: bool = False
    """Whether a value holds until the next one, as prices do."""


class Marker(NamedTuple):
    """An event; with a value it is drawn as a hollow diamond, else as a dashed upright line."""

    at: float
    text: str
    value: float | None = None


class Bar(NamedTuple):
    """A bar: parts beside each other, each with its class and size; and the text at its end."""

    name: str
    parts: Sequence[tuple[str, float]]
    text: str


class Spread(NamedTuple):
    """A range from low to high with a mark at the middle."""

    name: str
    low: float
    middle: float
    high: float
    n: int


def lines(
    title: str, unit: str, series: Sequence[Line], marks: Sequence[Marker] = (), *, zero: bool = False
) -> Markup:
    """Lines over time; empty without points."""
    points = [point for line in series for point in line.points]
    values = [point.value for point in points] + [mark.value for mark in marks if mark.value is not None]
    if not values:
        return Markup()
    times = [point.at for point in points] + [mark.at for mark in marks]
    low, high = min(values), max(values)
    room = max(0.0, high * _LEAST_SPAN - (high - low)) / 2
    ticks = nice(0.0 if zero else max(0.0, low - room), high + room)
    frame = _Frame(min(times), max(*times, min(times) + _DAY), ticks[0], ticks[-1])
    drawn = [
        {
            "ink": index % _INKS,
            "name": line.name,
            "path": _path(frame, line),
            "points": [
                {"x": frame.x(point.at), "y": frame.y(point.value), "at": point.at, "value": point.value}
                for point in sorted(line.points)
            ],
        }
        for index, line in enumerate(series)
    ]
    placed = [
        {"x": frame.x(mark.at), "y": None if mark.value is None else frame.y(mark.value), "text": mark.text}
        for mark in marks
    ]
    return _render(
        "lines", title, unit, frame=frame, ticks=ticks, days=_days(frame), lines=drawn, marks=placed
    )


def bars(title: str, most: float, rows: Sequence[Bar], names: Sequence[tuple[str, str]] = ()) -> Markup:
    """Bars below each other; `names` are the classes of their parts with their meanings."""
    scale = (WIDTH - _LABEL - 80) / (most or 1.0)
    drawn = []
    for index, bar in enumerate(rows):
        x, parts = float(_LABEL), []
        for name, size in bar.parts:
            parts.append({"x": x, "width": max(0.0, size * scale), "name": name})
            x += max(0.0, size * scale)
        drawn.append({"name": bar.name, "text": bar.text, "y": index * _ROW + 6, "parts": parts, "end": x})
    return _render("bars", title, "", label=_LABEL, bars=drawn, names=names, height=_ROW * len(rows) + 8)


def spans(title: str, unit: str, rows: Sequence[Spread]) -> Markup:
    """Ranges below each other on an axis from zero, so that no difference looks larger than it is."""
    if not rows:
        return Markup()
    ticks = nice(0.0, max(row.high for row in rows))
    scale = (WIDTH - _LABEL - 60) / ticks[-1]

    def x(value: float) -> float:
        return _LABEL + value * scale

    drawn = [
        {"span": row, "y": index * _ROW + 6, "low": x(row.low), "middle": x(row.middle), "high": x(row.high)}
        for index, row in enumerate(rows)
    ]
    axis = [{"x": x(tick), "value": tick} for tick in ticks]
    return _render("spans", title, unit, label=_LABEL, spans=drawn, axis=axis, height=_ROW * len(rows) + 40)


def dots(
    title: str, unit: str, others: Sequence[float], own: float | None, band: tuple[float, float, float]
) -> Markup:
    """Comparables as dots on one axis, the fair interval as a band, this flat as a diamond."""
    values = [*others, *band, *([own] if own is not None else [])]
    ticks = nice(min(values), max(values))
    frame = _Frame(ticks[0], ticks[-1], 0.0, 1.0)
    low, middle, high = (frame.x(price) for price in band)
    return _render(
        "dots", title, unit,
        axis=[{"x": min(frame.x(tick), _LAST_LABEL), "value": tick} for tick in ticks],
        band={"low": low, "middle": middle, "high": high},
        dots=[{"x": frame.x(price), "y": 34 + 12 * (index % 4)} for index, price in enumerate(others)],
        own=None if own is None else frame.x(own),
    )  # fmt: skip


def nice(low: float, high: float, count: int = _TICKS) -> list[float]:
    """About `count` round numbers from below `low` to above `high`."""
    rough = ((high - low) or abs(high) or 1.0) / count
    size = 10.0 ** (len(str(int(rough))) - 1 if rough >= 1 else -1)
    step = next(size * factor for factor in _ROUND if size * factor >= rough)
    first, last = int(low // step), int(-(-high // step))
    return [number * step for number in range(first, max(last, first + 1) + 1)]


class _Frame(NamedTuple):
    """Maps values to the coordinates of a drawing."""

    left: float
    right: float
    low: float
    high: float

    def x(self, value: float) -> float:
        before, after, _, _ = _EDGES
        return before + (value - self.left) / ((self.right - self.left) or 1.0) * (WIDTH - before - after)

    def y(self, value: float) -> float:
        _, _, above, below = _EDGES
        return above + (self.high - value) / ((self.high - self.low) or 1.0) * (HEIGHT - above - below)


def _path(frame: _Frame, line: Line) -> str:
    parts = []
    for index, point in enumerate(sorted(line.points)):
        x, y = f"{frame.x(point.at):.1f}", f"{frame.y(point.value):.1f}"
        parts.append(f"M{x} {y}" if not index else f"H{x}V{y}" if line.steps else f"L{x} {y}")
    return "".join(parts)


def _days(frame: _Frame) -> list[dict[str, Any]]:
    """Labels of days under the axis, never of hours; with the year where it changes."""
    count = min(5, max(2, int((frame.right - frame.left) // _DAY) + 1))
    moments = [frame.left + (frame.right - frame.left) * index / (count - 1) for index in range(count)]
    days = [datetime.fromtimestamp(at, SOFIA) for at in moments]
    form = "%d.%m" if days[0].year == days[-1].year else "%d.%m.%y"
    labels: dict[str, float] = {}
    for day, at in zip(days, moments, strict=True):
        labels.setdefault(day.strftime(form), at)
    return [{"text": text, "x": min(frame.x(at), _LAST_LABEL)} for text, at in labels.items()]


def _render(kind: str, title: str, unit: str, **values: Any) -> Markup:  # noqa: ANN401 - numbers of many kinds
    template = environment().get_template("charts.html")
    size = {"width": WIDTH, "height": HEIGHT, "edges": _EDGES}
    return Markup(template.render(kind=kind, title=title, unit=unit, **(size | values), f=fmt))  # noqa: S704 - escaped there
