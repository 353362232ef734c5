"""One search of the page: from the address to the flats that were found, and back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st
from sqlalchemy import Connection

from sale_sofia.app import filters, state
from sale_sofia.app.deck import Deck
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.judging import State
from sale_sofia.insights.searching import SearchQuery
from sale_sofia.insights.searching_around import read_around
from sale_sofia.insights.searching_run import Judged, find_fitting, ordered

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
    return SearchQuery.of({**filters.read(), **own, "profile": deck.profile_name if needed else None})


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
    filters.load(SearchQuery())
    st.session_state[SORT_KEY] = SORTS[0]
    st.session_state[UNKNOWN_KEY] = UNKNOWNS[0]
    st.session_state[PASSING_KEY] = given.get("passing") == _YES
    st.session_state[_WRITTEN] = given
    query = _query_of(given, deck)
    filters.load(query)
    st.session_state[SORT_KEY] = query.sort if "sort" in given else SORTS[0]
    st.session_state[UNKNOWN_KEY] = query.unknown


def _without_score(sort: str) -> str:
    return "newest" if sort == "score" else sort
