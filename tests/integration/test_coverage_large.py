"""Portals as large as the real ones, with their caps: what a sweep sees, what it costs, and what it says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from large_portals import BASE_URL, large_portal
from sale_sofia.data.database import Database
from sale_sofia.data.incidents import IncidentKind, open_incidents
from sale_sofia.data.migrate import initialize_database
from sale_sofia.data.searches import Ended, learnt_rows, searches_of
from sale_sofia.data.sweeps import Sweep
from sale_sofia.simulator.portal_options import AS_REAL, PortalOptions
from site_copies import Change, changed_site
from swept_portals import SearchSweep

LARGE = {
    "homes.bg": (11_000, 100, "/api/offers?typeId=ApartmentSell&locationId=1&startIndex=0&stopIndex=99"),
    "bazar.bg": (17_500, 68, "/obiavi/prodazhba-apartamenti/sofia"),
    "imoti.net": (11_000, 30, "/bg/obiavi/r/prodava/sofia/"),
    "imot.bg": (33_500, 40, "/obiavi/prodazhbi/grad-sofiya/ednostaen?type_home=2~3~4~5~6~"),
}
"""Adverts, how many a page shows, and where a sweep begins."""
MOST_REQUESTS = 1.3
"""So many times those of listing each advert once."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path}/sweeps.db", busy_timeout_seconds=5, busy_retries=2)
    initialize_database(made)
    yield made
    made.dispose()


SMALLER = {"homes.bg": 3000, "bazar.bg": 4000, "imot.bg": 3000}
"""Enough to be capped, where the size itself proves nothing."""


def sweep_of(database: Database, site: str, options: PortalOptions = AS_REAL) -> SearchSweep:
    return SearchSweep(database, large_portal(site, LARGE[site][0], options))


def smaller(database: Database, site: str, options: PortalOptions = AS_REAL) -> SearchSweep:
    return SearchSweep(database, large_portal(site, SMALLER[site], options, originals=1000))


def run(sweep: SearchSweep) -> Sweep:
    return sweep.run([BASE_URL + LARGE[sweep.portal.site][2]])


def told(database: Database) -> list[tuple[IncidentKind, str]]:
    with database.read() as connection:
        return [(one.kind, one.message) for one in open_incidents(connection)]


