import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.storage.helpers import database
from sale_sofia.crawl.resilience.errors import Action, CrawlError, HttpBlocked, NetworkTimeout
from sale_sofia.history.jobs import JobState, UnknownJob
from sale_sofia.history.runs.report_page import report_page
from sale_sofia.history.runs.reports import ReportFiles, SessionReportGenerator
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.error_log import ErrorLog, Failure
from sale_sofia.telemetry.metrics import MetricsCollector, MetricsFlusher
from unit.telemetry.monitoring_workers import make_run

NOW = 9000.0


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


@pytest.fixture
def generator(tmp_path: Path, db: Database) -> SessionReportGenerator:
    return SessionReportGenerator(Settings(data_dir=tmp_path), db, clock=lambda: NOW)


def log(folder: Path, error: CrawlError, url: str, job: str = "now") -> None:
    failure = Failure(error=error, action=Action.BACKOFF, next_delay=1.0, domain="imot.bg", job=job, url=url)
    ErrorLog(folder / "errors.jsonl").write(failure, now=0.0)


def measure(db: Database, job_id: str, began: float = 1000.0) -> None:
    now = [began + 10]
    flusher = MetricsFlusher(db, MetricsCollector(job_id, clock=lambda: now[0]))
    flusher.collector.circuit_open("imot.bg", 5)
    now[0] += 20
    for number in range(99):
        flusher.collector.answered("imot.bg", "ok", 1000, 0.1 * (1 + number // 33))
    flusher.collector.unanswered("imot.bg")
    flusher.collector.answered("imot.bg", "blocked", 1, 0.1)
    flusher.collector.stored("imot.bg", new=4, changed=3, unchanged=2, failed=1)
    flusher.collector.retried("imot.bg")
    flusher.collector.waited("imot.bg", 1.25)
    flusher.flush()


def test_a_report_with_all_its_numbers(
    tmp_path: Path, db: Database, generator: SessionReportGenerator
) -> None:
    for number in range(3):
        make_run(db, f"earlier{number}", adverts=18, requests=20, began=100.0 * number)
    failures = ["NetworkTimeout: 30 s (skip)", "ParseSelector: layout_changed: no price (manual_review)"]
    copies = {"linked": 40, "sampled": 3, "disagreed": 2, "differing": 1}
    made: dict[str, Any] = {"requests": 101, "new_listings": 4, "changed_listings": 3, **copies}
    make_run(db, "now", adverts=9, failures=[*failures, failures[0]], began=1000.0, **made)
    measure(db, "now")
    log(tmp_path, NetworkTimeout("30 s"), "https://x/10")
    log(tmp_path, HttpBlocked("captcha"), "https://x/3")
    log(tmp_path, HttpBlocked("captcha"), "https://x/4")
    log(tmp_path, HttpBlocked("captcha"), "https://x/5", job="another")
    report = generator.run("now")
    times = report["summary"].pop("response_seconds")
    assert (times["count"], times["mean"]) == (100, 0.199)
    assert [times[name] for name in ("p50", "p95", "p99")] == pytest.approx([0.2, 0.3, 0.3], rel=0.011)
    assert report["summary"] == {
        "run_seconds": 100.0,
        "pages_done": 10,
        "pages_failed": 3,
        "pages_open": 0,
        "failure_share": 0.2308,
        "adverts": 9,
        "new": 4,
        "held_back": 0,
        "changed": 3,
        "unchanged": 2,
        **copies,
        "requests": 101,
        "circuit_open_seconds": 5.0,
        "block_share": 0.0099,
        "bytes": 99_001,
        "retries": 1,
        "limiter_waits": 1,
        "limiter_wait_seconds": 1.25,
    }
    assert report["domains"]["imot.bg"].pop("response_seconds") == times
    assert report["domains"] == {
        "imot.bg": {
            "requests": 101,
            "verdicts": {"ok": 99, "blocked": 1, "no_answer": 1},
            "new": 4,
            "changed": 3,
            "unchanged": 2,
            "failed": 1,
            "circuit_open_seconds": 5.0,
            "block_share": 0.0099,
            "bytes": 99_001,
            "retries": 1,
            "limiter_waits": 1,
            "limiter_wait_seconds": 1.25,
        }
    }
    assert report["top_errors"] == [
        entry("NetworkTimeout", 2, 1, "https://x/10", "30 s (skip)"),
        entry("ParseSelector", 1, 0, "https://x/11", "layout_changed: no price (manual_review)"),
        entry("HttpBlocked", 0, 2, "https://x/3", "captcha"),
    ]
    assert report["health"] == {
        "state": "degraded",
        "reasons": [
            "23.1% of the pages failed (degraded from 5.0%)",
            "5.0% of the time the circuit was open (degraded from 5.0%)",
        ],
    }
    assert report["comparison"] == {
        "runs": 3,
        "requests": 20,
        "adverts": 18,
        "failure_share": 0.0,
        "requests_ratio": 5.05,
        "adverts_ratio": 0.5,
    }
    assert report["comparison_long"] == report["comparison"]
    assert report["photos"] == {"asked": 0, "requests": 0, "kept": 0, "failed": 0}
    assert (report["job_id"], report["site"], report["state"]) == ("now", "imot.bg", "COMPLETE")
    assert (report["started_at"], report["finished_at"], report["error"]) == (1000.0, 1100.0, None)


def entry(name: str, pages: int, requests: int, url: str, message: str) -> dict[str, Any]:
    counts = {"failed_pages": pages, "failed_requests": requests}
    return {"class": name, **counts, "example": {"url": url, "message": message}}


def test_a_run_without_counters_is_reported_from_its_rows(
    db: Database, generator: SessionReportGenerator
) -> None:
    make_run(db, "now", adverts=2, requests=3, new_listings=2)
    report = generator.run("now")
    assert report["health"] == {"state": "healthy", "reasons": []}
    assert (report["domains"], report["comparison"], report["top_errors"]) == ({}, None, [])
    numbers = report["summary"]
    assert (numbers["adverts"], numbers["requests"], numbers["new"]) == (2, 3, 2)
    assert numbers["response_seconds"] == {"count": 0, "mean": None, "p50": None, "p95": None, "p99": None}


def test_a_run_that_goes_on_is_reported_until_now(db: Database, generator: SessionReportGenerator) -> None:
    make_run(db, "now", adverts=2, state=None)
    assert generator.run("now")["summary"]["run_seconds"] == NOW - 1000.0
    assert generator.run("now")["state"] == "PROCESSING"


def test_several_runs_are_added_and_the_worst_is_the_health(
    db: Database, generator: SessionReportGenerator
) -> None:
    make_run(db, "old", adverts=50, began=10.0)
    make_run(db, "imot", adverts=9, requests=10)
    make_run(db, "bazar", state=JobState.EMPTY, site="bazar.bg", requests=1)
    measure(db, "imot")
    session = generator.latest()
    assert [run["job_id"] for run in session["runs"]] == ["bazar", "imot"]
    assert (session["health"], session["generated_at"]) == ("critical", NOW)
    numbers = session["summary"]
    assert (numbers["adverts"], numbers["requests"], numbers["run_seconds"]) == (9, 11, 200.0)
    assert (numbers["bytes"], numbers["response_seconds"]["count"]) == (99_001, 100)


def test_an_unknown_job_is_one_sentence(generator: SessionReportGenerator) -> None:
    with pytest.raises(UnknownJob, match="no job nothing; `sale-sofia jobs` lists them"):
        generator.run("nothing")


def test_the_end_of_a_run_keeps_its_report_and_opens_its_incident(
    tmp_path: Path, db: Database, generator: SessionReportGenerator
) -> None:
    make_run(db, "now", state=JobState.EMPTY)
    path = generator.finish("now")
    assert path == tmp_path / "reports" / "now.json"
    kept = json.loads(path.read_text("utf-8"))
    assert kept == generator.run("now")
    [incident] = kept["incidents"]
    assert (incident["kind"], incident["opened_at"], incident["job_id"]) == ("empty_job", NOW, "now")
    page = path.with_suffix(".html")
    assert page.read_text("utf-8") == report_page(generator.session(["now"]))
    assert generator.finish("now") == path
    assert sorted(path.parent.iterdir()) == [page, path]


def test_a_report_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, db: Database, generator: SessionReportGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(db, "now", adverts=1)
    path = generator.finish("now")
    files = (path.with_suffix(".html"), path)
    before = [file.read_text("utf-8") for file in files]
    make_run(db, "since", adverts=1, began=10.0)

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        generator.finish("now")
    assert [file.read_text("utf-8") for file in files] == before
    assert sorted((tmp_path / "reports").iterdir()) == sorted(files)


def test_only_the_commonest_errors_are_named(db: Database, generator: SessionReportGenerator) -> None:
    failures = [f"E{number:02}: {'x' * 900}" for number in range(15) for _ in range(number + 1)]
    make_run(db, "now", failures=failures, state=JobState.FAILED)
    errors = generator.run("now")["top_errors"]
    assert [(one["class"], one["failed_pages"]) for one in errors] == [
        (f"E{n:02}", n + 1) for n in range(14, 4, -1)
    ]
    assert errors[0]["example"]["message"] == "x" * 500


def test_a_run_is_compared_with_the_last_week_and_the_last_two(
    db: Database, generator: SessionReportGenerator
) -> None:
    for number in range(20):  # the newest have 20, 19, … adverts
        make_run(db, f"earlier{number}", adverts=1 + number, requests=100 + number, began=100.0 * number)
    make_run(db, "now", adverts=34, requests=100, began=9000.0)
    report = generator.run("now")
    assert (report["comparison"]["runs"], report["comparison_long"]["runs"]) == (7, 14)
    assert (report["comparison"]["adverts"], report["comparison_long"]["adverts"]) == (17, 13.5)
    assert (report["comparison"]["adverts_ratio"], report["comparison_long"]["adverts_ratio"]) == (
        2.0,
        2.5185,
    )
    assert (report["comparison"]["requests"], report["comparison_long"]["requests"]) == (116, 112.5)


def test_reports_are_kept_for_so_many_days(tmp_path: Path, db: Database) -> None:
    make_run(db, "now", adverts=1)
    folder = tmp_path / "reports"
    folder.mkdir()
    names = ("old.json", "old.html", ".old.html.12ab.part", "young.json", "mine.txt")
    for name in names:
        (folder / name).touch()
        aged = 86_400 * (30 if name.startswith("young") else 30.1)
        os.utime(folder / name, (1e9 - aged, 1e9 - aged + 1))
    SessionReportGenerator(Settings(data_dir=tmp_path), db, clock=lambda: 1e9).finish("now")
    assert sorted(path.name for path in folder.iterdir()) == [
        "mine.txt",
        "now.html",
        "now.json",
        "young.json",
    ]
    shorter = ReportFiles(Settings(data_dir=tmp_path, report_retention_days=1))
    assert (shorter.prune(now=1e9), shorter.prune(now=1e9)) == (1, 0)
    assert ReportFiles(Settings(data_dir=tmp_path / "nowhere")).prune(now=1e9) == 0
