"""Controls that Streamlit has not: numbers with a decimal comma."""

import streamlit as st

from sale_sofia.app.formatting import number


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
