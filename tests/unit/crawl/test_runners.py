"""One job of a portal at a time, by a local runner or by the workers, never by both."""

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import update

from sale_sofia.celery_app import configuration
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.frontier.planning import (
    JobEnded,
    JobPlan,
    cancel_job,
    plan_for_workers,
    plan_job,
    resume_for_workers,
)
from sale_sofia.crawl.resilience.owners import this_owner
from sale_sofia.crawl.runners import dispatching, tasks
from sale_sofia.crawl.runners.dispatching import JobStep, Next
from sale_sofia.crawl.runners.local import LocalRunner
from sale_sofia.crawl.runners.runners import (
    SiteBusy,
    let_go,
    local_runner,
    running_job,
    site_lock,
    take_for_local,
)
from sale_sofia.crawl.tables import jobs
from sale_sofia.crawl.urls import Target
from sale_sofia.history.jobs import CELERY, Job, JobState, UnknownJob
from sale_sofia.history.sweeps import list_sweeps
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.websites.registry import get_scraper

SEARCH = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya"
PLAN = JobPlan(get_scraper("imot.bg"), (SEARCH,), None, fresh=False)
OTHER = JobPlan(get_scraper("imot.bg"), (SEARCH,), 5, fresh=False)
DEAD = this_owner().rpartition("|")[0] + "|0.0"
BUSY = r"imot\.bg is being crawled by the Celery workers; wait for job .*`sale-sofia cancel imot\.bg-"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings().model_copy(update={"data_dir": tmp_path})


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    made = Database(store_url, busy_timeout_seconds=5, busy_retries=2)
    yield made
    made.dispose()


def job(database: Database, job_id: str) -> Job:
    return database.run_read(partial(known_job, job_id=job_id))


def lease(database: Database, job_id: str, owner: str, now: float) -> None:
    claim = partial(frontier.claim, job_id=job_id, owner=owner, count=1, now=now, lease_seconds=30)
    assert len(database.run_write(claim)) == 1


def read_page(database: Database, job_id: str, owner: str, now: float) -> None:
    """Claim the next page and be done with it at once."""
    claim = partial(frontier.claim, job_id=job_id, owner=owner, count=1, now=now, lease_seconds=30)
    (claimed,) = database.run_write(claim)
    database.run_write(partial(frontier.finish, ends=[(claimed, "done", None, None)]))


def add_adverts(database: Database, job_id: str, count: int) -> None:
    targets = [Target("listing", f"{SEARCH}/{one}", f"listing:{one}") for one in range(count)]
    database.run_write(partial(frontier.add_targets, job_id=job_id, targets=targets))


def dispatch(database: Database, job_id: str, now: float) -> Next:
    return database.run_write(partial(dispatching.begin, job_id=job_id, now=now)).kind


def running(database: Database, now: float) -> str | None:
    found = database.run_read(partial(running_job, site="imot.bg", now=now))
    return found.id if found else None


def test_the_workers_have_a_job_from_its_plan_on(settings: Settings, database: Database) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    assert job(database, job_id).runner == CELERY
    with pytest.raises(SiteBusy, match=BUSY):
        plan_job(settings, database, PLAN)
    assert plan_for_workers(settings, database, PLAN) == job_id
    with pytest.raises(SiteBusy, match=BUSY):
        plan_for_workers(settings, database, OTHER)
    plan_job(
        settings, database, JobPlan(get_scraper("bazar.bg"), ("https://bazar.bg/obiavi/x",), 1, fresh=True)
    )


def test_a_clock_that_is_ahead_takes_no_portal_from_the_workers(
    settings: Settings, database: Database
) -> None:
    plan_for_workers(settings, database, PLAN)
    ahead = time.time() + 3600
    with pytest.raises(SiteBusy, match=BUSY):
        plan_job(settings, database, PLAN, ahead)
    bazar = JobPlan(get_scraper("bazar.bg"), ("https://bazar.bg/obiavi/x",), 1, fresh=True)
    assert job(database, plan_job(settings, database, bazar, ahead)).created_at == ahead


def test_a_job_of_the_workers_is_running_while_woken_or_leased(
    settings: Settings, database: Database
) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    now = job(database, job_id).created_at
    assert running(database, now + 9) == job_id
    assert running(database, now + 11) is None
    assert dispatch(database, job_id, now + 20) is Next.LANES
    assert running(database, now + 29) == job_id
    lease(database, job_id, "elsewhere|1|x", now + 31)
    assert running(database, now + 60) == job_id
    assert running(database, now + 62) is None
    assert job(database, job_id).state is JobState.COLLECTING


