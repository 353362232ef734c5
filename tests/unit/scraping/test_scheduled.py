"""A scheduled crawl's turn is taken once and makes its jobs."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.config.site_config import load_start_urls
from sale_sofia.data.database import Database
from sale_sofia.data.jobs import get_job
from sale_sofia.scraping.locks import site_lock
from sale_sofia.scraping.scheduled import jobs_of_turn

NOW = 1_800_000_000.0
DAY = 86_400.0


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    (tmp_path / "schedule.yaml").write_text(
        'crawls: [{name: nightly, at: "03:30", sites: [bazar.bg, imot.bg]}]', "utf-8"
    )
    return load_settings()


def test_a_turn_makes_one_job_for_each_portal(settings: Settings, database: Database) -> None:
    jobs = jobs_of_turn(settings, database, "nightly", NOW)
    assert sorted(jobs) == ["bazar.bg", "imot.bg"]
    stored = database.run_read(lambda connection: get_job(connection, jobs["bazar.bg"]["job_id"]))
    assert stored is not None
    assert (stored.site, stored.start_urls) == ("bazar.bg", load_start_urls()["bazar.bg"])


def test_a_turn_is_taken_once_by_however_many_clocks(settings: Settings, database: Database) -> None:
    with ThreadPoolExecutor(6) as pool:
        turns = list(pool.map(lambda _: jobs_of_turn(settings, database, "nightly", NOW), range(6)))
    assert sum(bool(jobs) for jobs in turns) == 1
    assert jobs_of_turn(settings, database, "nightly", NOW + DAY)


def test_a_crawl_that_is_gone_from_the_file_does_nothing(settings: Settings, database: Database) -> None:
    assert jobs_of_turn(settings, database, "weekly", NOW) == {}


def test_a_portal_being_crawled_is_left_out(settings: Settings, database: Database) -> None:
    with site_lock(database, settings.data_dir / "locks", "imot.bg"):
        assert list(jobs_of_turn(settings, database, "nightly", NOW)) == ["bazar.bg"]
