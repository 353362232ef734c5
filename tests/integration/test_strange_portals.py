"""Portals whose adverts cannot be read, and portals without an end, crawled as a person does."""

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from crawls import ALONE, answer, fork, run
from forked_simulators import start_forked
from portal_fronts import Front, Instead, Sent, always, in_front
from sale_sofia.settings.words import Said
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "bazar.bg"
SEARCH, ADVERT, HALF = r"/obiavi.*", r"/obiava-.*", r"/obiava-\d+[02468]/.*"
UNREADABLE = always(Sent(body='<html><h1 class="classifiedTitle">Нов вид</h1></html>'.encode()))
FAST = {
    **ALONE,
    "DOMAIN_RATE_LIMITS": json.dumps({SITE: 60_000}),
    "RETRY_BASE_DELAY": "0.01",
    "RETRY_MAX_DELAY": "0.01",
}
MOST_SEARCHES = 12
"""Five pages without anything new, and what a kill may cost."""
Row = dict[str, Any]


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSimulator]:
    folder = tmp_path_factory.mktemp("portal")
    config = SimulatorConfig(
        sites=(SITE,), properties=30, seed=3, port=0, log=folder / "log", truth=folder / "truth"
    )
    with start_forked(config) as simulator:
        yield simulator


def arguments(portal: RunningSimulator, front: Front) -> list[str]:
    return ["crawl", SITE, "--start-url", front.here(portal.start_urls(SITE)[0]), "--json"]


def crawl(data: Path, portal: RunningSimulator, instead: dict[str, Instead]) -> tuple[int, Row]:
    """One crawl of the portal with these answers: its exit code, and its job."""
    with in_front(portal.urls[SITE], instead) as front:
        told = run(data, *arguments(portal, front), **FAST)
    return told.returncode, json.loads(told.stdout)["jobs"][0]


def one_row(data: Path, query: str) -> tuple[Any, ...]:
    with closing(sqlite3.connect(data / "sale_sofia.db")) as connection:
        row: tuple[Any, ...] = connection.execute(query).fetchone()
        return row


def incidents(data: Path) -> dict[str, str]:
    """What `status` says is wrong."""
    return {one["kind"]: one["message"] for one in answer(run(data, "status", "--json"))["incidents"]}


def test_a_first_crawl_that_read_nothing_has_failed_and_says_so(
    portal: RunningSimulator, tmp_path: Path
) -> None:
    code, job = crawl(tmp_path, portal, {ADVERT: UNREADABLE})
    assert (code, job["state"]) == (1, "FAILED"), job["error"]
    assert re.match(r"none of \d\d adverts could be read; http://127\.0\.0\.1:\d+/obiava-\d+/", job["error"])
    complete, reason = one_row(tmp_path, "SELECT complete, reason FROM sweeps")
    assert (complete, Said.of(json.loads(reason))) == (0, job["error"])
    assert incidents(tmp_path)["failed_job"] == job["error"]
    assert "adverts cannot be read" in incidents(tmp_path)["drift_unreadable"]
    told = answer(run(tmp_path, "report", "--json"))
    assert (told["health"], told["runs"][0]["state"]) == ("critical", "FAILED")
    assert "no advert could be read" in told["runs"][0]["health"]["reasons"]


def test_a_portal_that_lists_adverts_and_has_none_of_them_has_failed(
    portal: RunningSimulator, tmp_path: Path
) -> None:
    code, job = crawl(tmp_path, portal, {ADVERT: always(Sent(404))})
    assert (code, job["state"], job["failed"]) == (1, "FAILED", 0)
    assert job["error"].endswith("it is listed, and its page says that it is removed")
    assert one_row(tmp_path, "SELECT complete FROM sweeps") == (0,)


