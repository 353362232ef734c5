"""Search: one result as gallery, table and map; its filters in the address; searches that are kept."""

from collections.abc import Sequence
from typing import Final

import streamlit as st

from sale_sofia.advice.search.query import SearchQuery, WrongSearch
from sale_sofia.app import filters, formatting, state
from sale_sofia.app import filters as results
from sale_sofia.app import filters as saved
from sale_sofia.app.deck import Deck, count_line, export, open_deck, show_cards, show_table
from sale_sofia.app.filters import Result
from sale_sofia.app.formatting import refusal
from sale_sofia.app.maps import show_map
from sale_sofia.app.words import say
from sale_sofia.flats.flat import Flat

VIEWS: Final = ("gallery", "table", "map")


def page() -> None:
    """Draw the page."""
    deck = open_deck()
    st.title(say("page.search"))
    query = _query(deck)
    if query is None:
        return
    results.write_address(query)
    result = results.find(deck, query)
    view = _head(result)
    _show(deck, result.passed, view, "passed")
    if result.unknown:
        st.header(say("search.unknown", found=count_line(len(result.unknown))))
        st.caption(say("search.unknown_why"))
        _show(deck, result.unknown, view, "unknown")
    _foot(deck, query, result)


def _query(deck: Deck) -> SearchQuery | None:
    try:
        results.open_search(deck)
    except WrongSearch as error:
        st.error(say("search.wrong_address", why=refusal(error)))
    with st.sidebar:
        _choices()
        filters.draw()
    try:
        return results.query_now(deck)
    except WrongSearch as error:
        st.error(say("search.wrong", why=refusal(error)))
        return None


def _choices() -> None:
    st.selectbox(
        say("search.sort"), results.SORTS, format_func=lambda one: say(f"sort.{one}"), key=results.SORT_KEY
    )
    st.checkbox(say("search.passing"), key=results.PASSING_KEY)
    st.selectbox(
        say("search.unknowns"),
        results.UNKNOWNS,
        format_func=lambda one: say(f"unknowns.{one}"),
        key=results.UNKNOWN_KEY,
    )


def _head(result: Result) -> str:
    found = say("search.found", found=count_line(len(result.passed)))
    if result.unknown:
        found += " · " + say("search.and_unknown", n=formatting.number(len(result.unknown)))
    st.markdown(f"**{found}**")
    if "view" not in st.session_state:
        given = state.parameter("view")
        st.session_state["view"] = given if given in VIEWS else VIEWS[0]
    view = st.segmented_control(
        say("search.view"),
        VIEWS,
        format_func=lambda one: say(f"view.{one}"),
        key="view",
        required=True,
        label_visibility="collapsed",
    )
    state.remember("view", None if view == VIEWS[0] else view)
    return view or VIEWS[0]


def _show(deck: Deck, flats: Sequence[Flat], view: str, key: str) -> None:
    if not flats:
        st.info(say("nothing.yet") if not deck.snapshot.flats else say("search.nothing"))
    elif view == "table":
        show_table(deck, flats, f"table-{key}")
    elif view == "map":
        chosen = show_map(deck, flats, f"map-{key}")
        show_cards(deck, chosen, f"point-{key}")
    else:
        show_cards(deck, flats, f"page-{key}")


def _foot(deck: Deck, query: SearchQuery, result: Result) -> None:
    flats = (*result.passed, *result.unknown)
    if flats:
        st.download_button(
            say("search.export"),
            data=lambda: export(deck, flats),
            file_name="sale-sofia.csv",
            mime="text/csv",
            on_click="ignore",
        )
    st.header(say("search.saved"))
    saved.show(results.to_save(query))


page()
