"""Saved searches as queries: what is stored is checked again when it is used."""

from sqlalchemy import Connection

from sale_sofia.data.saved_searches import read_search
from sale_sofia.insights.searching import SearchQuery, WrongSearch


def saved_query(connection: Connection, name: str) -> SearchQuery:
    """The query of a saved search.

    Raises:
        UnknownSearch: there is none of this name.
        WrongSearch: what is stored is no query; the sentence names the search.
    """
    one = read_search(connection, name)
    try:
        return SearchQuery.of(one.query)
    except WrongSearch as error:
        raise WrongSearch(f"the saved search {one.name!r} cannot be used: {error}") from None
