"""`sale-sofia report` and the incidents of `status`, as a person sees them."""

import json
import re
from pathlib import Path
from typing import Final, Literal

import pytest

from browser_pages import chromium, window
from contract.storage.helpers import ready_database
from crawls import run
from sale_sofia.history.jobs import JobState
from sale_sofia.history.runs.reports import SessionReportGenerator
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.metrics import MetricsCollector, MetricsFlusher
from unit.telemetry.monitoring_workers import make_run

SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good runs of imot.bg, the newer with a failed page, and an empty one of bazar.bg."""
    folder = tmp_path_factory.mktemp("data")
    db = ready_database(folder / "sale_sofia.db")
    make_run(db, "before", adverts=12, requests=13)
    make_run(db, "now", adverts=11, failures=["NetworkTimeout: [30 s]"], requests=14, began=2000.0)
    make_run(db, "empty", state=JobState.EMPTY, site="bazar.bg")
    flusher = MetricsFlusher(db, MetricsCollector("now"))
    for verdict in ("ok", "ok", "ok", "blocked"):
        flusher.collector.answered("imot.bg", verdict, 1000, 0.5)
    flusher.flush()
    SessionReportGenerator(Settings(data_dir=folder), db, clock=lambda: 86_400.0).finish("empty")
    db.dispose()
    return folder


def test_the_newest_run_of_each_portal_is_a_line(data: Path) -> None:
    told = run(data, "report", COLUMNS="80")
    assert told.returncode == 0, told.stderr
    lines = [" ".join(line.split()) for line in told.stdout.splitlines()]
    assert "bazar.bg EMPTY critical 0 ? 0 0 1970-01-01 02:16" in lines
    assert "imot.bg COMPLETE critical 11 12 0 0 1970-01-01 02:33" in lines
    assert "bazar.bg 0 0 0.0% 0 0 ? ? ?" in lines
    assert "imot.bg 14 1 25.0% 0 0 0.50 0.50 0.50" in lines
    assert "bazar.bg: the portal showed no advert" in lines
    assert "bazar.bg: open since 1970-01-02 02:00: empty_job: the portal showed no advert" in lines
    assert "imot.bg: NetworkTimeout: 1 page, 0 requests; https://x/12: [30 s]" in lines


def test_one_job_as_json(data: Path) -> None:
    told = run(data, "report", "before", "--json")
    assert told.returncode == 0, told.stderr
    report = json.loads(told.stdout)
    assert [one["job_id"] for one in report["runs"]] == ["before"]
    assert (report["health"], report["summary"]["adverts"]) == ("healthy", 12)


def test_a_page_that_can_be_read_on_a_telephone_in_the_dark(data: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    told = run(data, "report", "--html", str(page))
    assert (told.returncode, told.stdout, told.stderr) == (0, "", f"report in {page}\n"), told.stderr
    kept = (data / "reports" / "empty.html").read_text("utf-8")
    assert "the portal showed no advert" in kept
    colours = set()
    with chromium() as browser, window(browser, page.as_uri(), width=390) as seen:
        for scheme in SCHEMES:
            seen.page.emulate_media(color_scheme=scheme)
            seen.page.goto(page.as_uri())
            text = re.sub(r"\s+", " ", seen.page.inner_text("main"))
            assert "imot.bg critical job now, COMPLETE" in text
            assert "NetworkTimeout: 1 pages, 0 requests; https://x/12: [30 s]" in text
            assert seen.serious() == []
            assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
            colours.add(seen.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert (seen.outside, seen.errors, seen.dialogs) == ([], [], [])
    assert colours == {"rgb(255, 255, 255)", "rgb(20, 23, 27)"}


def test_a_page_that_cannot_be_written_is_one_sentence(data: Path, tmp_path: Path) -> None:
    told = run(data, "report", "--html", str(tmp_path / "nowhere" / "report.html"))
    assert told.returncode == 2
    assert f"there is no folder {tmp_path}/nowhere; make it" in told.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_job_is_one_sentence(data: Path) -> None:
    told = run(data, "report", "nothing")
    assert told.returncode == 2
    assert told.stderr == "sale-sofia: no job nothing; `sale-sofia jobs` lists them\n"
    assert told.stdout == ""


def test_no_run_yet(tmp_path: Path) -> None:
    told = run(tmp_path, "report")
    assert (told.returncode, told.stdout) == (0, "")
    assert told.stderr == "no run yet; begin one with `sale-sofia crawl`\n"


def test_status_names_open_incidents(data: Path) -> None:
    told = run(data, "status")
    assert told.returncode == 0, told.stderr
    assert "bazar.bg: open since 1970-01-02 02:00: empty_job: the portal showed no advert\n" in told.stdout
    [incident] = json.loads(run(data, "status", "--json").stdout)["incidents"]
    assert (incident["kind"], incident["job_id"]) == ("empty_job", "empty")
