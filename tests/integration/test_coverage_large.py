"""Portals that show a part of what they have: what a sweep sees, what it costs, and what it says."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from large_portals import BASE_URL, answer_to, large_portal
from ready_files import put_ready_file
from sale_sofia.crawl.frontier import searches
from sale_sofia.history.sweeps import Ended, Sweep, learnt_rows, searches_of
from sale_sofia.listings.places import neighbourhoods
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.portal import AS_REAL, Portal, PortalOptions
from site_copies import Change, changed_site
from swept_portals import SearchSweep

STARTS = {
    "homes.bg": "/api/offers?typeId=ApartmentSell&locationId=1&startIndex=0&stopIndex=99",
    "bazar.bg": "/obiavi/prodazhba-apartamenti/sofia",
    "imoti.net": "/bg/obiavi/r/prodava/sofia/",
    "imot.bg": "/obiavi/prodazhbi/grad-sofiya/ednostaen?type_home=2~3~4~5~6~",
}
"""Where a sweep begins."""
PER_PAGE = {"homes.bg": 100, "bazar.bg": 68, "imoti.net": 30, "imot.bg": 40}
MANY = {
    "homes.bg": (5000, 500),
    "bazar.bg": (2000, 340),
    "imoti.net": (3000, 1500),
    "imot.bg": (800, 80),
}
"""Adverts, and how many a search shows: both several times fewer than with the real portals."""
SMALL = {"homes.bg": (500, 200), "bazar.bg": (500, 204), "imot.bg": (400, 200)}
"""Enough to be capped, where the size itself proves nothing."""
MOST_REQUESTS = 1.25
"""So many times those of listing each advert once."""
ORIGINALS = 500
LEAST_CAP = 100
"""A small search that ends early after so many is capped; five hundred in earnest."""
Sizes = tuple[int, int | None]
"""Adverts, and how many a search shows; by default as many as with the real portal."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    put_ready_file(tmp_path / "sweeps.db")
    made = Database(f"sqlite:///{tmp_path}/sweeps.db", busy_timeout_seconds=5, busy_retries=2)
    yield made
    made.dispose()


def sweep_of(database: Database, site: str, sizes: Sizes, options: PortalOptions = AS_REAL) -> SearchSweep:
    adverts, most = sizes
    options = replace(options, most_results=most)
    return SearchSweep(database, large_portal(site, adverts, options, originals=ORIGINALS))


@pytest.fixture
def small_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "CAP_LEAST_ADVERTS", LEAST_CAP)


def small(database: Database, site: str, options: PortalOptions = AS_REAL) -> SearchSweep:
    return sweep_of(database, site, SMALL[site], options)


