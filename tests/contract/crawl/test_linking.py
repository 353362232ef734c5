"""Adverts that another portal has too: which are linked when their turn comes, and which are opened."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import Connection, select, update

from contract.storage.helpers import advert
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.linking import is_sample
from sale_sofia.crawl.frontier.ranking import rank_adverts, waiting_rank
from sale_sofia.crawl.runners.site_crawl import SiteCrawl
from sale_sofia.crawl.tables import EndCode, Kin
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.crawl.urls import Target
from sale_sofia.history.jobs import create_job, get_job
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.settings import RELATIVE_SEEN_SECONDS
from sale_sofia.history.tables import listings, revisions
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.database import Database

NOW = 1_780_000_000.0
SITE, JOB = "imoti.com", "copies"
FLAT: dict[str, Any] = {
    "deal": "sale", "property_type": "apartment", "rooms": 2, "price_eur": 150_000.0, "area_sqm": 70.0,
    "city": "София", "neighbourhood": "Борово",
}  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody looks for anything, and hardly a copy is in the sample."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COPY_CHECK_EVERY", "10000")
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


@pytest.fixture
def copies(database: Database) -> Database:
    with database.write() as connection:
        create_job(connection, job_id=JOB, site=SITE, start_urls=["x"], listing_limit=None, now=NOW)
    return database


def family_id(number: int) -> str:
    return f"1b{1_700_000_000 + number}{10_000 + number}"


def seen(
    connection: Connection,
    site: str,
    number: int,
    *,
    card: bool,
    at: float = NOW,
    **other: Any,  # noqa: ANN401 - any field
) -> None:
    own = f"{20_000_000 + number}" if site == SITE else family_id(number)
    url = f"https://www.imoti.com/obiava/{own}/x" if site == SITE else f"https://www.imot.bg/obiava-{own}"
    told = {**FLAT, "site": site, "external_id": own, "url": url, "family_id": family_id(number), **other}
    save_listings(connection, [Sighting(advert(**told), at, card=card)])


def waiting(connection: Connection, *numbers: int, kin: Kin | None = Kin.WAITS) -> None:
    targets = [
        Target("listing", f"https://www.imoti.com/obiava/{20_000_000 + one}/x", f"listing:{20_000_000 + one}")
        for one in numbers
    ]
    frontier.add_targets(connection, JOB, targets, kin=kin)


def claimed(database: Database, **other: Any) -> list[int]:  # noqa: ANN401 - any of its parts
    """What a process that has just begun would visit first, by the adverts' numbers."""
    nothing = cast("Any", SimpleNamespace(ledger=SimpleNamespace(conditional=False)))
    crawl = SiteCrawl(
        job_id=JOB, owner="me", database=database, visitor=nothing, writer=nothing, concurrency=2,
        lease_seconds=60.0, clock=lambda: NOW, stop=asyncio.Event(), progress=lambda _claim: None, **other,
    )  # fmt: skip
    with database.write() as connection:
        return [int(claim.url.split("/")[-2]) - 20_000_000 for claim in crawl.lease(connection)]


def states(database: Database) -> dict[int, tuple[str, str | None]]:
    with database.read() as connection:
        found = connection.execute(select(rows.c.url_key, rows.c.state, rows.c.code))
        return {int(row[0].partition(":")[2]) - 20_000_000: (row[1], row[2]) for row in found}


def test_what_its_relative_says_too_is_not_opened(copies: Database) -> None:
    with copies.write() as connection:
        for number in range(6):
            seen(connection, SITE, number, card=True)
        waiting(connection, *range(6))
        for number in (0, 1, 4, 5):
            seen(connection, "imot.bg", number, card=False)
        seen(connection, "imot.bg", 2, card=False, price_eur=140_000.0)
        seen(connection, "imot.bg", 3, card=True)
    with copies.read() as connection:
        before = connection.execute(select(revisions.c.listing_id, revisions.c.revision)).all()
    assert claimed(copies) == [2, 3]
    linked = ("done", EndCode.LINKED)
    assert states(copies) == {n: linked if n in {0, 1, 4, 5} else ("leased", None) for n in range(6)}
    with copies.read() as connection:
        job = get_job(connection, JOB)
        assert job is not None
        assert (job.linked, job.disagreed, job.sampled) == (4, 1, 0)
        found = connection.execute(select(listings).where(listings.c.site == SITE)).mappings()
        own = {row["family_id"]: row for row in found}
        imot = select(listings.c.family_id, listings.c.id).where(listings.c.site == "imot.bg")
        relatives = {row.family_id: row.id for row in connection.execute(imot)}
        for number in range(6):
            its = own[family_id(number)]
            assert its["copy_of"] == (relatives[family_id(number)] if number in {0, 1, 4, 5} else None)
            assert its["opened_at"] is None
        after = connection.execute(select(revisions.c.listing_id, revisions.c.revision)).all()
    touched = {row[0] for row in set(after) - set(before)}
    assert touched == {own[family_id(number)]["id"] for number in (0, 1, 4, 5)}


