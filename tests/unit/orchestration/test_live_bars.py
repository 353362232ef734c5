"""What stands beside a bar: rate, remaining time, and the portal's circuit."""

import asyncio
import io
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from commands_here import commands
from contract.data.helpers import ready_database
from sale_sofia.cli import progress as progress_module
from sale_sofia.cli.parallel import LiveBars, Pace, circuit_states, pace_text
from sale_sofia.cli.progress import ProgressLines, Shown, crawl_progress
from sale_sofia.crawl.frontier.jobs import begin_job
from sale_sofia.crawl.resilience.breaker import CircuitState
from sale_sofia.crawl.resilience.factory import get_circuit_breaker
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.runners.progress import Progress
from sale_sofia.operations.services.fleet import Fleet
from sale_sofia.orchestrator import Interrupted, Orchestrator
from sale_sofia.settings.model import load_settings
from sale_sofia.websites.registry import get_scraper

SETTINGS = load_settings().model_copy(update={"parallel_scraping": True, "circuit_breaker_fail_max": 2})


def progress(done: int, failed: int, total: int) -> Progress:
    counts = (total, done, failed, 1, 0, 1.0, None, 0, 0, done, None, None)
    return Progress("job", "imot.bg", "PROCESSING", *counts)


def test_a_pace_is_of_the_last_minute() -> None:
    pace = Pace()
    assert pace.per_minute(0, 0.0) is None
    assert pace.per_minute(10, 10.0) == 60
    assert pace.per_minute(10, 50.0) == 12
    assert pace.per_minute(20, 110.0) == 10
    assert pace_text(progress(95, 5, 200), 40.0) == "40/min, 0:02:30 left"
    assert pace_text(progress(0, 0, 90_000), 20.0) == "20/min, 75:00:00 left"
    assert pace_text(progress(0, 0, 5), None) == pace_text(progress(0, 0, 5), 0.0) == "?/min"


async def open_the_circuit(redis_url: str) -> None:
    async with connect(redis_url) as redis:
        breaker = get_circuit_breaker(SETTINGS, redis)
        for _ in range(2):
            permission = await breaker.allow("imot.bg", time.time())
            await breaker.record("imot.bg", permission, ok=False, now=time.time())


def test_circuits_are_those_the_workers_share(redis_url: str) -> None:
    assert circuit_states(SETTINGS, redis_url) == {}
    asyncio.run(open_the_circuit(redis_url))
    assert circuit_states(SETTINGS, redis_url)["imot.bg"].state is CircuitState.OPEN
    assert circuit_states(SETTINGS, "redis://127.0.0.1:9/0") == {}


def test_where_there_is_no_terminal_a_line_comes_every_ten_seconds_and_with_a_state() -> None:
    now = 0.0
    console = Console(file=io.StringIO(), force_terminal=False, width=40)
    lines = ProgressLines(console, lambda: now)
    for second in range(45):
        now = float(second)
        state = "PROCESSING" if second < 33 else "COMPLETE"
        at = Shown("a", "imot.bg", state, second, 50)
        lines.show([at, Shown("b", "alo.bg", "COLLECTING", 2 * second, 99)])
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
        async with crawl_progress(database, [job_id], console):
            await asyncio.sleep(0.5)

    asyncio.run(crawl())
    database.dispose()
    assert isinstance(console.file, io.StringIO)
    assert set(console.file.getvalue().splitlines()) == {"imot.bg DISPATCHED, 0 of 1 pages"}


def test_a_bar_on_a_terminal_and_lines_elsewhere(redis_url: str) -> None:
    asyncio.run(open_the_circuit(redis_url))
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
        with LiveBars(SETTINGS, console) as bars:
            bars.show([progress(3, 1, 8)], redis_url)
        assert isinstance(console.file, io.StringIO)
        drawn = console.file.getvalue()
        assert ("imot.bg" in drawn and "4/8" in drawn and "circuit open" in drawn) is terminal
        assert bool(drawn) is terminal
    console = Console(file=io.StringIO(), force_terminal=False)
    with LiveBars(SETTINGS, console) as bars:
        bars.show([progress(3, 1, 8)], redis_url)
        bars.show([replace(progress(7, 1, 8), status="COMPLETE")], redis_url)
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
