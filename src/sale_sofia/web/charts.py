"""Charts as SVG, made on the server: no script, no style of their own, a table behind each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from sale_sofia.listings.dates import SOFIA
from sale_sofia.web import formatting as shown
from sale_sofia.web.words import say

WIDTH: Final = 640
HEIGHT: Final = 240
_LEFT: Final = 74
_RIGHT: Final = 16
_TOP: Final = 12
_BOTTOM: Final = 30
_TICKS: Final = 4
_DAY: Final = 86_400
_BAR: Final = 26
_LABEL: Final = 190


class Point(NamedTuple):
    """A value at a moment, in seconds since 1970."""

    at: float
    value: float


@dataclass(frozen=True, slots=True)
class Line:
    """Points under one name; each line has a colour and dashes of its own."""

    name: str
    points: Sequence[Point]
    steps: bool = False
    """Whether a value holds until the next one, as prices do."""


class Mark(NamedTuple):
    """A moment with what happened; with a value it is a hollow diamond, else a dashed upright line."""

    at: float
    text: str
    value: float | None = None


def nice(low: float, high: float, count: int = _TICKS) -> list[float]:
    """Round numbers from below the least to above the most, about so many."""
    span = (high - low) or abs(high) or 1.0
    rough = span / count
    size = 10.0 ** (len(str(int(rough))) - 1 if rough >= 1 else -1)
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10, 20) if size * factor >= rough)
    first = int(low // step)
    last = int(-(-high // step))
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def lines(
    title: str, unit: str, given: Sequence[Line], marks: Sequence[Mark] = (), *, zero: bool = False
) -> Markup:
    """Lines over time. Without `zero` the axis still spans a tenth of the value, so that a small change
    does not look like a cliff.
    """
    values = [p.value for line in given for p in line.points] + [
        m.value for m in marks if m.value is not None
    ]
    times = [p.at for line in given for p in line.points] + [m.at for m in marks]
    if not values:
        return Markup()
    low, high = min(values), max(values)
    room = max(0.0, high * 0.1 - (high - low)) / 2
    ticks = nice(0.0 if zero else max(0.0, low - room), high + room)
    frame = _Frame(min(times), max(max(times), min(times) + _DAY), ticks[0], ticks[-1])
    parts = [_axis(frame, ticks), _days(frame)]
    for place, line in enumerate(given):
        parts.append(_line(frame, line, place))
    parts += [_mark(frame, one) for one in marks]
    legend = _legend([line.name for line in given]) if len(given) > 1 else Markup()
    drawn = _svg(title, HEIGHT, Markup().join(parts))
    return Markup('<figure class="chart"><figcaption>{} ({})</figcaption>{}{}{}</figure>').format(
        title, unit, drawn, legend, _table(given, unit)
    )


class Bar(NamedTuple):
    """One bar: parts beside each other, each with its class and size; and what is written at its end."""

    name: str
    parts: Sequence[tuple[str, float]]
    text: str


def bars(title: str, most: float, given: Sequence[Bar], names: Sequence[tuple[str, str]] = ()) -> Markup:
    """Bars below each other; `names` are the classes of their parts with what each means."""
    height = _BAR * len(given) + 8
    scale = (WIDTH - _LABEL - 80) / (most or 1.0)
    drawn = []
    for place, bar in enumerate(given):
        y, x = place * _BAR + 6, float(_LABEL)
        drawn.append(Markup('<text x="{}" y="{}" class="end">{}</text>').format(_LABEL - 8, y + 13, bar.name))
        for name, size in bar.parts:
            width = max(0.0, size * scale)
            drawn.append(
                Markup('<rect x="{:.1f}" y="{}" width="{:.1f}" height="16" class="part {}"/>').format(
                    x, y, width, name
                )
            )
            x += width
        drawn.append(Markup('<text x="{:.1f}" y="{}">{}</text>').format(x + 6, y + 13, bar.text))
    key = Markup("").join(
        Markup(
            '<li><svg width="16" height="12" aria-hidden="true"><rect width="16" height="12" class="part {}"/></svg> {}</li>'
        ).format(name, text)
        for name, text in names
    )
    legend = Markup('<ul class="legend">{}</ul>').format(key) if names else Markup()
    return Markup('<figure class="chart"><figcaption>{}</figcaption>{}{}</figure>').format(
        title, _svg(title, height, Markup().join(drawn)), legend
    )


class Span(NamedTuple):
    """From low to high with a mark at the middle."""

    name: str
    low: float
    middle: float
    high: float
    n: int


def spans(title: str, unit: str, given: Sequence[Span]) -> Markup:
    """Spans below each other on one axis that begins at zero: no difference looks larger than it is."""
    if not given:
        return Markup()
    ticks = nice(0.0, max(one.high for one in given))
    scale = (WIDTH - _LABEL - 60) / ticks[-1]
    height = _BAR * len(given) + 40
    drawn = []
    for tick in ticks:
        x = _LABEL + tick * scale
        drawn.append(
            Markup(
                '<line x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1}" class="grid"/><text x="{0:.1f}" y="{2}" class="middle">{3}</text>'
            ).format(x, height - 28, height - 10, shown.number(tick))
        )
    for place, one in enumerate(given):
        y = place * _BAR + 6
        drawn.append(
            Markup(
                '<text x="{}" y="{}" class="end">{}</text><rect x="{:.1f}" y="{}" width="{:.1f}" height="12" class="span"/>'
                '<line x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}" class="median"/>'
            ).format(
                _LABEL - 8,
                y + 12,
                one.name,
                _LABEL + one.low * scale,
                y + 2,
                (one.high - one.low) * scale,
                _LABEL + one.middle * scale,
                _LABEL + one.middle * scale,
                y - 1,
                y + 17,
            )
        )
    rows = [
        [one.name, shown.euro(one.low), shown.euro(one.middle), shown.euro(one.high), str(one.n)]
        for one in given
    ]
    head = [say("market.place"), say("web.quartile_low"), say("market.median"), say("web.quartile_high"), "n"]
    return Markup('<figure class="chart"><figcaption>{} ({})</figcaption>{}{}</figure>').format(
        title, unit, _svg(title, height, Markup().join(drawn)), data_table(head, rows)
    )


def dots(
    title: str, unit: str, others: Sequence[float], own: float | None, band: tuple[float, float, float]
) -> Markup:
    """Comparables as dots on one axis, the fair interval as a band, this flat as a diamond."""
    values = [*others, *band, *([own] if own is not None else [])]
    ticks = nice(min(values), max(values))
    frame = _Frame(ticks[0], ticks[-1], 0.0, 1.0)
    parts = []
    for tick in ticks:
        x = frame.x(tick)
        parts.append(
            Markup(
                '<line x1="{0:.1f}" x2="{0:.1f}" y1="10" y2="90" class="grid"/><text x="{0:.1f}" y="110" class="middle">{1}</text>'
            ).format(x, shown.number(tick))
        )
    low, middle, high = (frame.x(one) for one in band)
    parts.append(
        Markup(
            '<rect x="{:.1f}" y="14" width="{:.1f}" height="72" class="band"/><line x1="{:.1f}" x2="{:.1f}" y1="14" y2="86" class="median"/>'
        ).format(low, high - low, middle, middle)
    )
    parts += [
        Markup('<circle cx="{:.1f}" cy="{}" r="5" class="dot"/>').format(frame.x(one), 34 + 12 * (n % 4))
        for n, one in enumerate(others)
    ]
    if own is not None:
        x = frame.x(own)
        parts.append(Markup('<path d="M{0:.1f} 40l9 10-9 10-9-10z" class="own"/>').format(x))
    return Markup('<figure class="chart"><figcaption>{} ({})</figcaption>{}</figure>').format(
        title, unit, _svg(title, 118, Markup().join(parts))
    )


class _Frame(NamedTuple):
    """Where values lie on the drawing."""

    left: float
    right: float
    low: float
    high: float

    def x(self, value: float) -> float:
        return _LEFT + (value - self.left) / ((self.right - self.left) or 1.0) * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return _TOP + (self.high - value) / ((self.high - self.low) or 1.0) * (HEIGHT - _TOP - _BOTTOM)


def _svg(title: str, height: float, inside: Markup) -> Markup:
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, title, inside
    )


def _axis(frame: _Frame, ticks: Sequence[float]) -> Markup:
    return Markup().join(
        Markup(
            '<line x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}" class="grid"/><text x="{}" y="{:.1f}" class="end">{}</text>'
        ).format(
            _LEFT,
            WIDTH - _RIGHT,
            frame.y(tick),
            frame.y(tick),
            _LEFT - 8,
            frame.y(tick) + 4,
            shown.number(tick, 0 if tick == int(tick) else 1),
        )
        for tick in ticks
    )


def _days(frame: _Frame) -> Markup:
    """Days under the axis, never hours: nobody asks when in the day a price changed."""
    count = min(5, max(2, int((frame.right - frame.left) // _DAY) + 1))
    moments = [frame.left + (frame.right - frame.left) * place / (count - 1) for place in range(count)]
    written: dict[str, float] = {}
    for at in moments:
        written.setdefault(f"{datetime.fromtimestamp(at, SOFIA):%d.%m}", at)
    return Markup().join(
        Markup('<text x="{:.1f}" y="{}" class="middle">{}</text>').format(
            min(frame.x(at), WIDTH - _RIGHT - 14), HEIGHT - 8, text
        )
        for text, at in written.items()
    )


def _line(frame: _Frame, line: Line, place: int) -> Markup:
    path, before = [], None
    for point in sorted(line.points):
        x, y = frame.x(point.at), frame.y(point.value)
        if before is None:
            path.append(f"M{x:.1f} {y:.1f}")
        else:
            path.append(f"H{x:.1f}V{y:.1f}" if line.steps else f"L{x:.1f} {y:.1f}")
        before = point
    dots_ = Markup().join(
        Markup(
            '<circle cx="{:.1f}" cy="{:.1f}" r="3.5" class="ink{}"><title>{}: {}, {}</title></circle>'
        ).format(
            frame.x(p.at), frame.y(p.value), place % 7, line.name, shown.day(p.at), shown.number(p.value)
        )
        for p in line.points
    )
    return Markup('<path d="{}" class="line ink{}"/>{}').format("".join(path), place % 7, dots_)


def _mark(frame: _Frame, mark: Mark) -> Markup:
    x = frame.x(mark.at)
    if mark.value is None:
        return Markup(
            '<line x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}" class="event"><title>{}</title></line>'
        ).format(x, x, _TOP, HEIGHT - _BOTTOM, mark.text)
    y = frame.y(mark.value)
    return Markup('<path d="M{:.1f} {:.1f}l7 7-7 7-7-7z" class="printed"><title>{}</title></path>').format(
        x, y - 7, mark.text
    )


def _legend(names: Sequence[str]) -> Markup:
    items = Markup().join(
        Markup(
            '<li><svg width="28" height="10" aria-hidden="true"><path d="M0 5H28" class="line ink{}"/></svg> {}</li>'
        ).format(place % 7, name)
        for place, name in enumerate(names)
    )
    return Markup('<ul class="legend">{}</ul>').format(items)


def _table(given: Sequence[Line], unit: str) -> Markup:
    rows = [
        [line.name, shown.day(p.at), shown.number(p.value)] for line in given for p in sorted(line.points)
    ]
    return data_table([say("web.what"), say("offers.day"), unit], rows)


def data_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """The numbers of a chart, for whoever cannot see it or wants them exactly."""
    cells = Markup().join(Markup("<th scope='col'>{}</th>").format(name) for name in head)
    body = Markup().join(
        Markup("<tr>{}</tr>").format(
            Markup().join(Markup("<td>{}</td>").format(escape(cell)) for cell in row)
        )
        for row in rows
    )
    return Markup(
        '<details class="data"><summary>{}</summary><div class="wide" tabindex="0" role="group" aria-label="{}"><table><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div></details>"
    ).format(say("web.numbers"), say("web.numbers"), cells, body)
