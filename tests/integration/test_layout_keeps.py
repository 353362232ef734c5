"""A change of layout takes nothing from what was known; an advert that really drops a value does."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

from crawls import run
from drift_days import DriftDays, Values, drift_days
from sale_sofia.history.jobs import list_jobs
from sale_sofia.history.tables import listing_changes, listings
from sale_sofia.history.timeline import HELD_FIELDS, KEPT_FIELDS

SITE = "imot.bg"


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriftDays]:
    """A portal after three sound days, the last crawled twice: nothing is left to change but its layout."""
    with drift_days(tmp_path_factory.mktemp("layout"), SITE) as days:
        days.crawl()
        days.keep()
        yield days


@pytest.fixture(autouse=True)
def as_on_the_sound_days(portal: DriftDays) -> None:
    portal.restore()


def changes(portal: DriftDays) -> list[tuple[Any, ...]]:
    columns = (listings.c.external_id, listing_changes.c.field, listing_changes.c.old, listing_changes.c.new)
    joined = select(*columns).join(listings, listings.c.id == listing_changes.c.listing_id)
    with portal.days.database.read() as connection:
        return [tuple(row) for row in connection.execute(joined.order_by(listing_changes.c.id))]


def known(portal: DriftDays) -> Values:
    """What is stored of every advert, also of one that is gone; but for when it was seen."""
    names = ("external_id", *KEPT_FIELDS, *HELD_FIELDS)
    with portal.days.database.read() as connection:
        rows = connection.execute(select(*(listings.c[name] for name in names))).mappings()
        return {row["external_id"]: dict(row) for row in rows}


def told(portal: DriftDays, *arguments: str) -> str:
    url = portal.days.database.url.render_as_string(hide_password=False)
    done = run(portal.days.settings.data_dir, *arguments, DATABASE_URL=url)
    assert done.returncode == 0, done.stderr
    return done.stdout


def health(portal: DriftDays) -> dict[str, Any]:
    [report] = json.loads(told(portal, "report", "--json"))["runs"]
    return dict(report["health"])


def test_a_change_of_layout_keeps_what_was_known(portal: DriftDays) -> None:
    before, changed, usual = known(portal), changes(portal), health(portal)
    assert usual["state"] == "healthy"
    for _ in range(2):  # on the first day nobody knows yet that it has drifted
        portal.crawl("half-template")
        assert ("drift_selector", "listing.area_sqm") in portal.findings()
        assert changes(portal) == changed
        assert known(portal) == before
        unseen = [row["unseen"] for row in portal.values().values() if row["unseen"]]
        assert {count for one in unseen for count in one.values()} == {0}, "no visit of it counts"
        with portal.days.database.read() as connection:
            assert list_jobs(connection, 1)[0].changed_listings == 0
        now = health(portal)
        assert now["state"] == "degraded"
        assert now["reasons"][0] == "the portal's pages are not read as usual: drift_selector"
    for command in ("status", "report"):
        assert f"{SITE}: open since" in told(portal, command)
    assert told(portal, "status").startswith(f"{SITE}: open since")
    fields = json.loads(told(portal, "sites", "repair", SITE, "--json"))["fields"]
    assert {name for name, proposals in fields.items() if proposals} >= {
        "area_sqm", "floor", "building", "district_heating",
    }  # fmt: skip
    portal.crawl()
    assert (known(portal), changes(portal), health(portal)) == (before, changed, usual)
    assert portal.drift() == []
    assert not any(row["unseen"] for row in portal.values().values())


def test_a_value_that_an_advert_really_drops_is_gone_after_two_sound_runs(portal: DriftDays) -> None:
    before, changed = known(portal), changes(portal)
    portal.crawl("few-adverts")
    assert (known(portal), changes(portal)) == (before, changed)
    missing = {key: set(row["unseen"]) for key, row in portal.values().items() if row["unseen"]}
    assert 0 < len(missing) < len(before) / 4
    portal.crawl("few-adverts")
    assert portal.drift() == []
    lost = [one for one in changes(portal) if one not in changed]
    assert {(key, name) for key, name, _, _ in lost} == {
        (k, name) for k, names in missing.items() for name in names
    }
    assert all(old == before[key][name] and not new for key, name, old, new in lost)
    now = known(portal)
    assert all(not now[key][name] for key, names in missing.items() for name in names)
    portal.crawl("few-adverts")
    assert [one for one in changes(portal) if one not in changed] == lost