def test_a_lane_between_two_pages_is_at_its_job(settings: Settings, database: Database) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    add_adverts(database, job_id, 3)
    now = time.time() + 60  # long after the lanes were sent out
    read_page(database, job_id, this_owner(), now)
    assert database.run_read(partial(frontier.owners, job_id=job_id)) == set()
    assert running(database, now + 1) == job_id
    with pytest.raises(SiteBusy, match=BUSY):
        database.run_write(partial(take_for_local, job_id=job_id, now=now + 1))
    assert running(database, now + 31) is None
    read_page(database, job_id, DEAD, now + 40)
    assert running(database, now + 41) is None


@pytest.mark.parametrize(
    ("last", "is_run"),
    [(this_owner(), True), ("elsewhere|1|x", True), (DEAD, False)],
    ids=("here", "elsewhere", "dead"),
)
def test_a_job_that_waits_for_a_later_moment_is_that_of_its_last_lane(
    settings: Settings, database: Database, last: str, *, is_run: bool
) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    now = time.time() + 60
    claim = partial(frontier.claim, job_id=job_id, owner=last, count=1, now=now, lease_seconds=30)
    (claimed,) = database.run_write(claim)
    later = [frontier.PutOff(claimed, 600.0, "its circuit is open", refund=True)]
    database.run_write(partial(frontier.postpone, later=later, now=now))
    assert (running(database, now + 599) == job_id) is is_run
    assert running(database, now + 601) is None


def test_leases_of_the_dead_hold_nobody_up(settings: Settings, database: Database) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    now = time.time() + 11
    lease(database, job_id, DEAD, now)
    assert running(database, now) is None
    database.run_write(partial(take_for_local, job_id=job_id, now=now))
    assert job(database, job_id).runner == local_runner()
    assert dispatch(database, job_id, now) is Next.NOTHING


def test_a_local_runner_keeps_the_workers_away(settings: Settings, database: Database) -> None:
    job_id = plan_job(settings, database, PLAN)
    with site_lock(database, settings.data_dir / "locks", "imot.bg"):
        for refused in (
            partial(plan_for_workers, settings, database, PLAN),
            partial(resume_for_workers, settings, database, job_id),
        ):
            with pytest.raises(SiteBusy, match=r"imot\.bg is being crawled by process \d+"):
                refused()
    assert resume_for_workers(settings, database, job_id) == job_id
    assert job(database, job_id).runner == CELERY


@pytest.mark.slow
def test_a_local_runner_does_not_touch_a_job_of_the_workers(settings: Settings, database: Database) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    lease(database, job_id, "elsewhere|1|x", time.time())
    (report,) = asyncio.run(LocalRunner(settings, database).run([job_id], asyncio.Event()))
    assert report.error is not None
    assert report.error.startswith("imot.bg is being crawled by the Celery workers")
    assert job(database, job_id).runner == CELERY
    assert database.run_read(partial(frontier.owners, job_id=job_id)) == {"elsewhere|1|x"}


def test_a_portal_whose_turn_comes_after_the_stop_does_not_begin(
    settings: Settings, database: Database
) -> None:
    nobody = JobPlan(get_scraper("imot.bg"), ("http://127.0.0.1:9/obiavi/x",), None, fresh=False)
    job_id = plan_job(settings, database, nobody)
    stop = asyncio.Event()
    stop.set()
    (report,) = asyncio.run(LocalRunner(settings, database).run([job_id], stop))
    assert (report.state, report.error, report.requests) == ("DISPATCHED", None, 0)


def test_a_stopped_job_is_nobodys_until_it_is_resumed(settings: Settings, database: Database) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    now = time.time()
    assert dispatch(database, job_id, now) is Next.LANES
    database.run_write(partial(let_go, job_id=job_id, runner=CELERY))
    assert running(database, now) is None
    after = partial(dispatching.after_lanes, job_id=job_id, now=now + 60)
    assert database.run_write(after).kind is Next.NOTHING
    resume_for_workers(settings, database, job_id)
    # Nobody waits for the grace that a lost wake-up has: the message alone brings it on its way.
    assert dispatch(database, job_id, now + 1) is Next.LANES


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("runner", ["local", "workers"])
def test_a_job_whose_portal_is_taken_for_another_rests_until_it_is_resumed(
    settings: Settings, database: Database, runner: str, *, begun: bool
) -> None:
    """Else workers that come back would crawl it beside the other, each at the portal's whole rate."""
    old = plan_for_workers(settings, database, PLAN)
    if begun:
        assert dispatch(database, old, time.time()) is Next.LANES
    with database.write() as connection:  # the workers died a minute ago
        connection.execute(update(jobs).where(jobs.c.id == old).values(woken_at=time.time() - 60))
    if runner == "local":
        new = plan_job(settings, database, OTHER)
        database.run_write(partial(take_for_local, job_id=new, now=time.time()))
    else:
        new = plan_for_workers(settings, database, OTHER)
    assert old != new
    assert dispatch(database, old, time.time() + 60) is Next.NOTHING
    assert job(database, old).runner is None
    database.run_write(partial(cancel_job, job_id=new, now=5.0))
    assert resume_for_workers(settings, database, old) == old
    assert dispatch(database, old, time.time() + 120) is Next.LANES


