"""Searches kept by name."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from contract.storage.helpers import database
from contract.storage.many_threads import in_threads
from sale_sofia.buyer.changes import changes_of, latest_changes
from sale_sofia.buyer.evaluations import By, WrongEvaluation
from sale_sofia.buyer.searches import (
    SavedSearch,
    SearchThere,
    UnknownSearch,
    forget_search,
    list_searches,
    read_search,
    save_search,
)
from sale_sofia.storage.database import Database


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def test_a_search_is_saved_read_replaced_and_forgotten(db: Database) -> None:
    with db.write() as connection:
        assert save_search(connection, "  за  нас ", {"price_max": 1}, now=5.0) == "за нас"
        save_search(connection, "за нас", {"price_max": 1}, now=6.0)
        assert list_searches(connection) == [SavedSearch("за нас", {"price_max": 1}, 5.0)]
        with pytest.raises(SearchThere, match="there is another search 'за нас'; replace it with --replace"):
            save_search(connection, "за нас", {"price_max": 2}, now=7.0)
        save_search(connection, "за нас", {"price_max": 2}, now=8.0, replace=True)
        save_search(connection, "а", {}, now=9.0)
        assert read_search(connection, " за нас") == SavedSearch("за нас", {"price_max": 2}, 8.0)
        assert [one.name for one in list_searches(connection)] == ["а", "за нас"]
        forget_search(connection, "за нас")
        with pytest.raises(UnknownSearch, match="no saved search 'за нас'; there are а"):
            forget_search(connection, "за нас")
        forget_search(connection, "а")
        with pytest.raises(UnknownSearch, match="none is saved yet"):
            read_search(connection, "а")


def test_searches_are_listed_in_one_order_whatever_the_server_sorts_by(db: Database) -> None:
    with db.write() as connection:
        if connection.dialect.name == "postgresql":  # as most servers sort
            connection.exec_driver_sql(
                'ALTER TABLE saved_searches ALTER COLUMN name TYPE varchar(200) COLLATE "en-x-icu"'
            )
        for name in ("б", "в-1", "В 2", "Б"):
            save_search(connection, name, {}, now=1.0)
        assert [one.name for one in list_searches(connection)] == ["Б", "В 2", "б", "в-1"]


def test_who_saved_it_as_it_is_and_who_forgot_it_is_kept(db: Database) -> None:
    def saved() -> list[str | None]:
        return [one.saved_by for one in db.run_read(list_searches)]

    with db.write() as connection:
        save_search(connection, "а", {}, now=1.0, by="Ана")
        save_search(connection, "а", {}, now=2.0, by="Борис")  # it was so already
        save_search(connection, "б", {}, now=3.0)
    assert saved() == ["Ана", None]
    with db.write() as connection:
        save_search(connection, "а", {"rooms": [3]}, now=4.0, replace=True, by="Борис")
        forget_search(connection, "б", By("Ана", 5.0))
        save_search(connection, "б", {}, now=6.0)
    assert saved() == ["Борис", None], "who forgot one has not saved the next of its name"
    found = db.run_read(partial(latest_changes, limit=2))
    assert [(one.name, one.what, one.changed_by, one.changed_at) for one in found] == [
        ("б", "removed", "Ана", 5.0),
        ("а", "changed", "Борис", 4.0),
    ]
    assert {name: one.what for name, one in db.run_read(partial(changes_of, about="search")).items()} == {
        "а": "changed",
        "б": "removed",
    }


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (" ", "the name of the search is empty"),
        ("x" * 61, "the name of the search has 61 characters; allowed are 60"),
        ("a\x1b[2J", "the name of the search holds characters that cannot be printed"),
    ],
)
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str, sentence: str) -> None:
    made = database(tmp_path / "x.db")
    made.prepare()
    with made.write() as connection, pytest.raises(WrongEvaluation) as refused:
        save_search(connection, name, {}, now=1.0)
    made.dispose()
    assert str(refused.value).startswith(sentence)


def test_of_several_who_save_at_once_one_is_first(db: Database) -> None:
    def save(number: int) -> bool:
        try:
            db.run_write(partial(save_search, name="една", query={"price_max": number}, now=1.0))
        except SearchThere:
            return False
        return True

    saved = in_threads(save, 4)
    assert sorted(saved) == [False, False, False, True]
    with db.read() as connection:
        assert read_search(connection, "една").query == {"price_max": saved.index(True)}
