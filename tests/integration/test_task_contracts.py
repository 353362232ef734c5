"""The tasks as the specification names them, sent by a program that knows only Redis and their names."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select

from crawls import IMPATIENT, differences, truth
from parallel_crawls import QUICK, until
from parallel_faults import said
from parallel_world import Party, party
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.planning import JobPlan, plan_for_workers
from sale_sofia.crawl.resilience.owners import this_owner
from sale_sofia.crawl.runners.dispatching import ScrapingKeys, result_url
from sale_sofia.crawl.tables import jobs
from sale_sofia.operations.services.redis import connect
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.simulation import SimulatorConfig

SITES = ("imot.bg", "bazar.bg")
ADVERTS = 12
CHUNK = 5
STRANGER = """
import json, sys
from celery import Celery

broker, backend, calls = sys.argv[1:]
app = Celery("stranger", broker=broker, backend=backend)
app.conf.task_default_queue = "sale_sofia"
for task, arguments, named in json.loads(calls):
    sent = app.send_task("sale_sofia.crawl.runners.tasks." + task, arguments, named)
    try:
        print(json.dumps(sent.get(timeout=60)))
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}"))
"""
Call = tuple[str, list[object], dict[str, object]]


def ask(crawl: Party, *calls: Call) -> list[Any]:
    """What the tasks answer to a program that has nothing of ours."""
    urls = (crawl.redis.url, result_url(crawl.redis.url))
    told = subprocess.run(
        [sys.executable, "-c", STRANGER, *urls, json.dumps(calls)],
        capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr + crawl.tail()
    return [json.loads(line) for line in told.stdout.splitlines()]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Party]:
    """Two portals and a worker; no beat, so that nothing is done but what was asked for."""
    folder = tmp_path_factory.mktemp("contracts")
    config = SimulatorConfig(
        sites=SITES, properties=ADVERTS, seed=3, port=0, log=folder / "log", truth=folder / "truth"
    )
    more = {**QUICK, **IMPATIENT, "WORKER_PROCESSES": "2", "SCRAPING_CHUNK_SIZE": str(CHUNK)}
    with party(folder / "p", config, processes=2, **more) as made:
        made.forked = True
        made.start_worker()
        made.wait_until_ready()
        yield made


def adverts_of(crawl: Party) -> list[str]:
    """Where imot.bg's adverts are, whatever other tests have stored."""
    return [one["url"] for one in truth(crawl.simulator).values() if one["site"] == "imot.bg"]


def keys_of(crawl: Party, job_id: str) -> dict[str, str]:
    with connect(crawl.redis.url) as client:
        return {key.value: str(client.get(key.of(job_id))) for key in ScrapingKeys}


@contextmanager
def watched(crawl: Party, states: dict[str, list[str]]) -> Iterator[None]:
    """Inside, the states that each job shows in Redis are noted in their order."""
    over = threading.Event()

    def watch() -> None:
        with connect(crawl.redis.url) as client:
            while not over.is_set():
                for key in client.scan_iter("scraping:*:status"):
                    seen = states.setdefault(key.split(":")[1], [])
                    if (state := str(client.get(key))) not in seen:
                        seen.append(state)
                time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def test_all_sites_by_their_start_urls(crawl: Party) -> None:
    urls = {site: crawl.simulator.start_urls(site) for site in SITES}
    states: dict[str, list[str]] = {}
    with watched(crawl, states):
        (told,) = ask(crawl, ("scrape_all_sites", [urls], {}))
        assert told["refused"] == {}
        assert set(told["jobs"]) == set(SITES)
        ids = told["jobs"].values()
        until(lambda: all(keys_of(crawl, one).get("status") == "COMPLETE" for one in ids), crawl.tail())
        time.sleep(0.05)
    for job_id in ids:
        assert states[job_id][-2:] == ["AGGREGATING", "COMPLETE"]
        keys = keys_of(crawl, job_id)
        assert float(keys["completed_at"]) > float(keys["started_at"])
        assert keys["total_urls"] == keys["result_count"]
        assert (keys["error_count"], keys["completed_chunks"]) == ("0", keys["total_chunks"])
        assert int(keys["completed_chunks"]) >= int(keys["total_urls"]) / CHUNK, "none is larger than that"
    assert differences(crawl.stored(), truth(crawl.simulator)) == {}


