"""Site files that read their portal wrongly, each as one really did: the first run finds it and names it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from large_portals import BASE_URL, large_portal
from ready_files import put_ready_file
from sale_sofia.crawl.frontier import searches
from sale_sofia.crawl.frontier.jobs import known_job, report
from sale_sofia.history.changes import happenings
from sale_sofia.history.runs.facts import read_run
from sale_sofia.history.runs.health import Health, judge
from sale_sofia.history.sweeps import Sweep
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import open_incidents
from sale_sofia_simulator.portal import AS_REAL, PortalOptions
from site_copies import Change, changed_site
from swept_portals import SearchSweep

Tables = dict[str, Any]


class Portal(NamedTuple):
    """A portal, how large it is, how its searches behave, where a crawl of it begins."""

    site: str
    adverts: int
    start: str
    options: PortalOptions = AS_REAL
    forbidden: str | None = None


ALO = Portal("alo.bg", 30, "/obiavi/imoti-prodajbi/apartamenti-stai/?region_id=22&location_ids=4342")
IMOTI_NET = Portal("imoti.net", 35, "/bg/obiavi/r/prodava/sofia/")
IMOTI_COM = Portal("imoti.com", 25, "/prodazhbi/grad-sofiya")
HOMES = Portal(
    "homes.bg",
    150,
    "/api/offers?typeId=ApartmentSell&locationId=1&startIndex=0&stopIndex=99",
    PortalOptions(most_results=100),
)
BAZAR = Portal("bazar.bg", 100, "/obiavi/prodazhba-apartamenti/sofia", PortalOptions(most_results=68))
IMOT = Portal(
    "imot.bg",
    250,
    "/obiavi/prodazhbi/grad-sofiya/ednostaen?type_home=2~3~4~5~6~",
    PortalOptions(most_results=200),
)
OLX = Portal(
    "olx.bg",
    60,
    "/api/v1/offers/?offset=0&limit=40&category_id=524&region_id=306&city_id=8771",
    forbidden="/api/",
)


LEAST_CAP = 60
"""A search that ends early after so many is capped; five hundred in earnest, too many to open each here."""


@dataclass
class FirstRun:
    """What the first run of a portal says."""

    sweep: Sweep
    health: Health
    incidents: dict[str, str]
    new: int
    gone: int
    notes: list[str]


@pytest.fixture(autouse=True)
def small_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "CAP_LEAST_ADVERTS", LEAST_CAP)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    put_ready_file(tmp_path / "runs.db")
    made = Database(f"sqlite:///{tmp_path}/runs.db", busy_timeout_seconds=5, busy_retries=2)
    yield made
    made.dispose()


def first_run(database: Database, portal: Portal) -> FirstRun:
    made = large_portal(portal.site, portal.adverts, portal.options, originals=300)
    crawl = SearchSweep(database, made, forbidden=portal.forbidden)
    sweep = crawl.run([BASE_URL + portal.start], adverts=True)
    with database.read() as connection:
        told = list(happenings(connection, 0.0))
        return FirstRun(
            sweep,
            judge(read_run(connection, crawl.job_id, now=crawl.now), None, get_settings()),
            {one.kind.value: one.message for one in open_incidents(connection)},
            new=sum(one.kind == "new" for one in told),
            gone=sum(one.kind == "gone" for one in told),
            notes=list(report(connection, known_job(connection, crawl.job_id)).notes),
        )


@pytest.mark.parametrize("portal", [ALO, IMOTI_NET, IMOTI_COM, HOMES, BAZAR, IMOT], ids=lambda one: one.site)
def test_the_files_as_they_are_find_nothing_wrong(database: Database, portal: Portal) -> None:
    found = first_run(database, portal)
    assert (found.health.reasons, found.incidents) == ([], {})
    assert (found.sweep.complete, found.new) == (True, portal.adverts)


def label_cells(tables: Tables) -> None:
    """1: the first cell of a row is its label."""
    tables["listing"]["rows"]["params"]["value"] = ".ads-params-cell"


def old_places(tables: Tables) -> None:
    """2: where nothing stands."""
    fields = tables["listing"]["fields"]
    fields["price"] = {"from": [{"css": "#js-ad-container strong.price"}], "parse": "price"}
    fields["area_sqm"] = {"from": [{"css": "#js-ad-container h1 > span"}], "parse": "area"}


def one_level_up(tables: Tables) -> None:
    """3: the advert stands one level deeper."""
    written = json.dumps(tables["listing"], ensure_ascii=False)
    tables["listing"] = json.loads(written.replace(".data.advert.", ".data."))


def no_cap(tables: Tables) -> None:
    """4: the portal shows a part of what it counts, and the file does not know."""
    tables["search"].pop("most", None)
    tables["split"] = []


def no_such_part(tables: Tables) -> None:
    """6: a part that the portal does not have."""
    types = ["ednostaen", "dvustaen-x", "tristaen", "chetiristaen", "mnogostaen", "mezonet"]
    tables["split"][0]["path"] |= {"neighbourhoods": False, "types": types}


def no_other_start(tables: Tables) -> None:
    """7: robots.txt forbids the interface, and there is no other way in."""
    tables["other_starts"] = []


FAULTS: list[tuple[Change, Portal, str, str]] = [
    (label_cells, ALO, "drift_floor", "price on 0 of 30 opened adverts"),
    (old_places, IMOTI_NET, "drift_floor", "price on 0 of 35 opened adverts"),
    (no_cap, HOMES, "coverage", "homes.bg: 100 of 150 seen, the portal shows 100 of a query"),
    (no_cap, BAZAR, "coverage", "bazar.bg: 68 of 100 seen, the portal shows 68 of a query"),
    (no_such_part, IMOT, "coverage", "the 6 parts of"),
]


@pytest.mark.parametrize(
    ("change", "portal", "kind", "said"), FAULTS, ids=[f"{one[1].site}-{one[0].__name__}" for one in FAULTS]
)
def test_each_fault_is_found_by_the_first_run(
    database: Database, tmp_path: Path, change: Change, portal: Portal, kind: str, said: str
) -> None:
    with changed_site(tmp_path / "sites", portal.site, change):
        found = first_run(database, portal)
    assert found.health.reasons
    assert said in found.incidents[kind]
    assert (found.sweep.complete, found.new, found.gone) == (False, 0, 0)


def test_adverts_that_cannot_be_read_make_a_run_unhealthy(database: Database, tmp_path: Path) -> None:
    with changed_site(tmp_path / "sites", IMOTI_COM.site, one_level_up):
        found = first_run(database, IMOTI_COM)
    assert any("of the pages failed" in reason for reason in found.health.reasons)
    # Their cards could be read: they are there, and none of them is opened.
    assert (found.new, found.gone, found.sweep.stored) == (found.sweep.adverts, 0, 0)


def test_a_start_that_robots_forbids_is_replaced_by_the_next(database: Database) -> None:
    found = first_run(database, OLX)
    assert (found.sweep.complete, found.sweep.adverts) == (True, 60)
    assert found.incidents == {}
    start = BASE_URL + OLX.start
    assert found.notes == [f"robots.txt forbids {start}, another start was taken"]


def test_without_another_start_nothing_is_read_and_that_is_said(database: Database, tmp_path: Path) -> None:
    with changed_site(tmp_path / "sites", OLX.site, no_other_start):
        found = first_run(database, OLX)
    assert "no advert could be read" in found.health.reasons
    assert (found.sweep.complete, found.sweep.reason) == (False, "1 of 1 searches failed")
    assert found.new == 0
