"""The filters of a search, drawn from one table; their values stand in the page's address."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

import streamlit as st
from sqlalchemy import Connection

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.search.conditions import read_around
from sale_sofia.advice.search.query import SearchQuery, WrongSearch
from sale_sofia.advice.search.run import Judged, find_fitting, ordered
from sale_sofia.app import formatting, navigation, state
from sale_sofia.app.deck import Deck
from sale_sofia.app.formatting import refusal
from sale_sofia.app.words import named, say
from sale_sofia.buyer.evaluations import WrongEvaluation
from sale_sofia.buyer.searches import SavedSearch, SearchThere, forget_search, list_searches, save_search
from sale_sofia.buyer.settings import LONGEST_SEARCH_NAME
from sale_sofia.flats.flat import Flat
from sale_sofia.listings.dates import SOFIA as SOFIA_TIME
from sale_sofia.web.filters import FILTERS, GROUPS, Filter


def draw() -> None:
    """Draw every filter at its place at the side."""
    for group, filters in GROUPS.items():
        active = sum(_is_active(one) for one in filters)
        mark = f" ({active})" if active else ""
        with st.expander(say(f"filters.{group}") + mark, expanded=group in {"place", "price"}):
            for one in filters:
                _draw(one)


def load(query: SearchQuery) -> None:
    """Set every filter as the query says."""
    for one in FILTERS:
        st.session_state[_key(one.field)] = _to_widget(one, getattr(query, one.field))


def read() -> dict[str, Any]:
    """What the filters say, as conditions of a query."""
    return {one.field: _from_widget(one, st.session_state[_key(one.field)]) for one in FILTERS}


def _draw(one: Filter) -> None:
    label, key = say(f"filter.{one.field}"), _key(one.field)

    def name(value: object) -> str:
        return named(one.words, value) if one.words else str(value)

    match one.kind:
        case "many":
            placeholder = say("filters.any")
            st.multiselect(label, one.choices(), format_func=name, key=key, placeholder=placeholder)
        case "one":
            st.selectbox(
                label, one.choices(), format_func=name, key=key, index=None, placeholder=say("filters.any")
            )
        case "number":
            st.number_input(label, step=1, key=key, value=None, placeholder=say("filters.any"))
        case "switch":
            st.checkbox(label, key=key)
        case "words":
            st.text_input(label, key=key, help=say("filters.words_help"))
        case "date":
            st.date_input(label, key=key, value=None, format="DD.MM.YYYY")


def _key(field: str) -> str:
    return f"q.{field}"


def _is_active(one: Filter) -> bool:
    """Whether the filter asks anything that it does not ask by itself."""
    key = _key(one.field)
    default = _to_widget(one, SearchQuery.model_fields[one.field].default)
    return key in st.session_state and st.session_state[key] != default


def _to_widget(one: Filter, value: Any) -> object:  # noqa: ANN401 - a condition of any kind
    match one.kind:
        case "many":
            return list(value)
        case "number":
            return None if value is None else round(value)
        case "words":
            return ", ".join(value)
        case "date":
            return None if value is None else value.astimezone(SOFIA_TIME).date()
        case _:
            return value


def _from_widget(one: Filter, value: Any) -> object:  # noqa: ANN401 - a value of any widget
    match one.kind:
        case "many":
            return tuple(value)
        case "words":
            return tuple(word for part in str(value).split(",") if (word := part.strip()))
        case "date":
            return _midnight(value) if isinstance(value, date) else None
        case _:
            return value


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=SOFIA_TIME)


# One search of the page: from the address to the flats that were found, and back.

SORTS: Final = ("score", "newest", "price", "eur_sqm", "days")
UNKNOWNS: Final = ("apart", "ok", "no")
SORT_KEY: Final = "q.sort"
UNKNOWN_KEY: Final = "q.unknown"
PASSING_KEY: Final = "q.passing"
_WRITTEN: Final = "search.written"
_FOUND: Final = "search.found"
_SCORED_HERE: Final = {"profile": None}
"""The stored scores need not be read: the deck has scores of its own, and never old ones."""
_OWN: Final = frozenset({"profile"})
"""Fields of a query whose place in the address belongs to another control."""
Params = dict[str, list[str]]
_YES: Final = ["true"]
"""How an address says that something is asked."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a search found, in its order."""

    passed: Sequence[Flat]
    unknown: Sequence[Flat]
    """No condition fails, but not all are known to hold."""


def open_search(deck: Deck) -> None:
    """Set the filters: as the address says, where it says something; else as they were left.

    Raises:
        WrongSearch: the address asks for what cannot be. The filters are then empty.
    """
    given = _params()
    written: Params | None = st.session_state.get(_WRITTEN)
    if written is None or (given and given != written):
        _load(given, deck)
    elif SORT_KEY not in st.session_state:  # Streamlit forgets the controls of a page that was left
        _load(written, deck)


def query_now(deck: Deck) -> SearchQuery:
    """The query that the filters say.

    Raises:
        WrongSearch: they contradict each other.
    """
    sort, passing = st.session_state[SORT_KEY], st.session_state[PASSING_KEY]
    needed = passing or sort == "score"
    own = {"sort": sort, "unknown": st.session_state[UNKNOWN_KEY]}
    return SearchQuery.of({**read(), **own, "profile": deck.profile_name if needed else None})


