"""Charts that need no internet; each names its axes and says nothing by colour alone."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import altair as alt
import pandas as pd
import streamlit as st

from sale_sofia.listings.dates import SOFIA

INK: Final = "#1c2430"
SCHEME: Final = ("#1d5fb4", "#b25a00", "#0b6b3a", "#8a2f7c", "#5b6670", "#a3181f", "#00707a")
"""Told apart by colour-blind people, and each dark enough on white."""
_DASHES: Final = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3], [10, 4])
_HEIGHT: Final = 280
_AXES: Final = 110
"""Pixels of a chart that its axis at the bottom takes."""
_LEGEND_COLUMNS: Final = 3
_GROUPED: Final = "replace(format(datum.value, ',~f'), /,/g, '\\u00a0')"
"""Numbers of an axis with spaces between their thousands."""
Rows = Sequence[Mapping[str, Any]]


def lines(
    rows: Rows, x: tuple[str, str], y: tuple[str, str], by: tuple[str, str], *, zero: bool = True
) -> None:
    """One line for each value of `by`, by colour and by its dashes; each of x, y, by is (column, title)."""
    frame = pd.DataFrame(list(rows))
    names = list(dict.fromkeys(frame[by[0]]))
    legend = alt.Legend(
        orient="top", title=None, labelLimit=300, columns=_LEGEND_COLUMNS, symbolType="stroke", symbolSize=400
    )
    chart = (
        alt.Chart(frame)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{x[0]}:T", title=x[1], axis=alt.Axis(format="%d.%m", labelOverlap=True)),
            y=alt.Y(f"{y[0]}:Q", title=y[1], scale=alt.Scale(zero=zero), axis=alt.Axis(labelExpr=_GROUPED)),
            color=alt.Color(f"{by[0]}:N", legend=legend, scale=_scale(names, SCHEME)),
            strokeDash=alt.StrokeDash(f"{by[0]}:N", legend=legend, scale=_scale(names, _DASHES)),
            tooltip=[by[0], alt.Tooltip(f"{x[0]}:T", format="%d.%m.%Y"), f"{y[0]}:Q"],
        )
    )
    draw(chart, f"{y[1]}: {', '.join(names)}")


def _scale(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=list(values[: len(names)]))


def heat_map(rows: Rows, x: tuple[str, str], y: tuple[str, str], share: tuple[str, str]) -> None:
    """A share from 0 to 1 for each pair, written into its cell too."""
    frame = pd.DataFrame(list(rows))
    frame["text"] = [f"{round(value * 100)}" for value in frame[share[0]]]
    frame["dark"] = frame[share[0]] > 0.6  # noqa: PLR2004 - where white words can be read on the blue
    base = alt.Chart(frame).encode(
        x=alt.X(f"{x[0]}:N", title=x[1], sort=None, axis=alt.Axis(labelAngle=-35, labelOverlap=False)),
        y=alt.Y(f"{y[0]}:N", title=y[1], sort=None),
        tooltip=[x[0], y[0], alt.Tooltip(share[0], format=".1%", title=share[1])],
    )
    cells = base.mark_rect(stroke="white").encode(
        color=alt.Color(share[0], title=share[1], legend=None, scale=alt.Scale(scheme="blues", domain=[0, 1]))
    )
    words = base.mark_text(fontSize=12).encode(
        text="text:N", color=alt.condition("datum.dark", alt.value("white"), alt.value(INK))
    )
    draw(cells + words, share[1], height=_AXES + 34 * frame[y[0]].nunique())


def ranges(rows: Rows, y: tuple[str, str], x_title: str) -> None:
    """From `low` to `high` with a mark at the `median` of each, and `n` beside it when pointed at."""
    frame = pd.DataFrame(list(rows))
    base = alt.Chart(frame).encode(
        y=alt.Y(f"{y[0]}:N", title=None, sort=None, axis=alt.Axis(labelLimit=160)),
        tooltip=[
            y[0],
            alt.Tooltip("low", format=".0f"),
            alt.Tooltip("median", format=".0f"),
            alt.Tooltip("high", format=".0f"),
            "n",
        ],
    )
    bars = base.mark_bar(height=10, color="#a9c4e6").encode(
        x=alt.X("low:Q", title=x_title, scale=alt.Scale(zero=False), axis=alt.Axis(labelExpr=_GROUPED)),
        x2="high:Q",
    )
    marks = base.mark_tick(thickness=3, size=18, color=INK).encode(x="median:Q")
    draw(bars + marks, x_title, height=_AXES + 26 * len(frame))


def moment(at: float) -> datetime:
    """A moment as Sofia's clock shows it; a chart would turn it into the browser's own."""
    return datetime.fromtimestamp(at, SOFIA).replace(tzinfo=None)


def draw(chart: alt.Chart | alt.LayerChart, told: str, height: int = _HEIGHT) -> None:
    """The chart as wide as its place; `told` is what it shows, for whoever cannot see it."""
    st.altair_chart(
        chart.properties(height=height, padding={"left": 24, "right": 8, "top": 4, "bottom": 4}),
        width="stretch",
        alt=told,
    )
