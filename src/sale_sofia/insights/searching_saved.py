"""Saved searches as queries: what is stored is checked again when it is used."""

from collections.abc import Iterator

from sqlalchemy import Connection

from sale_sofia.data.saved_searches import SavedSearch, list_searches, read_search
from sale_sofia.insights.searching import SearchQuery, WrongSearch


def saved_query(connection: Connection, name: str) -> SearchQuery:
    """The query of a saved search.

    Raises:
        UnknownSearch: there is none of this name.
        WrongSearch: what is stored is no query; the sentence names the search.
    """
    return _query(read_search(connection, name))


def saved_queries(connection: Connection) -> Iterator[tuple[str, SearchQuery]]:
    """All saved searches by name. Raises as `saved_query` does."""
    return ((one.name, _query(one)) for one in list_searches(connection))


def _query(one: SavedSearch) -> SearchQuery:
    try:
        return SearchQuery.of(one.query)
    except WrongSearch as error:
        raise WrongSearch(f"the saved search {one.name!r} cannot be used: {error}") from None
