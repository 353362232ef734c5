"""What is shown of a crawl while it goes on: bars on a terminal, lines elsewhere."""

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from sqlalchemy import update

from commands_here import commands
from contract.storage.helpers import ready_database
from sale_sofia.cli import progress as progress_module
from sale_sofia.cli.progress import JobProgress, LiveBars, Outlooks, ProgressLines, crawl_progress
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.estimate import Outlook, read_outlook
from sale_sofia.crawl.frontier.jobs import begin_job, known_job
from sale_sofia.crawl.frontier.ranking import MAY_FIT, Wish
from sale_sofia.crawl.frontier.wanted import Wanted
from sale_sofia.crawl.runners import local, tasks
from sale_sofia.crawl.runners.local import LocalRunner
from sale_sofia.crawl.runners.runners import take_for_workers
from sale_sofia.crawl.tables import EndCode
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.crawl.urls import Target
from sale_sofia.history.jobs import JobState, add_job_counts, set_job_state
from sale_sofia.operations.portals import site_statuses
from sale_sofia.operations.services.fleet import Fleet
from sale_sofia.orchestrator import Interrupted, Orchestrator
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.websites.registry import get_scraper

SETTINGS = load_settings().model_copy(update={"parallel_scraping": True, "circuit_breaker_fail_max": 2})


def test_where_there_is_no_terminal_a_line_comes_every_ten_seconds_and_with_a_state() -> None:
    now = 0.0
    console = Console(file=io.StringIO(), force_terminal=False, width=40)
    lines = ProgressLines(console, lambda: now)
    for second in range(45):
        now = float(second)
        state = "PROCESSING" if second < 33 else "COMPLETE"
        at = JobProgress("a", "imot.bg", state, second, 50)
        lines.show([at, JobProgress("b", "alo.bg", "COLLECTING", 2 * second, 99)])
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "imot.bg PROCESSING, 10 of 50 pages; alo.bg COLLECTING, 20 of 99 pages",
        "imot.bg PROCESSING, 20 of 50 pages; alo.bg COLLECTING, 40 of 99 pages",
        "imot.bg PROCESSING, 30 of 50 pages; alo.bg COLLECTING, 60 of 99 pages",
        "imot.bg COMPLETE, 33 of 50 pages",
        "alo.bg COLLECTING, 80 of 99 pages",
    ]


def test_a_local_crawl_says_its_lines_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "PROGRESS_LINE_SECONDS", 0.01)
    database = ready_database(tmp_path / "sale_sofia.db")
    start = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya"
    with database.write() as connection:
        job_id = begin_job(connection, get_scraper("imot.bg"), [start], limit=None, now=1.0)
    console = Console(file=io.StringIO(), force_terminal=False)

    async def crawl() -> None:
        async with crawl_progress(Settings(), database, [job_id], console):
            await asyncio.sleep(0.5)

    asyncio.run(crawl())
    database.dispose()
    assert isinstance(console.file, io.StringIO)
    assert set(console.file.getvalue().splitlines()) == {"imot.bg DISPATCHED, 0 of 1 pages"}


def test_a_bar_on_a_terminal_and_lines_elsewhere() -> None:
    at = JobProgress("job", "imot.bg", "PROCESSING", 4, 8)
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
        with LiveBars(Settings(), console) as bars:
            bars.show([at])
        assert isinstance(console.file, io.StringIO)
        drawn = console.file.getvalue()
        assert ("imot.bg" in drawn and "4/8" in drawn) is terminal
        assert bool(drawn) is terminal
    console = Console(file=io.StringIO(), force_terminal=False)
    with LiveBars(Settings(), console) as bars:
        bars.show([at])
        bars.show([at._replace(state="COMPLETE", ended=8)])
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "imot.bg COMPLETE, 8 of 8 pages\n"