@pytest.mark.parametrize(
    "other",
    [
        {"price_eur": 151_000.0},
        {"price_eur": None},
        {"area_sqm": 71.0},
        {"neighbourhood": "Лозенец"},
        {"rooms": 3},
        {"property_type": "studio"},
    ],
)
def test_it_is_opened_when_its_card_disagrees(copies: Database, other: dict[str, Any]) -> None:
    with copies.write() as connection:
        seen(connection, SITE, 1, card=True)
        waiting(connection, 1)
        seen(connection, "imot.bg", 1, card=False, **other)
    assert claimed(copies) == [1]


def test_what_only_one_of_them_says_is_no_disagreement(copies: Database) -> None:
    with copies.write() as connection:
        seen(connection, SITE, 1, card=True, area_sqm=None, price_eur=150_000.4)
        waiting(connection, 1)
        seen(connection, "imot.bg", 1, card=False, rooms=None, floor=3)
    assert claimed(copies) == []
    assert states(copies) == {1: ("done", EndCode.LINKED)}


def test_it_is_opened_when_its_relative_is_gone_or_was_not_seen_for_long(copies: Database) -> None:
    with copies.write() as connection:
        for number in (1, 2):
            seen(connection, SITE, number, card=True)
        waiting(connection, 1, 2)
        seen(connection, "imot.bg", 1, card=False)
        gone = update(listings).where(listings.c.external_id == family_id(1)).values(gone_at=NOW - 60)
        connection.execute(gone)
        seen(connection, "imot.bg", 2, card=False, at=NOW - RELATIVE_SEEN_SECONDS - 60)
    assert claimed(copies) == [1, 2]


def test_rows_that_do_not_wait_are_visited(copies: Database) -> None:
    """A missing advert that is looked at, one that a person asked for, one of the sample."""
    with copies.write() as connection:
        for number in (1, 2):
            seen(connection, SITE, number, card=True)
            seen(connection, "imot.bg", number, card=False)
        waiting(connection, 1, kin=Kin.SAMPLE)
        waiting(connection, 2, kin=None)
    assert claimed(copies) == [1, 2]


def test_of_those_that_wait_the_last_of_the_other_portal_come_first(copies: Database) -> None:
    with copies.write() as connection:
        for number in range(6):
            seen(connection, SITE, number, card=True)
        names = [str(20_000_000 + number) for number in range(6)]
        ranks = rank_adverts(connection, JOB, SITE, names, (), now=NOW, waiting=set(names[:4]))
    assert sorted(names, key=ranks.__getitem__) == [names[one] for one in (4, 5, 3, 2, 1, 0)]
    assert waiting_rank(1_000_007) == 1_999_992


def test_the_sample_is_always_the_same_and_of_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPY_CHECK_EVERY", "20")
    get_settings.cache_clear()
    adverts = [{"site": SITE, "external_id": str(20_000_000 + number)} for number in range(4000)]
    sample = [one["external_id"] for one in adverts if is_sample(one)]
    assert 150 <= len(sample) <= 250
    assert sample == [one["external_id"] for one in adverts if is_sample(one)]


def test_a_card_that_disagrees_is_counted_once_however_often_its_page_is_claimed(copies: Database) -> None:
    with copies.write() as connection:
        seen(connection, SITE, 0, card=True)
        waiting(connection, 0)
        seen(connection, "imot.bg", 0, card=False, price_eur=140_000.0)
    for _ in range(3):
        assert claimed(copies) == [0]
        with copies.write() as connection:
            frontier.release(connection, JOB, "me")
    with copies.read() as connection:
        job = get_job(connection, JOB)
        assert job is not None
        assert job.disagreed == 1


def test_a_card_that_disagrees_is_counted_once_beside_one_that_agrees(copies: Database) -> None:
    with copies.write() as connection:
        for number in range(2):
            seen(connection, SITE, number, card=True)
        waiting(connection, 0, 1)
        seen(connection, "imot.bg", 0, card=False)
        seen(connection, "imot.bg", 1, card=False, price_eur=140_000.0)
    assert claimed(copies) == [1]
    with copies.read() as connection:
        job = get_job(connection, JOB)
        assert job is not None
        assert (job.linked, job.disagreed) == (1, 1)
