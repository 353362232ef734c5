"""Pages that could not be read: listed with their archived bytes, and read again by a better reader."""

import time
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from app_runs import store
from sale_sofia.crawl.fetch.archive import PageArchive
from sale_sofia.crawl.reparse import reparse, reparse_pages
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.history.pages import (
    PageRecord,
    archived_page,
    count_failed_pages,
    failed_page,
    failed_pages,
    record_pages,
)
from sale_sofia.history.tables import listings
from sale_sofia.websites.registry import UnknownSite
from sale_sofia_simulator.render import RenderedPage, render_world
from sale_sofia_simulator.world import make_world

NOW = time.time()


def a_listing() -> RenderedPage:
    return next(page for page in render_world(make_world(2, 5)) if page.truth["kind"] == "listing")


def put_failed(connection: Connection, job: str, url: str, at: float) -> None:
    made = {"id": job, "site": "imot.bg", "state": "COMPLETE", "start_urls": [], "created_at": at}
    connection.execute(insert(jobs).values(made))
    row = {
        "kind": "listing",
        "url": url,
        "url_key": url[:400],
        "state": "failed",
        "code": "ParseSelector",
        "reason": "no price",
    }
    connection.execute(insert(frontier).values(job_id=job, **row))


def test_the_newest_come_first_each_with_what_was_kept_of_it(tmp_path: Path) -> None:
    database, archive, page = store(tmp_path), PageArchive(tmp_path / "archive", 10**9), a_listing()
    digest = archive.put(page.body)
    with database.write() as connection:
        put_failed(connection, "old", "https://www.imot.bg/a", NOW - 100)
        put_failed(connection, "new", page.url, NOW)
        kept = PageRecord(page.site, page.url, "listing", digest, "text/html; charset=windows-1251", NOW)
        record_pages(connection, [kept])
    with database.read() as connection:
        first, second = failed_pages(connection, limit=10)
        assert (first.job_id, first.code, first.reason, second.url) == (
            "new",
            "ParseSelector",
            "no price",
            "https://www.imot.bg/a",
        )
        assert archived_page(connection, first) == kept
        assert archived_page(connection, second) is None
        assert (first.archived, second.archived) == (True, False)
        assert failed_page(connection, first.row_id) == first
        assert failed_page(connection, 999) is None
        assert [one.job_id for one in failed_pages(connection, limit=1)] == ["new"]
        assert count_failed_pages(connection) == 2
        assert failed_pages(connection, limit=10, site="bazar.bg") == []
    done = reparse_pages(database, archive, [kept])
    assert (done.pages, done.changed, done.failed, done.missing) == (1, 1, 0, 0)
    with database.read() as connection:
        stored = connection.scalars(select(listings.c.external_id)).all()
    assert stored == [page.truth["external_id"]]


def test_a_page_that_is_gone_from_the_archive_is_counted_so(tmp_path: Path) -> None:
    gone = PageRecord("imot.bg", "https://www.imot.bg/a", "listing", "0" * 64, None, NOW)
    done = reparse_pages(store(tmp_path), PageArchive(tmp_path / "archive", 10**9), [gone])
    assert (done.pages, done.changed, done.missing) == (1, 0, 1)


def test_a_portal_that_has_no_file_any_more_does_not_keep_the_others_from_being_read(tmp_path: Path) -> None:
    database, archive, page = store(tmp_path), PageArchive(tmp_path / "archive", 10**9), a_listing()
    digest = archive.put(page.body)
    with database.write() as connection:
        gone = PageRecord("flats.example", "https://flats.example/1", "listing", digest, None, NOW)
        record_pages(connection, [gone, PageRecord(page.site, page.url, "listing", digest, None, NOW)])
    done = reparse(database, archive, site=None, batch=10, progress=lambda _: None)
    assert (done.pages, done.changed, done.failed, done.missing) == (2, 1, 1, 0)
    with pytest.raises(UnknownSite, match=r"^no site 'flats.example'; allowed: alo\.bg, "):
        reparse(database, archive, site="flats.example", batch=10, progress=lambda _: None)
