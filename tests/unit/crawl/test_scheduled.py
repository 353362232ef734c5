"""A scheduled crawl's turn is taken once, not in quiet hours, and makes its jobs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from sale_sofia.crawl.frontier.planning import JobPlan, plan_for_workers
from sale_sofia.crawl.runners import schedule
from sale_sofia.crawl.runners.runners import site_lock
from sale_sofia.crawl.runners.schedule import jobs_of_turns
from sale_sofia.crawl.tables import schedule_slots
from sale_sofia.history.jobs import get_job
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.websites.site_file import CONFIG_FOLDER, available_sites, load_start_urls

NIGHTLY = '{name: nightly, at: "03:30", sites: [bazar.bg, imot.bg]}'


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    return scheduled(load_settings(), NIGHTLY)


def scheduled(settings: Settings, crawl: str, quiet: str = "none") -> Settings:
    text = f'quiet_hours: "{quiet}"\ncrawls: [{crawl}]'
    (settings.data_dir / "schedule.yaml").write_text(text, "utf-8")
    return settings


def at(text: str) -> float:
    return datetime.fromisoformat(f"2026-{text}+02:00").timestamp()


def begun(settings: Settings, database: Database, *moments: str) -> list[str]:
    """The moments of these at which a look began a crawl."""
    return [one for one in moments if jobs_of_turns(settings, database, at(one))]


def test_a_turn_makes_one_job_for_each_portal(settings: Settings, database: Database) -> None:
    (jobs,) = jobs_of_turns(settings, database, at("11-15T03:30"))
    assert sorted(jobs) == ["bazar.bg", "imot.bg"]
    stored = database.run_read(lambda connection: get_job(connection, jobs["bazar.bg"]["job_id"]))
    assert stored is not None
    assert (stored.site, stored.start_urls) == ("bazar.bg", load_start_urls()["bazar.bg"])


def test_a_turn_is_taken_once_by_however_many_clocks(settings: Settings, database: Database) -> None:
    with ThreadPoolExecutor(6) as pool:
        looks = list(pool.map(lambda _: begun(settings, database, "11-15T03:30"), range(6)))
    assert sum(map(len, looks)) == 1
    assert begun(settings, database, "11-16T03:29", "11-16T03:30", "11-16T03:31") == ["11-16T03:30"]


class Killed(BaseException):
    """Nobody bears it, as nobody bears a kill."""


def test_a_turn_whose_process_is_killed_before_its_jobs_are_there_begins_all_the_same(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[str] = []

    def killed_at_the_second(settings: Settings, database: Database, plan: JobPlan) -> str:
        if planned:
            raise Killed
        planned.append(plan_for_workers(settings, database, plan))
        return planned[0]

    with monkeypatch.context() as patched:
        patched.setattr(schedule, "plan_for_workers", killed_at_the_second)
        with pytest.raises(Killed):
            jobs_of_turns(settings, database, at("11-15T03:30"))
    (jobs,) = jobs_of_turns(settings, database, at("11-15T03:31"))
    assert sorted(jobs) == ["bazar.bg", "imot.bg"]
    assert planned[0] in {job["job_id"] for job in jobs.values()}
    assert begun(settings, database, "11-15T03:32") == []


def test_a_crawl_that_cannot_begin_holds_no_other_up_and_is_tried_again(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduled(
        settings,
        '{name: broken, at: "03:30", sites: [imot.bg]}, {name: sound, at: "03:30", sites: [bazar.bg]}',
    )

    def broken_at_imot(settings: Settings, database: Database, plan: JobPlan) -> str:
        if plan.site.name == "imot.bg":
            raise OSError("no room")
        return plan_for_workers(settings, database, plan)

    with monkeypatch.context() as patched:
        patched.setattr(schedule, "plan_for_workers", broken_at_imot)
        (jobs,) = jobs_of_turns(settings, database, at("11-15T03:30"))
    assert list(jobs) == ["bazar.bg"]
    (jobs,) = jobs_of_turns(settings, database, at("11-15T03:31"))
    assert list(jobs) == ["imot.bg"]


@pytest.fixture
def own_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's folder of site files; a new portal in it is known."""
    (tmp_path / "sites").mkdir()
    monkeypatch.setenv("SITES_DIR", str(tmp_path / "sites"))
    available_sites.cache_clear()
    yield tmp_path / "sites"
    available_sites.cache_clear()


