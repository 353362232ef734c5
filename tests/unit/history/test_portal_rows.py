"""What is read of each portal: its runs, how full its fields are, and what is usual."""

import time
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from app_runs import put_adverts, store
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.history.jobs import JobState
from sale_sofia.history.runs.health import DataState
from sale_sofia.history.tables import scopes, sweeps
from sale_sofia.operations.portals import read_portals, read_runs
from sale_sofia.settings.model import Settings

NOW = time.time()
DAY = 86_400.0


def put_run(data: Path, days_ago: float, adverts: int, **fields: Any) -> None:  # noqa: ANN401 - any column
    at, name = NOW - days_ago * DAY, f"run-{days_ago}"
    job = {
        "id": name,
        "site": "imot.bg",
        "state": JobState.COMPLETE.value,
        "start_urls": [],
        "created_at": at,
    }
    with store(data).write() as connection:
        connection.execute(insert(jobs).values(job | {"started_at": at, "finished_at": at + 60} | fields))
        scope = insert(scopes).values(site="imot.bg", digest=name, start_urls=[]).returning(scopes.c.id)
        number = connection.execute(scope).scalar_one()
        swept = {"job_id": name, "scope_id": number, "site": "imot.bg", "everything": False, "started_at": at}
        connection.execute(insert(sweeps).values(**swept, adverts=adverts, gone=2, complete=True))
        row = {"kind": "listing", "url": "u", "url_key": "u", "state": "failed"}
        connection.execute(insert(frontier).values(job_id=name, **row))


def test_runs_usual_numbers_and_fill_rates(tmp_path: Path) -> None:
    put_adverts(tmp_path, {"price_eur": 1000.0, "phones": ["+359888"], "description": ""}, {"area_sqm": 50.0})
    for days_ago, adverts in ((3, 90), (2, 100), (1, 110)):
        put_run(tmp_path, days_ago, adverts, new_listings=7, changed_listings=3, requests=40)
    put_run(tmp_path, 0.5, 55, new_listings=1, state=JobState.PROCESSING.value)
    with store(tmp_path).read() as connection:
        runs = read_runs(connection)
        imot, olx = read_portals(connection, ["imot.bg", "olx.bg"], Settings(data_dir=tmp_path), now=NOW)
    assert [(run.adverts, run.new, run.changed, run.gone, run.failed, run.requests) for run in runs] == [
        (110, 7, 3, 2, 1, 40), (100, 7, 3, 2, 1, 40), (90, 7, 3, 2, 1, 40),
    ]  # fmt: skip
    assert (imot.expected, imot.adverts, imot.newest) == (95, 2, runs[0])
    assert {name: share for name, share in imot.fill.items() if share} == {
        "price_eur": 0.5, "phones": 0.5, "area_sqm": 0.5,
    }  # fmt: skip
    assert imot.verdict.state is DataState.FRESH
    assert (olx.verdict.state, olx.fill, olx.block_share) == (DataState.NEVER, {}, None)


def test_a_run_that_brought_nothing_is_failing_though_it_is_complete(tmp_path: Path) -> None:
    put_adverts(tmp_path, {"price_eur": 1000.0})
    put_run(tmp_path, 2, 100)
    put_run(tmp_path, 1, 0)
    with store(tmp_path).read() as connection:
        (row,) = read_portals(connection, ["imot.bg"], Settings(data_dir=tmp_path), now=NOW)
    assert (row.verdict.state, row.verdict.reason, row.expected) == (DataState.FAILING, "nothing_found", 100)