@contextmanager
def told_cap(folder: Path, site: str, most: int | None, change: Change = lambda _: None) -> Iterator[None]:
    """Inside, the site's file names this cap where it names the real one, and is as `change` leaves it."""

    def tell(tables: dict[str, Any]) -> None:
        if most is not None:
            caps = {"most": most, "most_pages": most // PER_PAGE[site]}
            tables["search"] |= {name: caps[name] for name in caps.keys() & tables["search"].keys()}
        change(tables)

    with changed_site(folder / "sites", site, tell):
        yield


def run(sweep: SearchSweep) -> Sweep:
    return sweep.run([BASE_URL + STARTS[sweep.portal.site]])


def told(database: Database) -> list[tuple[IncidentKind, str]]:
    with database.read() as connection:
        return [(one.kind, one.message) for one in open_incidents(connection)]


@pytest.mark.parametrize("site", MANY)
def test_nearly_all_adverts_are_seen_for_little_more_than_one_listing_of_them(
    database: Database, tmp_path: Path, site: str
) -> None:
    adverts, most = MANY[site]
    sweep = sweep_of(database, site, MANY[site])
    with told_cap(tmp_path, site, most):
        done = run(sweep)
    assert done.adverts is not None
    assert done.adverts >= 0.98 * adverts
    assert len(sweep.asked) <= MOST_REQUESTS * pages_of_one_listing(sweep.portal)
    assert (done.complete, done.reason) == (True, None)
    assert told(database) == []


def pages_of_one_listing(portal: Portal[Any]) -> int:
    """With imot.bg each neighbourhood has pages of its own, one where nothing stands there."""
    parts = [one.slug for one in neighbourhoods()] if portal.site == "imot.bg" else [None]
    adverts = (portal.stock.advert(number) for number in range(len(portal.stock)))
    counts = Counter(one.home.place.slug if len(parts) > 1 else None for one in adverts)
    return sum(max(1, -(-counts[part] // PER_PAGE[portal.site])) for part in parts)


def whole(tables: dict[str, Any]) -> None:
    """A site file that knows no way to cut a search."""
    tables["split"] = []


def unaware(tables: dict[str, Any]) -> None:
    """One that knows of no cap either."""
    whole(tables)
    for key in ("most", "most_pages", "capped", "last_page"):
        tables["search"].pop(key, None)


UNCUT: dict[str, Sizes] = {
    "homes.bg": (3000, None),
    "bazar.bg": (3000, None),
    "imoti.net": (1200, 600),
    "imot.bg": (3000, None),
}
CUT_OFF: dict[tuple[str, Change], str] = {
    ("homes.bg", whole): "1 000 of 3 000 seen, the portal shows 1 000 of a query",
    ("homes.bg", unaware): "1 000 of 3 000 seen, the portal shows 1 000 of a query",
    ("bazar.bg", whole): "1 768 of 3 000 seen, the portal shows 1 768 of a query",
    ("imoti.net", whole): "600 of 1 200 seen, the portal shows 600 of a query",
    ("imoti.net", unaware): "1 of 21 searches failed, 600 seen of an unknown number",
    ("imot.bg", whole): "1 000 seen of an unknown number, the portal shows 1 000 of a query",
}


@pytest.mark.parametrize(("site", "change"), CUT_OFF, ids=[f"{site}-{how.__name__}" for site, how in CUT_OFF])
def test_a_portal_that_cannot_be_cut_is_told_as_incomplete_with_its_figures(
    database: Database, tmp_path: Path, site: str, change: Change
) -> None:
    with told_cap(tmp_path, site, UNCUT[site][1], change):
        done = run(sweep_of(database, site, UNCUT[site]))
    assert (done.complete, done.reason) == (False, CUT_OFF[site, change])
    assert told(database) == [(IncidentKind.COVERAGE, f"{site}: {done.missing}; nothing is delisted")]


def test_the_last_page_of_imoti_net_that_its_file_names_is_the_last_there_is() -> None:
    portal = large_portal("imoti.net", 11_000, originals=ORIGINALS)
    table = get_scraper("imoti.net").config.search
    assert table is not None
    assert table.most_pages is not None
    pages = [f"{BASE_URL}{STARTS['imoti.net']}?page={table.most_pages + more}" for more in (0, 1)]
    assert [answer_to(portal, page).status for page in pages] == [200, 403]


def unaware_of_caps(tables: dict[str, Any]) -> None:
    for key in ("most", "most_pages"):
        tables["search"].pop(key, None)


@pytest.mark.usefixtures("small_caps")
@pytest.mark.parametrize("site", ["homes.bg", "bazar.bg"])
def test_a_cap_that_no_file_names_is_met_once_and_known_from_then_on(
    database: Database, tmp_path: Path, site: str
) -> None:
    adverts, most = SMALL[site]
    with told_cap(tmp_path, site, most, unaware_of_caps):
        sweep = small(database, site)
        first = run(sweep)
        learning, sweep.asked = len(sweep.asked), []
        second = run(sweep)
    assert [(one.adverts, one.complete) for one in (first, second)] == [(adverts, True)] * 2
    assert len(sweep.asked) < learning


@pytest.mark.usefixtures("small_caps")
def test_ids_are_asked_for_once_and_kept(database: Database, tmp_path: Path) -> None:
    with told_cap(tmp_path, "homes.bg", SMALL["homes.bg"][1]):
        sweep = small(database, "homes.bg")
        run(sweep)
        assert sum("/api/neighbourhoods" in url for url in sweep.asked) == 1
        sweep.asked = []
        assert run(sweep).complete
    assert not any("/api/neighbourhoods" in url for url in sweep.asked)


@pytest.mark.usefixtures("small_caps")
def test_without_the_ids_a_search_is_read_as_far_as_it_goes(database: Database, tmp_path: Path) -> None:
    def no_ids(tables: dict[str, Any]) -> None:
        tables["split"][0]["ids"]["page"] = "/api/nothing-here"

    with told_cap(tmp_path, "homes.bg", SMALL["homes.bg"][1], no_ids):
        done = run(sweep := small(database, "homes.bg"))
    said = "200 of 500 seen, the portal shows 200 of a query"
    assert (done.complete, done.reason) == (False, said)
    assert sum("nothing-here" in url for url in sweep.asked) == 1


@pytest.mark.usefixtures("small_caps")
def test_a_filter_that_lowers_no_total_is_reported_and_not_used(database: Database) -> None:
    sweep = small(database, "homes.bg", PortalOptions(filters_ignored=True))
    done = run(sweep)
    said = "200 of 500 seen, the portal shows 200 of a query; its filter neighbourhoods[] changes nothing"
    assert (done.complete, done.reason) == (False, said)
    assert sum("neighbourhoods[]" in url for url in sweep.asked) <= 3
    with database.read() as connection:
        assert "useless:neighbourhoods[]" in {row["name"] for row in learnt_rows(connection, "homes.bg")}
    sweep.asked = []
    run(sweep)
    assert not any("neighbourhoods" in url for url in sweep.asked)


@pytest.mark.usefixtures("small_caps")
def test_a_total_that_does_not_follow_the_filter_is_not_believed(database: Database, tmp_path: Path) -> None:
    with told_cap(tmp_path, "bazar.bg", SMALL["bazar.bg"][1]):
        done = run(small(database, "bazar.bg", PortalOptions(total_follows_filter=False)))
    assert (done.adverts, done.complete) == (SMALL["bazar.bg"][0], True)
    with database.read() as connection:
        ends = {one.ended for one in searches_of(connection, done.job_id)}
    assert ends == {Ended.SPLIT, Ended.READ}


@pytest.mark.usefixtures("small_caps")
def test_parts_that_lead_elsewhere_are_no_parts(database: Database) -> None:
    done = run(small(database, "imot.bg", PortalOptions(parts_redirect=True)))
    assert (done.adverts, done.complete) == (SMALL["imot.bg"][0], True)


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