def test_a_signal_before_the_services_are_at_work_names_the_job_all_the_same(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its message is sent while they start, and a worker may have begun it."""

    def interrupted(_: Orchestrator) -> None:
        raise Interrupted

    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setattr(Fleet, "begin_worker_and_beat", lambda _: None)
    monkeypatch.setattr(Orchestrator, "start_celery", interrupted)
    told = commands(tmp_path, monkeypatch, capsys)("crawl", "imot.bg", "--parallel", "--json")
    assert told.code == 130
    assert told.err.endswith("stopped; go on with: sale-sofia resume --parallel")
    found = json.loads(told.out)
    assert ([one["site"] for one in found["jobs"]], found["stopped"]) == (["imot.bg"], True)


def some_job(database: Database, wanted: Wanted | None = None) -> str:
    """Eight adverts seen: two opened, one unchanged, one that nobody looks for, four that wait."""
    search = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya/lozenets/dvustaen"
    adverts = [Target("listing", f"https://www.imot.bg/{number}", f"listing:{number}") for number in range(8)]
    fits = {one.key: MAY_FIT + 3 for one in adverts[:5]}
    with database.write() as connection:
        job_id = begin_job(connection, get_scraper("imot.bg"), [search], limit=None, now=1.0, wanted=wanted)
        frontier.add_targets(connection, job_id, adverts[:6], ranks=fits)
        frontier.add_targets(connection, job_id, adverts[6:7], done=EndCode.UNCHANGED)
        frontier.add_targets(connection, job_id, adverts[7:], done=EndCode.UNWANTED)
        opened = rows.c.url_key.in_([one.key for one in adverts[:2]])
        connection.execute(update(rows).where(opened).values(state="done"))
        add_job_counts(connection, job_id, new=1)
    return job_id


def test_a_crawl_says_what_it_has_found_and_how_long_it_takes(tmp_path: Path) -> None:
    slow = Settings(data_dir=tmp_path, domain_rate_limits={"imot.bg": 2})
    database = ready_database(tmp_path / "sale_sofia.db")
    job_id = some_job(database)
    with database.write() as connection:
        found = read_outlook(connection, known_job(connection, job_id), slow)
        # A page of results, three that may fit, and one more.
        assert found == Outlook(8, 2, 5, 1, True, 4 / 2, 5 / 2)  # noqa: FBT003
        told = "8 seen, 2 opened, 5 may fit, 1 new; at least 2 min to what fits, 3 min to the end"
        assert found.told == told
        assert "поне 2 мин до подходящите" in found.told.in_words("bg")
        (status,) = site_statuses(connection, ["imot.bg"], slow)
        assert status.outlook == found
        connection.execute(update(rows).where(rows.c.kind == "search").values(state="done"))
        after = read_outlook(connection, known_job(connection, job_id), slow)
        assert after is not None
        assert after.told.startswith("8 seen, 2 opened, 5 may fit, 1 new; 2 min to what fits")
        set_job_state(connection, job_id, JobState.COMPLETE, now=9.0)
        assert read_outlook(connection, known_job(connection, job_id), slow) is None
    # Of a crawl for a profile, all fits that is not left alone for it.
    mine = some_job(database, Wanted(("me",), (Wish(most={"price_eur": 9.0}),)))
    with database.read() as connection:
        found = read_outlook(connection, known_job(connection, mine), slow)
        assert found == Outlook(8, 2, 7, 1, True, 5 / 2, 5 / 2)  # noqa: FBT003
        assert Outlooks(slow).sentence(connection, mine) == found.told
        assert Outlooks(slow, language="bg").sentence(connection, mine) == found.told.in_words("bg")
    console = Console(file=io.StringIO(), force_terminal=False)
    ProgressLines(console, iter((0.0, 11.0, 11.0)).__next__).show(
        [
            JobProgress(mine, "imot.bg", "PROCESSING", 2, 9, told),
            JobProgress("b", "alo.bg", "COLLECTING", 1, 1),
        ]
    )
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == (
        f"imot.bg PROCESSING, 2 of 9 pages: {told}\nalo.bg COLLECTING, 1 of 1 pages\n"
    )
    assert (
        JobProgress(mine, "imot.bg", "PROCESSING", 2, 1234).line("bg")
        == "imot.bg: отваря обяви, 2 от 1 234 страници"
    )
    database.dispose()


def test_what_comes_in_is_followed_while_the_crawl_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = ready_database(tmp_path / "sale_sofia.db")
    over, calls = asyncio.Event(), []

    async def follow() -> None:
        loop = asyncio.get_running_loop()

        def match(*_: object, photos: bool) -> None:
            calls.append(photos)
            if len(calls) == 2:
                loop.call_soon_threadsafe(over.set)

        monkeypatch.setattr(local, "match_crawled", match)
        monkeypatch.setattr(local, "FOLLOW_SECONDS", 0.01)
        await LocalRunner(SETTINGS, database).follow(over)

    asyncio.run(follow())
    assert calls[:2] == [False, False]
    # The workers do the same, while there is a job of theirs.
    monkeypatch.setattr(tasks, "database", lambda: database)
    monkeypatch.setattr(tasks, "settings", lambda: SETTINGS)
    monkeypatch.setattr(tasks, "match_crawled", lambda *_, photos: calls.append(photos))
    calls.clear()
    job_id = some_job(database)
    assert (tasks.follow_jobs(), calls) == (False, [])
    with database.write() as connection:
        take_for_workers(connection, job_id, now=2.0)
    assert (tasks.follow_jobs(), calls) == (True, [False])
    database.dispose()
