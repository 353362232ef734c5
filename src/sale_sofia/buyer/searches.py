"""Saved searches by name. They are stored here, and validated by `advice.search.query`."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, delete, select, update

from sale_sofia.buyer.changes import What, changes_of, note_change
from sale_sofia.buyer.evaluations import By, clean_text
from sale_sofia.buyer.settings import LONGEST_SEARCH_NAME
from sale_sofia.buyer.tables import saved_searches
from sale_sofia.settings.words import Said
from sale_sofia.storage.upserts import insert_into


class UnknownSearch(ValueError):
    """There is no saved search of this name; the text says which there are."""


class SearchThere(ValueError):
    """Another search has this name."""


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search as it is stored, and when it was saved, in seconds since 1970."""

    name: str
    query: Mapping[str, Any]
    saved_at: float
    saved_by: str | None = None
    """Who saved it as it is; None: before that was recorded."""


def save_search(
    connection: Connection,
    name: str,
    query: Mapping[str, Any],
    *,
    now: float,
    replace: bool = False,
    by: str | None = None,
) -> str:
    """Save a search; the name it got. `by` is who saves it, where that is known.

    Raises:
        WrongEvaluation: the name is empty, too long or cannot be printed.
        SearchThere: another search has this name, and `replace` is off.
    """
    called = " ".join(clean_text(name, "the name of the search", LONGEST_SEARCH_NAME).split())
    values = {"query": dict(query), "saved_at": now}
    there = connection.execute(
        select(saved_searches.c.query).where(saved_searches.c.name == called).with_for_update()
    ).first()
    if there is None:
        new = insert_into(connection, saved_searches).values(name=called, **values).on_conflict_do_nothing()
        if connection.execute(new.returning(saved_searches.c.name)).first() is None:
            raise SearchThere(Said("wrong_search.saved_now", name=called))
        _note(connection, called, "made", by, now)
    elif there.query != values["query"]:
        if not replace:
            raise SearchThere(Said("wrong_search.there", name=called))
        connection.execute(update(saved_searches).where(saved_searches.c.name == called).values(**values))
        _note(connection, called, "changed", by, now)
    return called


def _note(connection: Connection, name: str, what: What, by: str | None, now: float) -> None:
    if by is not None:
        note_change(connection, "search", name, what, By(by, now))


def read_search(connection: Connection, name: str) -> SavedSearch:
    """The search of this name.

    Raises:
        UnknownSearch: there is none.
    """
    found = {search.name: search for search in list_searches(connection)}
    called = " ".join(name.split())
    if called not in found:
        there = f"there are {', '.join(found)}"
        none = "none is saved yet; `search … --save NAME` saves one"
        raise UnknownSearch(f"no saved search {name!r}; {there if found else none}")
    return found[called]


def list_searches(connection: Connection) -> list[SavedSearch]:
    """All saved searches, by name."""
    # Sorted here: servers sort texts each in an order of their own.
    rows = sorted(connection.execute(select(saved_searches)), key=attrgetter("name"))
    changes = changes_of(connection, "search")
    by = {name: change for name, change in changes.items() if change.what != "removed"}
    return [
        SavedSearch(row.name, row.query, row.saved_at, by[row.name].changed_by if row.name in by else None)
        for row in rows
    ]


def forget_search(connection: Connection, name: str, by: By | None = None) -> None:
    """Delete the search of this name; who did so is recorded.

    Raises:
        UnknownSearch: there is none.
    """
    called = read_search(connection, name).name
    connection.execute(delete(saved_searches).where(saved_searches.c.name == called))
    if by is not None:
        note_change(connection, "search", called, "removed", by)