@pytest.mark.parametrize("wrong", ["without starts", "no YAML"])
def test_a_portal_whose_file_is_wrong_is_left_out_of_the_turn(
    settings: Settings, database: Database, own_sites: Path, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    """Else the turn would never be taken, and the others would be crawled without end."""
    imot = (CONFIG_FOLDER / "sites" / "imot.bg.yaml").read_text("utf-8")
    text = imot.replace("site: imot.bg", "site: mine.bg") if wrong == "without starts" else "site: ["
    (own_sites / "mine.bg.yaml").write_text(text, "utf-8")
    scheduled(settings, '{name: all, at: "03:30", sites: [bazar.bg, mine.bg, imot.bg]}')
    (jobs,) = jobs_of_turns(settings, database, at("11-15T03:30"))
    assert sorted(jobs) == ["bazar.bg", "imot.bg"]
    assert "scheduled crawl left out: " in caplog.text
    assert begun(settings, database, "11-15T03:31") == []


def test_a_crawl_that_is_new_waits_for_its_next_turn(settings: Settings, database: Database) -> None:
    moments = ("11-14T15:00", "11-14T15:01", "11-15T03:29", "11-15T03:31")
    assert begun(settings, database, *moments) == ["11-15T03:31"]


def test_a_turn_that_was_missed_begins_late_and_once(settings: Settings, database: Database) -> None:
    moments = ("11-10T15:00", "11-15T09:00", "11-15T09:01", "11-16T03:30")
    assert begun(settings, database, *moments) == ["11-15T09:00", "11-16T03:30"]


def test_a_time_moved_within_the_day_begins_at_the_new_one_but_never_at_one_that_is_past(
    settings: Settings, database: Database
) -> None:
    assert begun(settings, database, "11-15T03:30") == ["11-15T03:30"]
    scheduled(settings, NIGHTLY.replace("03:30", "22:00"))
    moments = ("11-15T12:00", "11-15T21:59", "11-15T22:00", "11-15T22:01")
    assert begun(settings, database, *moments) == ["11-15T22:00"]
    scheduled(settings, NIGHTLY.replace("03:30", "21:00"))
    assert begun(settings, database, "11-15T22:30", "11-16T20:59", "11-16T21:00") == ["11-16T21:00"]


def test_a_turn_in_quiet_hours_begins_once_when_they_end(settings: Settings, database: Database) -> None:
    scheduled(settings, NIGHTLY, "23:00-06:30")
    moments = ("11-15T03:30", "11-15T03:35", "11-15T06:29", "11-15T06:30", "11-15T06:31", "11-15T23:30")
    assert begun(settings, database, *moments) == ["11-15T06:30"]


def test_several_turns_in_quiet_hours_begin_as_one(settings: Settings, database: Database) -> None:
    scheduled(settings, "{name: often, every_hours: 2, sites: [imot.bg]}", "23:00-06:30")
    evening = [f"11-14T{hour}:{minute}" for hour in (22, 23) for minute in ("00", "30")]
    morning = [f"11-15T{hour:02}:{minute}" for hour in range(9) for minute in ("00", "30")]
    assert begun(settings, database, *evening, *morning) == ["11-14T22:00", "11-15T06:30", "11-15T08:00"]


def test_a_crawl_begun_before_quiet_hours_is_not_touched(settings: Settings, database: Database) -> None:
    scheduled(settings, NIGHTLY, "04:00-06:30")
    (jobs,) = jobs_of_turns(settings, database, at("11-15T03:30"))
    assert jobs_of_turns(settings, database, at("11-15T04:30")) == []
    running = database.run_read(lambda connection: get_job(connection, jobs["imot.bg"]["job_id"]))
    assert running is not None
    assert not running.state.finished


def test_a_crawl_that_is_gone_from_the_file_does_nothing(settings: Settings, database: Database) -> None:
    scheduled(settings, "")
    assert jobs_of_turns(settings, database, at("11-15T03:30")) == []
    assert database.run_read(lambda connection: connection.execute(select(schedule_slots)).all()) == []


def test_a_portal_being_crawled_is_left_out(settings: Settings, database: Database) -> None:
    with site_lock(database, settings.data_dir / "locks", "imot.bg"):
        (jobs,) = jobs_of_turns(settings, database, at("11-15T03:30"))
    assert list(jobs) == ["bazar.bg"]


def test_a_turn_for_a_profile_makes_jobs_for_it(
    settings: Settings, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = '{name: mine, at: "03:30", sites: [imot.bg, imoti.com], for: me}'
    scheduled(settings, crawl)
    assert jobs_of_turns(settings, database, at("11-15T03:30")) == []
    assert "scheduled crawl mine left out: no profile and no saved search is called 'me'" in caplog.text
    (settings.data_dir / "profiles").mkdir()
    profile = "budget_eur: 200000\nproperty_types: [maisonette]\n"
    (settings.data_dir / "profiles" / "me.yaml").write_text(profile, "utf-8")
    (jobs,) = jobs_of_turns(settings, database, at("11-16T03:30"))
    made = [
        database.run_read(partial(get_job, job_id=jobs[site]["job_id"])) for site in ("imot.bg", "imoti.com")
    ]
    assert [job and job.looks_for and job.looks_for["names"] for job in made] == [["me"], ["me"]]
    # Where no search can hold it, nothing begins.
    (settings.data_dir / "profiles" / "me.yaml").write_text(profile.replace("maisonette", "house"), "utf-8")
    assert jobs_of_turns(settings, database, at("11-17T03:30")) == []
