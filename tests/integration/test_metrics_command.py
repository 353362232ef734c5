"""What `sale-sofia metrics` tells of a crawl is what the portals themselves wrote down."""

import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from crawls import IMPATIENT, Row, crawl_arguments, end_of, in_background, requests, run
from forked_simulators import start_forked
from parallel_crawls import until
from sale_sofia_simulator.simulation import SimulatorConfig

SITES = ("imot.bg", "bazar.bg")
ADVERTS = 40
FAULTS = {
    "429": "rate_limited",
    "503": "server_error",
    "captcha": "blocked",
    "truncate": "truncated",
}
NO_SUCH_ADVERT = "/obiava-1c170000000000001-prodava-dvustaen-apartament-grad-sofiya-lozenets"
PATIENCE = 60
Samples = dict[tuple[str, ...], float]


@dataclass(frozen=True)
class Crawled:
    data: Path
    asked: list[Row]
    """What the portals were asked for pages; robots.txt is none."""
    told: Mapping[str, subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """Two portals with faults, crawled by the real command that logs JSON; one advert is not there."""
    folder = tmp_path_factory.mktemp("metrics")
    faults = ",".join(f"{name}:0.08" for name in FAULTS)
    config = SimulatorConfig(
        sites=SITES,
        properties=ADVERTS,
        seed=8,
        port=0,
        faults=faults,
        retry_after_seconds=0,
        log=folder / "log",
    )
    with start_forked(config) as simulator:
        more = {"imot.bg": ["--start-url", simulator.urls["imot.bg"] + NO_SUCH_ADVERT], "bazar.bg": []}
        told = {
            site: run(
                folder / "data", "--log-json", *crawl_arguments(simulator, site), *more[site], **IMPATIENT
            )
            for site in SITES
        }
    asked = [row for row in requests(folder / "log") if row["path"] != "/robots.txt"]
    return Crawled(folder / "data", asked, told)


@pytest.fixture(scope="module")
def scraped(crawled: Crawled) -> dict[str, Samples]:
    """Every sample that Prometheus gets, by name and by the values of its labels in order."""
    server = in_background(crawled.data, "metrics", "--port", "0")
    until(lambda: server.output.read_text("utf-8").endswith("\n"), "its address")
    url = server.output.read_text("utf-8").removeprefix("metrics: ").strip()
    with urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - our own
        text = answer.read().decode()
    os.kill(server.pid, signal.SIGTERM)
    assert (end_of(server, PATIENCE).returncode, url.startswith("http://127.0.0.1:")) == (0, True)
    return samples(text)


def samples(text: str) -> dict[str, Samples]:
    found: dict[str, Samples] = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            labels = tuple(one.labels[name] for name in sorted(one.labels))
            found.setdefault(one.name, {})[labels] = one.value
    return found


def verdict(row: Row) -> str:
    """What the portal did to this request, in our words."""
    if row["status"] == 404:
        return "removed"
    return FAULTS[row["fault"]] if row["fault"] else "ok"


def test_requests_are_those_of_the_portals_own_log(crawled: Crawled, scraped: Mapping[str, Samples]) -> None:
    logged = Counter((row["site"], verdict(row)) for row in crawled.asked)
    assert scraped["sale_sofia_requests_total"] == logged
    for site in SITES:
        assert {of for where, of in logged if where == site} >= {*FAULTS.values(), "ok"}
    assert logged["imot.bg", "removed"] == 1


def test_bytes_and_answers_are_those_of_the_portals_own_log(
    crawled: Crawled, scraped: Mapping[str, Samples]
) -> None:
    whole = [row for row in crawled.asked if row["fault"] != "truncate"]
    received = {(site,): sum(row["bytes"] for row in whole if row["site"] == site) for site in SITES}
    assert scraped["sale_sofia_received_bytes_total"] == received
    answers = {(site,): sum(row["site"] == site for row in whole) for site in SITES}
    assert scraped["sale_sofia_response_seconds_count"] == answers
    assert {(site,): scraped["sale_sofia_response_seconds_bucket"][site, "+Inf"] for site in SITES} == answers


def test_retries_are_the_pages_that_were_asked_for_again(
    crawled: Crawled, scraped: Mapping[str, Samples]
) -> None:
    pages = {(site,): {row["path"] for row in crawled.asked if row["site"] == site} for site in SITES}
    asked = {(site,): sum(row["site"] == site for row in crawled.asked) for site in SITES}
    again = {site: asked[site] - len(pages[site]) for site in pages}
    assert scraped["sale_sofia_retries_total"] == again
    assert min(again.values()) > 0


def test_adverts_are_those_of_the_portals(scraped: Mapping[str, Samples]) -> None:
    stored = {("new", site): ADVERTS for site in SITES}
    nothing = {(change, site): 0 for change in ("changed", "unchanged") for site in SITES}
    assert scraped["sale_sofia_listings_stored_total"] == stored | nothing
    assert scraped["sale_sofia_listings"] == {(site,): ADVERTS for site in SITES}
    assert scraped["sale_sofia_jobs_ended_total"] == {(site, "COMPLETE"): 1 for site in SITES}
    assert scraped["sale_sofia_pages_failed_total"] == {(site,): 0 for site in SITES}
    assert scraped["sale_sofia_database_up"] == {(): 1}
    assert scraped["sale_sofia_redis_up"] == {(): 0}


def test_no_label_is_an_address(scraped: Mapping[str, Samples]) -> None:
    values = {value for found in scraped.values() for labels in found for value in labels}
    assert [value for value in values if "/" in value or "://" in value or "obiava" in value] == []
    assert len(values) < 60


@pytest.mark.parametrize("site", SITES)
def test_every_line_of_the_log_is_json_and_names_job_portal_and_page(crawled: Crawled, site: str) -> None:
    told = crawled.told[site]
    job = json.loads(told.stdout)["jobs"][0]["job_id"]
    lines = [json.loads(line) for line in told.stderr.splitlines()]
    ours = [line for line in lines if line["logger"].startswith("sale_sofia.crawl")]
    ours = [line for line in ours if ".photos." not in line["logger"]]  # they are of all portals together
    assert {(line["job"], line["site"]) for line in ours} == {(job, site)}
    assert [line["event"] for line in ours if "url" not in line] == ["crawl begins", "crawl ended"]
    failed = [row["path"] for row in crawled.asked if row["site"] == site and verdict(row) != "ok"]
    # Of some nothing is told: what broke off is asked for at once again, within its visit.
    answered = [line for line in ours if re.match("page (put off|failed): (Http|Network)", line["event"])]
    told_of = {line["url"].partition("//")[2].partition("/")[2] for line in answered}
    assert told_of <= {path.lstrip("/") for path in failed}
    assert len(told_of) > 3
    file = (crawled.data / "logs" / "crawl.log").read_text("utf-8").splitlines()
    assert [line for line in told.stderr.splitlines() if line not in file] == []