@pytest.mark.parametrize("site", LARGE)
def test_nearly_all_adverts_are_seen_for_little_more_than_one_listing_of_them(
    database: Database, site: str
) -> None:
    adverts, per_page, _ = LARGE[site]
    sweep = sweep_of(database, site)
    done = run(sweep)
    assert done.adverts is not None
    assert done.adverts >= 0.98 * adverts
    assert len(sweep.asked) <= MOST_REQUESTS * -(-adverts // per_page)
    assert (done.complete, done.reason) == (True, None)
    assert told(database) == []


def whole(tables: dict[str, Any]) -> None:
    """A site file that knows no way to cut a search."""
    tables["split"] = []


def unaware(tables: dict[str, Any]) -> None:
    """One that knows of no cap either."""
    whole(tables)
    for key in ("most", "most_pages", "capped", "last_page"):
        tables["search"].pop(key, None)


CUT_OFF: dict[tuple[str, Change], str] = {
    ("homes.bg", whole): "1 000 of 11 000 seen, the portal shows 1 000 of a query",
    ("homes.bg", unaware): "1 000 of 11 000 seen, the portal shows 1 000 of a query",
    ("bazar.bg", whole): "1 768 of 17 500 seen, the portal shows 1 768 of a query",
    ("bazar.bg", unaware): "1 768 of 17 500 seen, the portal shows 1 768 of a query",
    ("imoti.net", whole): "5 970 of 11 010 seen, the portal shows 5 970 of a query",
    ("imoti.net", unaware): "1 of 200 searches failed, 5 970 seen of an unknown number",
    ("imot.bg", whole): "1 000 seen of an unknown number, the portal shows 1 000 of a query",
}


@pytest.mark.parametrize(("site", "change"), CUT_OFF, ids=[f"{site}-{how.__name__}" for site, how in CUT_OFF])
def test_a_portal_that_cannot_be_cut_is_told_as_incomplete_with_its_figures(
    database: Database, tmp_path: Path, site: str, change: Change
) -> None:
    with changed_site(tmp_path / "sites", site, change):
        done = run(sweep_of(database, site))
    assert (done.complete, done.reason) == (False, CUT_OFF[site, change])
    assert told(database) == [(IncidentKind.COVERAGE, f"{site}: {done.missing}; nothing is delisted")]


def unaware_of_caps(tables: dict[str, Any]) -> None:
    for key in ("most", "most_pages"):
        tables["search"].pop(key, None)


@pytest.mark.parametrize("site", ["homes.bg", "bazar.bg"])
def test_a_cap_that_no_file_names_is_met_once_and_known_from_then_on(
    database: Database, tmp_path: Path, site: str
) -> None:
    adverts = SMALLER[site]
    with changed_site(tmp_path / "sites", site, unaware_of_caps):
        sweep = smaller(database, site)
        first = run(sweep)
        learning, sweep.asked = len(sweep.asked), []
        second = run(sweep)
    assert [(one.adverts, one.complete) for one in (first, second)] == [(adverts, True)] * 2
    assert len(sweep.asked) < learning


def test_ids_are_asked_for_once_and_kept(database: Database) -> None:
    sweep = smaller(database, "homes.bg")
    run(sweep)
    assert sum("/api/neighbourhoods" in url for url in sweep.asked) == 1
    sweep.asked = []
    assert run(sweep).complete
    assert not any("/api/neighbourhoods" in url for url in sweep.asked)


def test_without_the_ids_a_search_is_read_as_far_as_it_goes(database: Database, tmp_path: Path) -> None:
    def no_ids(tables: dict[str, Any]) -> None:
        tables["split"][0]["ids"]["page"] = "/api/nothing-here"

    with changed_site(tmp_path / "sites", "homes.bg", no_ids):
        done = run(sweep := smaller(database, "homes.bg"))
    said = "1 000 of 3 000 seen, the portal shows 1 000 of a query"
    assert (done.complete, done.reason) == (False, said)
    assert sum("nothing-here" in url for url in sweep.asked) == 1


def test_a_filter_that_lowers_no_total_is_reported_and_not_used(database: Database) -> None:
    sweep = smaller(database, "homes.bg", PortalOptions(filters_ignored=True))
    done = run(sweep)
    said = (
        "1 000 of 3 000 seen, the portal shows 1 000 of a query; its filter neighbourhoods[] changes nothing"
    )
    assert (done.complete, done.reason) == (False, said)
    assert sum("neighbourhoods[]" in url for url in sweep.asked) <= 3
    with database.read() as connection:
        assert "useless:neighbourhoods[]" in {row["name"] for row in learnt_rows(connection, "homes.bg")}
    sweep.asked = []
    run(sweep)
    assert not any("neighbourhoods" in url for url in sweep.asked)


def test_a_total_that_does_not_follow_the_filter_is_not_believed(database: Database) -> None:
    done = run(smaller(database, "bazar.bg", PortalOptions(total_follows_filter=False)))
    assert (done.adverts, done.complete) == (4000, True)
    with database.read() as connection:
        ends = {one.ended for one in searches_of(connection, done.job_id)}
    assert ends == {Ended.SPLIT, Ended.READ}


def test_parts_that_lead_elsewhere_are_no_parts(database: Database) -> None:
    done = run(smaller(database, "imot.bg", PortalOptions(parts_redirect=True)))
    assert (done.adverts, done.complete) == (3000, True)


SITEMAPS = {
    "homes.bg": "/sitemaps/sitemap.xml",
    "imoti.net": "/sitemap/sitemapindex.xml",
    "imot.bg": "/sitemap/index.xml",
}


@pytest.mark.parametrize("site", SITEMAPS)
def test_a_portal_may_be_swept_by_its_sitemap(database: Database, site: str) -> None:
    portal = large_portal(site, 900, PortalOptions(sitemap_rows=200), originals=300)
    sweep = SearchSweep(database, portal)
    done = sweep.run([BASE_URL + SITEMAPS[site]])
    assert (done.complete, done.reason, done.adverts, done.announced) == (True, None, 900, 900)
    assert len(sweep.asked) == 6


def test_a_sitemap_that_is_being_rebuilt_says_nothing_of_what_it_lacks(database: Database) -> None:
    options = PortalOptions(sitemap_rows=200, sitemap_overlap=0.25)
    sweep = SearchSweep(database, large_portal("imot.bg", 1000, options, originals=300))
    done = sweep.run([BASE_URL + SITEMAPS["imot.bg"]])
    assert done.complete is False
    assert done.reason == "750 different adverts among 1 000 of the sitemap: it is being rebuilt"
