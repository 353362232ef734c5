"""Market: medians with quartiles, trend, stock, days on market and cuts; asking prices, each flat once."""

from typing import cast

import streamlit as st

from sale_sofia.advice.market.market import Deal, Figures, Market
from sale_sofia.app import charts, formatting, market
from sale_sofia.app import formatting as safe
from sale_sofia.app.words import say

DEALS = ("sale", "rent")
COMPARED = 15
COLUMNS = 4


def page() -> None:
    """Draw the page."""
    st.title(say("page.market"))
    deal = st.segmented_control(
        say("market.deal"), DEALS, default=DEALS[0], format_func=lambda one: say(f"deal.{one}"),
        key="deal", required=True, bind="query-params",
    )  # fmt: skip
    found = market.current(cast("Deal", deal))
    st.caption(say("market.label", least=found.least))
    if not found.cells:
        st.info(say("market.nothing"))
        return
    place, rooms = _choices(found)
    figures = market.cell_of(found, place, rooms)
    if figures is None:
        st.info(say("market.nothing"))
        return
    _metrics(figures)
    _weeks(figures)
    _neighbourhoods(found, rooms)


def _choices(found: Market) -> tuple[str | None, str | None]:
    left, right = st.columns(2)
    everywhere, any_rooms = say("market.city"), say("market.any_rooms")
    with left:
        place = st.selectbox(
            say("market.place"), market.places(found), index=None, placeholder=everywhere, key="place",
            format_func=safe.plain, bind="query-params",
        )  # fmt: skip
    with right:
        rooms = st.selectbox(
            say("market.rooms"), market.rooms_of(found, place), index=None, placeholder=any_rooms,
            format_func=market.room_name, key="rooms", bind="query-params",
        )  # fmt: skip
    return place, rooms


def _metrics(figures: Figures) -> None:
    for column, (title, value, beneath) in zip(st.columns(COLUMNS), market.metrics(figures), strict=True):
        with column:
            st.html(market.metric_html(title, value, beneath))


def _weeks(figures: Figures) -> None:
    left, right = st.columns(2)
    with left:
        st.header(say("market.trend"))
        points = market.week_points(figures, "median_eur_sqm")
        if points:
            _lines(points, "€/m²", zero=False)
        else:
            st.markdown(say("market.too_few"))
    with right:
        st.header(say("market.flow"))
        flows = [point for name in ("stock", "new", "gone") for point in market.week_points(figures, name)]
        _lines(flows, say("market.flats"))


def _lines(points: list[market.Row], title: str, *, zero: bool = True) -> None:
    what = ("what", say("market.what"))
    charts.lines(points, ("week", say("market.week")), ("value", title), what, zero=zero)


def _neighbourhoods(found: Market, rooms: str | None) -> None:
    st.header(say("market.by_place"))
    compared = market.compared(found, rooms, COMPARED)
    if compared:
        charts.ranges(compared, ("place", say("market.place")), "€/m²")
    rows = market.table(found, rooms)
    st.markdown(say("market.rows", n=formatting.number(len(rows))))
    st.dataframe(rows, hide_index=True)


page()