def test_half_of_it_is_partial_and_the_next_good_crawls_are_complete(
    portal: RunningSimulator, tmp_path: Path
) -> None:
    code, job = crawl(tmp_path, portal, {HALF: UNREADABLE})
    assert (code, job["state"]) == (1, "PARTIAL")
    assert re.match(r"\d\d of \d\d opened adverts could not be read; ", job["error"])
    assert one_row(tmp_path, "SELECT complete, gone FROM sweeps") == (0, 0)
    assert incidents(tmp_path)["partial_job"] == job["error"]
    code, job = crawl(tmp_path, portal, {})
    assert (code, job["state"], incidents(tmp_path)) == (0, "COMPLETE", {})
    code, job = crawl(tmp_path, portal, {ADVERT: UNREADABLE})  # nothing is new, so nothing of it is asked for
    assert (code, job["state"], job["new"], job["failed"]) == (0, "COMPLETE", 0, 0)


def test_single_adverts_of_which_half_cannot_be_read_are_partial(
    portal: RunningSimulator, tmp_path: Path
) -> None:
    adverts = sorted(set(re.findall(r"/obiava-\d+/[^\"<]+", truth_of(portal))))
    pair = [next(one for one in adverts if bool(re.match(HALF, one)) is even) for even in (True, False)]
    with in_front(portal.urls[SITE], {HALF: UNREADABLE}) as front:
        starts = [word for path in pair for word in ("--start-url", front.url + path)]
        told = run(tmp_path, "crawl", SITE, *starts, "--json", **FAST)
    (job,) = json.loads(told.stdout)["jobs"]
    assert (told.returncode, job["state"], job["adverts"], job["failed"]) == (1, "PARTIAL", 1, 1)


def truth_of(portal: RunningSimulator) -> str:
    assert portal.config.truth is not None
    return portal.config.truth.read_text("utf-8")


def without_end() -> Instead:
    """The portal's page of results with a page after it, for ever; each lacks another of its adverts."""
    numbers = count(1)

    def change(sent: Sent) -> Sent:
        number, text = next(numbers), sent.body.decode()
        cards = list(re.finditer(r'(?<=listItemLink)" data-id="', text)) or list(
            re.finditer(r'data-id="', text)
        )
        missing = cards[number % len(cards)].start()
        text = text[:missing] + text[missing:].replace("data-id", "data-was", 1)
        text = re.sub(r"Над \d[\d ]* обяви", "Над 1000 обяви", text)
        text = re.sub(r'("offerCount":\s*"?)\d+', r"\g<1>1000", text)
        more = f'<div id="pagination"><a class="show-more" href="?token={number}">още</a></div>'
        return replace(sent, body=text.replace("<div class='footer'", f"{more}<div class='footer'").encode())

    return change


def test_a_search_without_an_end_ends_also_when_it_is_killed_and_says_what_is_missing(
    portal: RunningSimulator, tmp_path: Path
) -> None:
    slow = FAST | {"DOMAIN_RATE_LIMITS": json.dumps({SITE: 600})}
    with in_front(portal.urls[SITE], {SEARCH: without_end()}) as front:
        crawling = fork(tmp_path, *arguments(portal, front), **slow)
        wait_for_searches(front, 3)
        crawling.kill()
        crawling.communicate()
        told = run(tmp_path, *arguments(portal, front), **FAST)
        searches = [path for path in front.asked if re.match(SEARCH, path)]
    (job,) = json.loads(told.stdout)["jobs"]
    assert 6 <= len(searches) <= MOST_SEARCHES, searches
    assert (told.returncode, job["state"]) == (1, "COMPLETE")
    assert re.search(
        r"of 1 000 seen, .* ended after \d+ of 1 000: its last 5 pages brought nothing new$", job["missing"]
    )
    assert one_row(tmp_path, "SELECT complete, gone FROM sweeps") == (0, 0)
    assert one_row(tmp_path, "SELECT count(*) FROM shown_adverts") == (0,)
    assert job["missing"] in incidents(tmp_path)["coverage"]


def wait_for_searches(front: Front, least: int) -> None:
    deadline = time.monotonic() + 60
    while sum(path.startswith("/obiavi") for path in front.asked) < least and time.monotonic() < deadline:
        time.sleep(0.02)
