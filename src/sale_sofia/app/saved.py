"""Saved searches: kept by name, opened again, and what is told of them."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from sale_sofia.app import navigation, safe, state
from sale_sofia.app.sentences import refusal
from sale_sofia.app.words import say
from sale_sofia.config.evaluation import LONGEST_SEARCH_NAME
from sale_sofia.data.evaluation_fields import WrongEvaluation
from sale_sofia.data.saved_searches import SavedSearch, SearchThere, forget_search, list_searches, save_search
from sale_sofia.insights.searching import SearchQuery, WrongSearch


def show(query: Mapping[str, Any]) -> None:
    """The form that keeps this search, and all that are kept."""
    with st.form("save-search", clear_on_submit=True):
        name = st.text_input(say("saved.name"), max_chars=LONGEST_SEARCH_NAME)
        replace = st.checkbox(say("saved.replace"))
        if st.form_submit_button(say("saved.save")):
            _save(name, query, replace=replace)
    for one in state.database().run_read(list_searches):
        _show_one(one)


def _save(name: str, query: Mapping[str, Any], *, replace: bool) -> None:
    now = state.now()
    try:
        called = state.database().run_write(
            lambda connection: save_search(connection, name, query, now=now, replace=replace)
        )
    except (WrongEvaluation, SearchThere) as error:
        st.error(say("saved.wrong", why=refusal(error)))
    else:
        st.success(say("saved.done", name=safe.markdown(called)))


def _show_one(one: SavedSearch) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        params = _params(one)
        if params is None:
            st.markdown(f"{safe.markdown(one.name)}: {say('saved.broken')}")
        else:
            navigation.link("search", safe.markdown(one.name), **params)
        navigation.link("alerts", say("saved.alerts"))
        st.button(say("saved.forget"), key=f"forget-{one.name}", on_click=_forget, args=(one.name,))


def _forget(name: str) -> None:
    state.database().run_write(lambda connection: forget_search(connection, name))


def _params(one: SavedSearch) -> dict[str, Any] | None:
    """The address of a saved search; None when what is stored is no search any more."""
    try:
        query = SearchQuery.of(one.query)
    except WrongSearch:
        return None
    return {**query.to_params(), "sort": [query.sort]}
