from collections.abc import Iterator

import pytest

from contract.storage.helpers import database
from sale_sofia.history.pages import PageKind, PagePair, PageRecord, latest_pages, page_pairs, record_pages
from sale_sofia.storage.database import Database


def page(
    url: str, digest: str, fetched_at: float, *, site: str = "imot.bg", kind: PageKind = "listing"
) -> PageRecord:
    return PageRecord(site, url, kind, digest, "text/html", fetched_at)


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


OLD, NEWEST, TWIN = page("u1", "d1", 1.0), page("u1", "d2", 3.0), page("u1", "d4", 3.0)
OTHER, SEARCH = page("u1", "d1", 1.0, site="bazar.bg"), page("u1", "d3", 9.0, kind="search")


def test_the_newest_page_of_every_address(db: Database) -> None:
    second = page("u2", "d5", 0.5)
    with db.write() as connection:
        record_pages(connection, [NEWEST, OLD, OTHER, SEARCH, second])
    with db.read() as connection:
        assert list(latest_pages(connection)) == [OTHER, NEWEST, second]
        assert list(latest_pages(connection, "imot.bg")) == [NEWEST, second]


def test_of_two_at_the_same_moment_the_one_recorded_last(db: Database) -> None:
    with db.write() as connection:
        record_pages(connection, [NEWEST, TWIN, OLD])
        assert list(latest_pages(connection)) == [TWIN]


def test_a_page_without_a_content_type(db: Database) -> None:
    plain = PageRecord("imot.bg", "u", "listing", "d0", None, 1.0)
    with db.write() as connection:
        record_pages(connection, [plain])
        record_pages(connection, [])
        assert list(latest_pages(connection)) == [plain]


def test_more_pages_than_are_read_at_once(db: Database) -> None:
    many = [page(f"u{number:05}", f"{number:04x}", 1.0) for number in range(1700)]
    with db.write() as connection:
        record_pages(connection, many)
    with db.read() as connection:
        assert list(latest_pages(connection)) == many


def test_pairs_are_found_behind_any_number_of_new_adverts(db: Database) -> None:
    new = [page(f"new{number}", "99", 9.0) for number in range(5)]
    changed = [
        (page(url, "bb", 1.0), page(url, "aa", at)) for url, at in (("u1", 6.0), ("u2", 7.0), ("u3", 8.0))
    ]
    with db.write() as connection:
        record_pages(connection, [*new, *(one for pair in changed for one in pair)])
        found = page_pairs(connection, "imot.bg", 5.0, 2)
    assert found == [PagePair(*changed[2]), PagePair(*changed[1])]
