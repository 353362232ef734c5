"""What metrics are made of: sums over all runs that only grow, and what the database says now."""

from collections.abc import Iterator

import pytest
from sqlalchemy import event, insert, update

from contract.storage.helpers import advert, database
from sale_sofia.history.jobs import JobState
from sale_sofia.history.listings import save_listing
from sale_sofia.history.tables import listings, scopes, sweeps
from sale_sofia.operations import metrics
from sale_sofia.operations.metrics import RunTotals, figure_families, run_families, stored_families
from sale_sofia.operations.settings import SETTLED_SECONDS
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, close_incident, open_incident
from sale_sofia.telemetry.metrics import MetricsCollector, MetricsFlusher
from unit.telemetry.monitoring_workers import make_run

ENDED = 1100.0
"""When a run of `make_run` has ended."""


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def count(db: Database, job_id: str, verdict: str = "ok", *, seconds: float = 0.5, times: int = 1) -> None:
    flusher = MetricsFlusher(db, MetricsCollector(job_id, clock=lambda: 1000.0))
    for _ in range(times):
        flusher.collector.answered("imot.bg", verdict, 100, seconds)  # type: ignore[arg-type]
    flusher.flush()


def requests(totals: RunTotals, db: Database, now: float) -> dict[str, int]:
    found = db.run_read(lambda connection: totals.read(connection, now=now))
    return found["imot.bg"].counted.verdicts if found else {}


def test_sums_only_grow_and_late_counts_are_not_missed(db: Database) -> None:
    totals, later = RunTotals(), ENDED + SETTLED_SECONDS
    assert requests(totals, db, later) == {}
    make_run(db, "old")
    make_run(db, "open", state=None)
    count(db, "old", times=3)
    count(db, "open")
    assert requests(totals, db, later - 1) == {"ok": 4}
    count(db, "old")  # a lane that ended after its job
    assert requests(totals, db, later) == {"ok": 5}
    count(db, "open", "blocked", times=2)
    make_run(db, "new")  # its clock may be behind ours: it ended long ago
    count(db, "new", times=10)
    for _ in range(2):
        assert requests(totals, db, later + 1) == {"ok": 15, "blocked": 2}
    assert requests(RunTotals(), db, later) == {"ok": 15, "blocked": 2}


@pytest.mark.slow
def test_runs_of_long_ago_are_read_once(db: Database) -> None:
    for number in range(3):
        make_run(db, f"old{number}")
        count(db, f"old{number}")
    totals, later = RunTotals(), ENDED + SETTLED_SECONDS
    requests(totals, db, later)
    with db.read() as connection:
        statements: list[str] = []
        event.listen(connection, "before_cursor_execute", lambda *given: statements.append(given[2]))
        assert totals.read(connection, now=later)["imot.bg"].counted.verdicts == {"ok": 3}
    assert [sentence for sentence in statements if "run_metrics" in sentence] == []


def test_open_circuits_count_for_each_run(db: Database) -> None:
    for job_id in ("one", "two"):
        make_run(db, job_id)
        flusher = MetricsFlusher(db, MetricsCollector(job_id, clock=lambda: 1000.0))
        flusher.collector.circuit_open("imot.bg", 30)
        flusher.collector.foretell()
        flusher.flush()
    for now, passed in ((1010.0, 20), (ENDED, 60), (ENDED + SETTLED_SECONDS, 60)):
        found = db.run_read(lambda connection: RunTotals().read(connection, now=now))  # noqa: B023 - at once
        assert found["imot.bg"].open_seconds == passed


def test_response_times_are_a_histogram(db: Database) -> None:
    make_run(db, "job")
    for seconds, times in ((0.04, 2), (0.2, 1), (3.0, 4), (100.0, 1)):
        count(db, "job", seconds=seconds, times=times)
    found = db.run_read(lambda connection: RunTotals().read(connection, now=ENDED))
    *_, family = run_families(found)
    assert {sample.labels.get("le", sample.name): sample.value for sample in family.samples} == {
        "0.05": 2, "0.1": 2, "0.25": 3, "0.5": 3, "1.0": 3, "2.5": 3, "5.0": 7, "10.0": 7, "30.0": 7,
        "60.0": 7, "+Inf": 8, "sale_sofia_response_seconds_count": 8,
        "sale_sofia_response_seconds_sum": pytest.approx(112.28),
    }  # fmt: skip


def test_what_the_database_says_now(db: Database) -> None:
    make_run(db, "open", adverts=2, failures=["NetworkTimeout: x"], state=None)
    make_run(db, "done", adverts=5)
    make_run(db, "empty", state=JobState.EMPTY, site="bazar.bg")
    with db.write() as connection:
        trouble = Trouble(IncidentKind.COLLAPSE, "imot.bg", Said.of("fewer"))
        open_incident(connection, trouble, now=1.0)
        open_incident(connection, Trouble(IncidentKind.EMPTY_JOB, "bazar.bg", Said.of("none")), now=1.0)
        close_incident(connection, IncidentKind.EMPTY_JOB, "bazar.bg", now=2.0)
        connection.execute(insert(scopes), {"id": 1, "site": "imot.bg", "digest": "d", "start_urls": []})
        sweep = {"scope_id": 1, "site": "imot.bg", "started_at": 1.0}
        rows = [{**sweep, "job_id": "open", "gone": None}, {**sweep, "job_id": "done", "gone": 7}]
        connection.execute(insert(sweeps), rows)
    found = {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
        for family in db.run_read(figure_families)
    }
    assert found == {
        "sale_sofia_jobs_open": {("imot.bg", "PROCESSING"): 1},
        "sale_sofia_jobs_ended": {("bazar.bg", "EMPTY"): 1, ("imot.bg", "COMPLETE"): 1},
        "sale_sofia_frontier_pages": {("imot.bg", "done"): 3, ("imot.bg", "failed"): 1},
        "sale_sofia_incidents_open": {("imot.bg", "collapse"): 1},
        "sale_sofia_listings_gone": {("imot.bg",): 7},
    }


def test_adverts_that_are_there(db: Database) -> None:
    with db.write() as connection:
        for number, moment in ((1, 100.0), (2, 200.0), (3, 150.0)):
            save_listing(connection, advert(number), seen_at=moment, job_id=None, page_digest=None)
        connection.execute(update(listings).where(listings.c.external_id == "id1").values(gone_at=300.0))
    found = db.run_read(lambda connection: stored_families(connection, 12))
    families = {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
        for family in found
    }
    assert families == {
        "sale_sofia_listings": {("imot.bg",): 2},
        "sale_sofia_photos": {},
        "sale_sofia_photo_requests": {},
        "sale_sofia_listing_newest_timestamp_seconds": {("imot.bg",): 200.0},
        "sale_sofia_listing_seen_timestamp_seconds": {("imot.bg",): 200.0},
        "sale_sofia_archive_bytes": {(): 12},
    }


def test_a_read_that_broke_off_counts_no_run_twice(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "STREAMED_ROWS", 1)
    for job_id in ("one", "two"):
        make_run(db, job_id)
        count(db, job_id)
    totals, later = RunTotals(), ENDED + SETTLED_SECONDS
    statements: list[str] = []

    def break_off(*given: object) -> None:
        statements.append(str(given[2]))
        if sum("run_metrics" in statement for statement in statements) > 1:
            raise DatabaseError("the server is away")

    with db.read() as connection:
        event.listen(connection, "before_cursor_execute", break_off)
        with pytest.raises(DatabaseError):
            totals.read(connection, now=later)
    assert requests(totals, db, later) == {"ok": 2}
