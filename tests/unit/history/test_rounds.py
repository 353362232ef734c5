"""Incidents found by looking round: portals not crawled, little disk, circuits open for long."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.storage.helpers import ready_database
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import JobState, create_job, set_job_state
from sale_sofia.history.runs.incidents import free_mb, look_round
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import open_incidents
from sale_sofia.telemetry.metrics import MetricsCollector, MetricsFlusher

HOUR = 3600.0
NOW = 1_790_000_000.0


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    opened = ready_database(tmp_path / "x.db")
    yield opened
    opened.dispose()


def job(db: Database, name: str, site: str, state: JobState, at: float) -> None:
    with db.write() as connection:
        create_job(connection, job_id=name, site=site, start_urls=["u"], listing_limit=None, now=at)
        set_job_state(connection, name, JobState.PROCESSING, now=at)
        connection.execute(jobs.update().where(jobs.c.id == name).values(runner="celery"))
        if state.finished:
            set_job_state(connection, name, state, now=at)


def found(db: Database, settings: Settings, now: float = NOW) -> dict[str, str]:
    """The open incidents after a look, by kind and place."""
    with db.write() as connection:
        look_round(connection, settings, now=now)
        return {f"{one.kind} {one.site}": one.message for one in open_incidents(connection)}


def test_a_portal_that_was_not_crawled_for_26_hours(db: Database, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, min_free_disk_mb=0)
    job(db, "a", "imot.bg", JobState.COMPLETE, NOW - 25.9 * HOUR)
    job(db, "b", "bazar.bg", JobState.COMPLETE, NOW - 26 * HOUR)
    job(db, "c", "alo.bg", JobState.FAILED, NOW - 99 * HOUR)
    assert list(found(db, settings)) == ["no_crawl bazar.bg"], "alo.bg was never crawled whole"
    assert found(db, settings)["no_crawl bazar.bg"].startswith("the last complete crawl ended on 20.09.2026")
    assert set(found(db, settings, NOW + HOUR)) == {"no_crawl bazar.bg", "no_crawl imot.bg"}
    job(db, "d", "imot.bg", JobState.PROCESSING, NOW + HOUR)
    job(db, "e", "bazar.bg", JobState.COMPLETE, NOW + HOUR)
    assert found(db, settings, NOW + HOUR) == {}, "one is crawled now, the other was"


def test_little_space_on_the_disk(db: Database, tmp_path: Path) -> None:
    much = Settings(data_dir=tmp_path / "not" / "yet", min_free_disk_mb=1_000_000)
    assert (free_mb(tmp_path) or 0) < 1_000_000
    assert list(found(db, much)) == ["disk_low sale-sofia"]
    assert "at least 1000000 MB are wanted" in found(db, much)["disk_low sale-sofia"]
    assert found(db, Settings(data_dir=tmp_path, min_free_disk_mb=0)) == {}


def test_a_circuit_that_is_open_for_more_than_a_quarter_of_an_hour(db: Database, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, min_free_disk_mb=0)
    job(db, "a", "imot.bg", JobState.PROCESSING, NOW - HOUR)
    moment = NOW - 1000
    collector = MetricsCollector("a", clock=lambda: moment)
    flusher = MetricsFlusher(db, collector)
    collector.circuit_open("imot.bg", 950.0)
    moment = NOW - 101
    flusher.flush()
    assert found(db, settings) == {}
    moment = NOW - 100
    flusher.flush()
    assert found(db, settings) == {"circuit_open_long imot.bg": "the circuit was open for 900 seconds"}


def test_moments_from_the_future_are_an_incident_until_the_clock_has_caught_up(
    db: Database, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, min_free_disk_mb=0)
    job(db, "ahead", "imot.bg", JobState.COMPLETE, NOW + 24 * HOUR)
    assert found(db, settings) == {
        "clock_ahead sale-sofia": "jobs of the database are up to 24.0 hours ahead of the clock"
    }
    assert found(db, settings, NOW + 24 * HOUR) == {}