def test_a_dispatch_makes_the_job_that_it_names_once(crawl: Party) -> None:
    call: Call = ("dispatch_site_scraping", ["imot.bg", crawl.simulator.start_urls("imot.bg"), "mine.1"], {})
    first, again = ask(crawl, call, call)
    assert first["job_id"] == again["job_id"] == "mine.1"
    assert first["site"] == "imot.bg"
    assert {*map(str, ScrapingKeys)} <= set(first)
    until(lambda: keys_of(crawl, "mine.1").get("status") == "COMPLETE", crawl.tail())
    with crawl.database.read() as connection:
        assert connection.execute(select(jobs.c.id).where(jobs.c.id == "mine.1")).scalars().all() == [
            "mine.1"
        ]
    urls = crawl.simulator.start_urls("bazar.bg")
    named: Call = ("dispatch_site_scraping", [], {"site_name": "bazar.bg", "start_urls": urls})
    nowhere: Call = ("dispatch_site_scraping", ["imot.bg", ["https://www.imot.bg/za-nas"]], {})
    made, refused = ask(crawl, named, nowhere)
    assert made["job_id"].startswith("bazar.bg-")
    assert "https://www.imot.bg/za-nas leads to no search and no advert of imot.bg" in refused


def test_a_chunk_adds_its_addresses_and_its_results_end_the_job(crawl: Party) -> None:
    adverts = adverts_of(crawl)
    adverts, another = adverts[:3], adverts[3]
    plan = JobPlan(get_scraper("imot.bg"), (adverts[0],), limit=None, fresh=True)
    job_id = plan_for_workers(crawl.settings, crawl.database, plan)
    foreign = adverts[1].replace("127.0.0.1", "127.0.0.2")
    chunk, refused, search = ask(
        crawl,
        ("scrape_chunk", [adverts, job_id, "imot.bg"], {}),
        ("scrape_chunk", [[foreign], job_id, "imot.bg"], {}),
        ("scrape_chunk", [crawl.simulator.start_urls("imot.bg"), job_id, "imot.bg"], {}),
    )
    numbers = ("job_id", "site", "pages", "result_count", "error_count", "failed")
    assert [chunk[name] for name in numbers] == [job_id, "imot.bg", 3, 3, 0, False]
    for told in (refused, search):
        assert "is no advert of imot.bg for this job" in told
    (ended,) = ask(crawl, ("aggregate_results", [[chunk], job_id, "imot.bg"], {}))
    assert (ended["status"], ended["total_urls"], ended["result_count"]) == ("COMPLETE", 3, 3)
    assert (ended["total_chunks"], ended["completed_chunks"]) == (1, 1)
    assert ended["completed_at"] is not None
    late, same = ask(
        crawl,
        ("scrape_chunk", [[another], job_id, "imot.bg"], {}),
        ("aggregate_results", [[chunk], job_id, "imot.bg"], {}),
    )
    assert late["pages"] == late["result_count"] == 0
    assert same == ended


def test_batches_are_counted_as_they_were_made_and_not_from_the_number_of_addresses(crawl: Party) -> None:
    adverts = adverts_of(crawl)[: CHUNK + 3]
    plan = JobPlan(get_scraper("imot.bg"), (adverts[0],), limit=None, fresh=True)
    job_id = plan_for_workers(crawl.settings, crawl.database, plan)
    counted = []
    for urls in (adverts[:2], adverts[2:3], adverts[3:]):
        ask(crawl, ("scrape_chunk", [urls, job_id, "imot.bg"], {}))
        keys = keys_of(crawl, job_id)
        counted.append((keys["total_urls"], keys["total_chunks"], keys["completed_chunks"]))
    assert counted == [("2", "1", "1"), ("3", "2", "2"), (str(CHUNK + 3), "3", "3")]
    (ended,) = ask(crawl, ("aggregate_results", [None, job_id, "imot.bg"], {}))
    assert (ended["status"], ended["total_chunks"], ended["completed_chunks"]) == ("COMPLETE", 3, 3)


def test_a_portal_that_feeds_two_lanes_gets_them(crawl: Party) -> None:
    urls = crawl.simulator.start_urls("imot.bg")
    ask(crawl, ("dispatch_site_scraping", ["imot.bg", urls, "two.lanes"], {}))
    until(lambda: keys_of(crawl, "two.lanes").get("status") == "COMPLETE", crawl.tail())
    begun = [line for line in said(crawl).splitlines() if "lane begins" in line and "job=two.lanes" in line]
    first = {line.partition("process=")[2].split()[0] for line in begun if "generation=1 " in line}
    assert len(first) == 2, begun


def test_of_two_crawls_of_a_portal_the_other_is_refused(crawl: Party) -> None:
    advert = adverts_of(crawl)[0]
    busy = partial(plan_for_workers, crawl.settings, crawl.database)
    job_id = busy(JobPlan(get_scraper("imot.bg"), (advert,), limit=None, fresh=True))
    now, lease = time.time(), crawl.settings.lease_seconds
    held = partial(frontier.claim, job_id=job_id, owner=this_owner(), count=1, now=now, lease_seconds=lease)
    assert len(crawl.database.run_write(held)) == 1, "somebody is at it, however long the question takes"
    urls = {site: crawl.simulator.start_urls(site) for site in SITES}
    (told,) = ask(crawl, ("scrape_all_sites", [urls], {}))
    assert set(told["jobs"]) == {"bazar.bg"}
    assert job_id in told["refused"]["imot.bg"]
