"""One page that cannot be read costs its own row: not another portal's second, no signal, and no job."""

import itertools
import json
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import select

from crawls import ALONE, FAST, fork, requests, run, site_folder, stored
from forked_simulators import start_forked
from hostile_readers import page
from parallel_crawls import until
from parallel_portals import plan_of
from parallel_world import team
from portal_fronts import Front, Sent, always, in_front
from sale_sofia.crawl.tables import frontier
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

ADVERTS = 12
SIZE = 1_500_000
REFUSED = "ParseHostile: hostile_page: a tag of the page has more than 1000 attributes (manual_review)"
ENDED = {
    "ParseHostile: reading the page was ended: it took more than 1 s of computing (manual_review)",
    # A machine with much else to do may not let it compute a second in six.
    "ParseHostile: reading the page was ended: its process did not come to an end: killed (manual_review)",
}
STANDSTILL_SECONDS = 10.0
"""No portal is silent for so long, on a machine with much else to do."""


@contextmanager
def world(folder: Path, *shapes: str) -> Iterator[tuple[RunningSimulator, Front, list[str]]]:
    """Two portals whose files are in `folder / "sites"`; the first sends such pages in place of adverts."""
    config = SimulatorConfig(properties=ADVERTS, seed=3, port=0, log=folder / "log", truth=folder / "truth")
    with start_forked(config) as simulator:
        truth = [json.loads(line) for line in (folder / "truth").read_text("utf-8").splitlines()]
        ids = [row["external_id"] for row in truth if row["site"] == "imot.bg" and row["kind"] == "listing"]
        bad = {
            f"/obiava-{one}.*": always(Sent(body=page(shape, SIZE)))
            for one, shape in zip(ids, shapes, strict=False)
        }
        with in_front(simulator.urls["imot.bg"], bad) as front:
            starts = [front.here(url) for url in simulator.start_urls("imot.bg")]
            site_folder(folder / "sites", "imot.bg", start_urls=starts)
            site_folder(folder / "sites", "bazar.bg", start_urls=simulator.start_urls("bazar.bg"))
            yield simulator, front, ids[: len(shapes)]


def variables(folder: Path, **more: str) -> Mapping[str, str]:
    rates = {"DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 60_000, "bazar.bg": 300})}
    return {**ALONE, **FAST, **rates, "SITES_DIR": str(folder / "sites"), "PAGE_SECONDS": "1", **more}


def failures(data: Path) -> list[str]:
    with closing(sqlite3.connect(data / "sale_sofia.db")) as connection:
        why = "SELECT code || ': ' || reason FROM frontier WHERE state = 'failed' ORDER BY 1"
        rows = connection.execute(why)
        return [reason for (reason,) in rows]


def times_asked(front: Front, ids: list[str]) -> Counter[str]:
    return Counter(one for path in front.asked for one in ids if path.startswith(f"/obiava-{one}"))


def longest_silence(log: Path, site: str) -> float:
    times: list[float] = sorted(row["t"] for row in requests(log) if row["site"] == site)
    return max(after - before for before, after in itertools.pairwise(times))


def test_pages_that_would_take_minutes_cost_their_own_rows_and_no_other_portal_waits(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with world(tmp_path, "attributes", "attributes around tags") as (_, front, bad):
        told = run(data, "crawl", "imot.bg", "bazar.bg", "--json", **variables(tmp_path))
    jobs = {job["site"]: job for job in json.loads(told.stdout)["jobs"]}
    assert (jobs["imot.bg"]["failed"], jobs["bazar.bg"]["failed"]) == (2, 0)
    refused, ended = failures(data)
    assert (refused, ended in ENDED) == (REFUSED, True), ended
    assert times_asked(front, bad) == dict.fromkeys(bad, 1)
    assert Counter(row["site"] for row in stored(data)) == {"imot.bg": ADVERTS - 2, "bazar.bg": ADVERTS}
    assert longest_silence(tmp_path / "log", "bazar.bg") < STANDSTILL_SECONDS


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]


def computed(pid: int) -> float:
    """Seconds of computing of a process and of its children that are there."""
    stats = [Path(f"/proc/{one}/stat").read_text("utf-8").rpartition(")")[2] for one in (pid, *children(pid))]
    return sum(int(stat.split()[11]) for stat in stats) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_is_heard_while_a_page_that_never_ends_is_read(tmp_path: Path) -> None:
    with world(tmp_path, *["attributes around tags"] * ADVERTS) as (_, front, bad):
        more = variables(tmp_path, PAGE_SECONDS="600")
        with fork(tmp_path / "data", "crawl", "imot.bg", "--json", **more) as crawl:
            try:
                until(lambda: times_asked(front, bad), "an advert was asked for")
                enough = computed(crawl.pid) + 1
                until(lambda: computed(crawl.pid) > enough, "the page is read")
                readers, begun = children(crawl.pid), time.monotonic()
                crawl.send_signal(signal.SIGINT)
                out, err = crawl.communicate(timeout=60)
                assert time.monotonic() - begun < STANDSTILL_SECONDS
            finally:
                crawl.kill()
    assert (crawl.returncode, json.loads(out)["stopped"]) == (130, True), err
    assert not any(Path(f"/proc/{one}").exists() for one in readers)


def test_workers_ask_once_for_a_page_that_never_ends_and_their_job_does(tmp_path: Path) -> None:
    with (
        world(tmp_path, "attributes around tags") as (_, front, bad),
        team(tmp_path / "team", 2, **variables(tmp_path)) as made,
    ):
        made.start_worker()
        made.wait_until_ready()
        made.dispatch_plans([plan_of("imot.bg", made.environment)])
        made.wait(120)
        assert times_asked(front, bad) == dict.fromkeys(bad, 1)
        failed = select(frontier.c.code + ": " + frontier.c.reason).where(frontier.c.state == "failed")
        (ended,) = made.database.run_read(lambda connection: list(connection.execute(failed).scalars()))
        assert ended in ENDED