def write_address(query: SearchQuery) -> None:
    """Put the query into the address, so that a reload or a friend finds the same."""
    wanted = {name: values for name, values in query.to_params().items() if name not in _OWN}
    wanted["sort"] = [query.sort]
    if st.session_state[PASSING_KEY]:
        wanted["passing"] = _YES
    for name in _params().keys() - wanted.keys():
        del st.query_params[name]
    for name, values in wanted.items():
        if st.query_params.get_all(name) != values:
            st.query_params[name] = values
    st.session_state[_WRITTEN] = wanted


def to_save(query: SearchQuery) -> dict[str, Any]:
    """The query as it is stored: with the profile and its conditions where they are asked, or neither."""
    if st.session_state[PASSING_KEY]:
        own: dict[str, Any] = {"passing": True}
    else:
        own = {"profile": None, "sort": _without_score(query.sort)}
    return query.model_copy(update=own).model_dump(mode="json", exclude_defaults=True)


def find(deck: Deck, query: SearchQuery) -> Result:
    """Every flat that fulfils the query; worked out once for the same flats, query and opinions."""
    passing = bool(st.session_state.get(PASSING_KEY))
    asked = (deck.ranked, query, deck.statuses, passing)
    known = st.session_state.get(_FOUND)
    if known is None or not _same(known[0], asked):
        known = (asked, _find(deck, query, passing=passing))
        st.session_state[_FOUND] = known
    result: Result = known[1]
    return result


def _same(one: Sequence[Any], two: Sequence[Any]) -> bool:
    return one[0] is two[0] and tuple(one[1:]) == tuple(two[1:])


def _find(deck: Deck, query: SearchQuery, *, passing: bool) -> Result:
    judged = state.database().run_read(lambda connection: _fitting(connection, deck, query))
    wanted = [one for one in judged if not passing or not deck.fails(one.flat)]
    sure = [one.flat for one in wanted if query.unknown == "ok" or _is_sure(deck, one, passing=passing)]
    apart = []
    if query.unknown == "apart":
        apart = [one.flat for one in wanted if not _is_sure(deck, one, passing=passing)]
    return Result(sure, apart)


def _fitting(connection: Connection, deck: Deck, query: SearchQuery) -> Sequence[Judged]:
    """Whatever no condition rules out, in the order asked for; the best first they are already."""
    around = read_around(connection, query.model_copy(update=_SCORED_HERE), now=deck.now)
    found, around = find_fitting(connection, _possible(deck.ranked.flats, query), query, around)
    fitting = found if query.unknown != "no" else [one for one in found if not one.unknown]
    return fitting if query.sort == "score" else ordered(fitting, query, around)


def _possible(flats: Sequence[Flat], query: SearchQuery) -> Iterable[Flat]:
    """Without those that plainly cannot fit, so that the conditions themselves are asked of fewer."""
    if not query.gone:
        flats = [flat for flat in flats if flat.offered]
    if (most := query.price_max) is not None:
        flats = [flat for flat in flats if flat.price_eur is None or flat.price_eur <= most]
    for name in ("deal", "property_type", "neighbourhood"):
        if wanted := getattr(query, name):
            fitting = {None, wanted} if isinstance(wanted, str) else {None, *wanted}
            flats = [flat for flat in flats if getattr(flat, name) in fitting]
    return flats


def _is_sure(deck: Deck, one: Judged, *, passing: bool) -> bool:
    score = deck.scores.get(one.flat.property_id)
    return not one.unknown and (not passing or (score is not None and score.verdict == State.PASS))


def _params() -> Params:
    """The part of the address that is about the search."""
    names = set(SearchQuery.model_fields) - _OWN
    return {name: st.query_params.get_all(name) for name in sorted(names) if name in st.query_params}


def _query_of(given: Mapping[str, Sequence[str]], deck: Deck) -> SearchQuery:
    asked = {name: values for name, values in given.items() if name != "passing"}
    return SearchQuery.from_params({**asked, "profile": [deck.profile_name]})


def _load(given: Params, deck: Deck) -> None:
    load(SearchQuery())
    st.session_state[SORT_KEY] = SORTS[0]
    st.session_state[UNKNOWN_KEY] = UNKNOWNS[0]
    st.session_state[PASSING_KEY] = given.get("passing") == _YES
    st.session_state[_WRITTEN] = given
    query = _query_of(given, deck)
    load(query)
    st.session_state[SORT_KEY] = query.sort if "sort" in given else SORTS[0]
    st.session_state[UNKNOWN_KEY] = query.unknown


def _without_score(sort: str) -> str:
    return "newest" if sort == "score" else sort


# Saved searches: kept by name, opened again, and what is told of them.


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
        st.success(say("saved.done", name=formatting.markdown(called)))


def _show_one(one: SavedSearch) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        params = _saved_params(one)
        if params is None:
            st.markdown(f"{formatting.markdown(one.name)}: {say('saved.broken')}")
        else:
            navigation.link("search", formatting.markdown(one.name), **params)
        navigation.link("alerts", say("saved.alerts"))
        st.button(say("saved.forget"), key=f"forget-{one.name}", on_click=_forget, args=(one.name,))


def _forget(name: str) -> None:
    state.database().run_write(lambda connection: forget_search(connection, name))


def _saved_params(one: SavedSearch) -> dict[str, Any] | None:
    """The address of a saved search; None when what is stored is no search any more."""
    try:
        query = SearchQuery.of(one.query)
    except WrongSearch:
        return None
    return {**query.to_params(), "sort": [query.sort]}