@pytest.mark.parametrize("runner", ["local", "workers"])
@pytest.mark.parametrize("state", [JobState.COLLECTING, JobState.AGGREGATING])
def test_a_job_whose_local_runner_died_rests_when_its_portal_is_taken_for_another(
    settings: Settings, database: Database, runner: str, state: JobState
) -> None:
    """Else it looks like a running crawl for ever, and holds back what alerts tell of the portal."""
    old = plan_job(settings, database, PLAN)
    with database.write() as connection:
        dead = {"runner": local_runner(), "state": state.value}
        connection.execute(update(jobs).where(jobs.c.id == old).values(dead))
    if runner == "local":
        new = plan_job(settings, database, OTHER)
        database.run_write(partial(take_for_local, job_id=new, now=time.time()))
    else:
        new = plan_for_workers(settings, database, OTHER)
    assert job(database, old).runner is None
    assert job(database, new).runner is not None


def test_a_job_that_is_being_concluded_stays_with_the_workers(settings: Settings, database: Database) -> None:
    old = plan_for_workers(settings, database, PLAN)
    with database.write() as connection:
        ended = update(jobs).where(jobs.c.id == old)
        connection.execute(ended.values(woken_at=time.time() - 60, state=JobState.AGGREGATING.value))
    plan_for_workers(settings, database, OTHER)
    assert job(database, old).runner == CELERY


def test_the_reconciler_wakes_only_jobs_of_the_workers(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_job(
        settings, database, JobPlan(get_scraper("bazar.bg"), ("https://bazar.bg/obiavi/x",), 1, fresh=True)
    )
    ours = plan_for_workers(settings, database, PLAN)
    monkeypatch.setattr(tasks, "database", lambda: database)
    monkeypatch.setattr(tasks, "_reconcile", lambda _job_id, site: f"woken: {site}")
    assert tasks.reconcile_jobs() == {ours: "woken: imot.bg"}


def test_a_job_that_cannot_be_reconciled_holds_no_other_up(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = plan_for_workers(settings, database, PLAN)
    bazar = JobPlan(get_scraper("bazar.bg"), ("https://bazar.bg/obiavi/x",), 1, fresh=True)
    sound = plan_for_workers(settings, database, bazar)

    def reconcile(_job_id: str, site: str) -> str:
        if site == "imot.bg":
            raise OSError("no room")
        return f"woken: {site}"

    monkeypatch.setattr(tasks, "database", lambda: database)
    monkeypatch.setattr(tasks, "_reconcile", reconcile)
    assert tasks.reconcile_jobs() == {sound: "woken: bazar.bg"}
    assert f"{broken}: could not be reconciled" in caplog.text


def test_one_process_alone_works_out_the_end_of_a_job(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    done: list[str] = []
    monkeypatch.setattr(dispatching, "repair", lambda *_, **__: JobStep(Next.OVER))
    monkeypatch.setattr(tasks, "settings", lambda: settings)
    monkeypatch.setattr(tasks, "database", lambda: database)
    monkeypatch.setattr(tasks, "show_progress", lambda _: None)
    monkeypatch.setattr(tasks, "match_crawled", lambda *_, **__: done.append("matched"))
    monkeypatch.setattr(tasks, "_end", done.append)
    with site_lock(database, settings.data_dir / "locks", "imot.bg-end"):  # another fetches photos, say
        tasks.reconcile_jobs()
        assert done == []
    tasks.reconcile_jobs()
    assert done == ["matched", job_id]


def test_cancelling(settings: Settings, database: Database) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    cancel = partial(cancel_job, job_id=job_id, now=5.0)
    assert database.run_write(cancel)
    assert not database.run_write(cancel)
    assert job(database, job_id).state is JobState.CANCELLED
    assert running(database, time.time()) is None
    assert dispatch(database, job_id, time.time() + 60) is Next.OVER
    with pytest.raises(JobEnded, match=r"has ended \(CANCELLED\)"):
        resume_for_workers(settings, database, job_id)
    with pytest.raises(UnknownJob, match="no job other"):
        database.run_write(partial(cancel_job, job_id="other", now=5.0))


def test_a_message_is_acknowledged_after_its_work_and_comes_back_when_its_worker_dies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    told = configuration()
    assert (told["task_acks_late"], told["task_reject_on_worker_lost"]) == (True, True)


def test_the_sweep_of_a_cancelled_job_is_not_under_way(settings: Settings, database: Database) -> None:
    job_id = plan_for_workers(settings, database, PLAN)
    read = partial(list_sweeps, limit=1)
    assert not database.run_read(read)[0].cancelled
    database.run_write(partial(cancel_job, job_id=job_id, now=5.0))
    (sweep,) = database.run_read(read)
    assert (sweep.complete, sweep.cancelled) == (None, True)
