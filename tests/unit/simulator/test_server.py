import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from forked_simulators import start_forked
from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.splitting import Hints
from sale_sofia_simulator.portal import PortalOptions
from sale_sofia_simulator.portals import bazar_bg, imot_bg
from sale_sofia_simulator.running import RunningSimulator, SimulatorFailed, start_in_process
from sale_sofia_simulator.simulation import SimulatorConfig
from sale_sofia_simulator.world import make_world
from tables import each_row

SITES = ("imot.bg", "bazar.bg")
SEED = 7
PROPERTIES = 150
CARDS = {"imot.bg": rb'<div class="item \w* " id="ida(\w+)"', "bazar.bg": rb'data-id="(\d+)" data-paid'}
NEXT = {"imot.bg": rb'<link rel="next" href="([^"]+)"', "bazar.bg": rb'<a href="([^"]+)" class="show-more"'}


class Got(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def get(url: str, method: str = "GET", **headers: str) -> Got:
    parts = urlsplit(url)
    assert parts.hostname
    with closing(HTTPConnection(parts.hostname, parts.port, timeout=20)) as connection:
        connection.request(method, url.partition(parts.netloc)[2] or "/", headers=headers)
        answer = connection.getresponse()
        return Got(answer.status, dict(answer.headers), answer.read())


def walk(site: str, url: str) -> Iterator[list[str]]:
    following: str | None = url
    while following:
        got = get(following)
        assert got.status == 200
        yield [number.decode() for number in re.findall(CARDS[site], got.body)]
        found = re.search(NEXT[site], got.body)
        following = found[1].decode() if found else None


def told(truth: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return {key: answer.get(key) for key in truth}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("simulator")


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[RunningSimulator]:
    config = SimulatorConfig(
        properties=PROPERTIES,
        seed=SEED,
        port=0,
        log=folder / "log.jsonl",
        truth=folder / "truth.jsonl",
        options={"imot.bg": PortalOptions(most_results=80)},
        crawl_delay=0.5,
    )
    with start_forked(config) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def truths(running: RunningSimulator) -> list[dict[str, Any]]:
    assert running.config.truth
    return [json.loads(line) for line in running.config.truth.read_text("utf-8").splitlines()]


def test_the_truth_file_has_every_advert_of_the_world_at_its_served_address(
    running: RunningSimulator, truths: list[dict[str, Any]]
) -> None:
    world = make_world(PROPERTIES, SEED)
    expected = [advert.external_id for advert in (*world.imot, *world.bazar)]
    assert [truth["external_id"] for truth in truths] == expected
    assert all(truth["url"].startswith(f"{running.urls[truth['site']]}/obiava-") for truth in truths)


def test_a_page_is_the_rendered_page_with_its_links_turned_to_the_server(running: RunningSimulator) -> None:
    world = make_world(3, SEED)
    base = running.urls["imot.bg"]
    advert = world.imot[0]
    got = get(base + advert.url.removeprefix("https://www.imot.bg"))
    assert (got.status, got.headers["Content-Type"]) == (200, "text/html")
    back = imot_bg.listing_page(advert)
    for host in (b"https://www.imot.bg", b"//www.imot.bg", b"https://imot.bg", b"https://m.imot.bg"):
        back = back.replace(host, base.encode())
    assert got.body == back


def test_no_link_leads_to_the_real_portal_but_photos_and_firms_stay(
    running: RunningSimulator, truths: list[dict[str, Any]]
) -> None:
    for site in SITES:
        urls = [truth["url"] for truth in truths if truth["site"] == site][:20] + running.start_urls(site)
        bodies = b"".join(get(url).body for url in urls)
        name = re.escape(site).encode()
        assert not re.search(rb"/\\?/(www\.|m\.)?" + name + rb"(?![\w.-])", bodies)
        assert re.search(rb"//\w+\." + name, bodies)
        assert b".focus.bg/" in bodies
        assert running.urls[site].replace("/", "\\/").encode() in bodies or site == "imot.bg"


def test_the_served_pages_say_exactly_the_truth(truths: list[dict[str, Any]]) -> None:
    for truth in truths[::7]:
        answer = read_page(get_scraper(truth["site"]), Page(truth["url"], get(truth["url"]).body))
        assert told(truth, answer) == truth


@pytest.mark.parametrize("site", SITES)
def test_every_advert_is_reached_exactly_once(
    running: RunningSimulator, truths: list[dict[str, Any]], site: str
) -> None:
    found = [
        number
        for url in running.start_urls(site, split=True)
        for numbers in walk(site, url)
        for number in numbers
    ]
    assert sorted(found) == sorted(truth["external_id"] for truth in truths if truth["site"] == site)


def test_a_capped_search_ends_and_says_so(running: RunningSimulator) -> None:
    url = running.start_urls("imot.bg")[0]
    assert url == f"{running.urls['imot.bg']}/obiavi/prodazhbi/grad-sofiya"
    assert [len(numbers) for numbers in walk("imot.bg", url)] == [40, 40]
    first = read_page(get_scraper("imot.bg"), Page(url, get(url).body))
    assert (first["total"], first["capped"], first["next_url"]) == (80, True, f"{url}/p-2")


def test_the_crawlers_own_cutting_of_a_capped_search_finds_all_of_it(
    running: RunningSimulator, truths: list[dict[str, Any]]
) -> None:
    url = running.start_urls("imot.bg")[0]
    smaller = [part for part in get_scraper("imot.bg").parts(url, Hints()).urls if get(part).status != 404]
    found = [number for part in smaller for numbers in walk("imot.bg", part) for number in numbers]
    wanted = {"site": "imot.bg", "deal": "sale", "city": "София"}
    expected = [truth["external_id"] for truth in truths if wanted.items() <= truth.items()]
    assert sorted(found) == sorted(expected)
    assert len(expected) > 80


def test_a_page_beyond_the_last_is_the_last(running: RunningSimulator) -> None:
    imot, bazar = (running.start_urls(site)[0] for site in SITES)
    assert get(f"{imot}/p-40").body == get(f"{imot}/p-2").body
    assert get(f"{bazar}?page=40").body == get(f"{bazar}?page=2").body


def test_a_search_that_finds_nothing_says_so(running: RunningSimulator) -> None:
    url = f"{running.urls['imot.bg']}/obiavi/naemi/grad-sofiya/tsentar/hotel"
    assert "Няма намерени обяви" in get(url).body.decode("windows-1251")
    answer = read_page(get_scraper("imot.bg"), Page(url, get(url).body))
    assert (answer["kind"], answer["total"], answer["cards"]) == ("search", 0, [])


def test_the_bare_id_and_any_words_after_it_lead_to_the_advert(
    running: RunningSimulator, truths: list[dict[str, Any]]
) -> None:
    for truth in (truths[0], truths[-1]):
        bare = f"{running.urls[truth['site']]}/obiava-{truth['external_id']}"
        words = f"{bare}-new-words" if truth["site"] == "imot.bg" else f"{bare}/new-words"
        assert get(bare).body == get(words).body == get(truth["url"]).body


@pytest.mark.parametrize(
    ("site", "path", "category"),
    [
        ("imot.bg", "/obiava-1b175000000012346-prodava", "/obiavi/prodazhbi/grad-sofiya"),
        ("imot.bg", "/obiava-2c175000000012348", "/obiavi/naemi/grad-sofiya"),
        ("bazar.bg", "/obiava-49999999/prodawa-2-staen", "/obiavi/apartamenti/sofia"),
    ],
)
def test_a_gone_advert_leads_to_its_category(
    running: RunningSimulator, site: str, path: str, category: str
) -> None:
    got = get(running.urls[site] + path)
    assert (got.status, got.headers["Location"]) == (302, running.urls[site] + category)
    results = get(got.headers["Location"])
    assert results.status == 200
    assert read_page(get_scraper(site), Page(running.urls[site] + path, results.body))["kind"] == "removed"


@each_row(
    ("site", "path"),
    [
        ("imot.bg", "/obiava-1b175000000012345"),
        ("imot.bg", "/obiava-1234-zhilishtna-sgrada-that-no-page-shows"),
        ("imot.bg", "/obiavi/prodazhbi/grad-nikade"),
        ("imot.bg", "/obiavi/prodazhbi/grad-sofiya/p-0"),
        ("imot.bg", "/obiavi/prodazhbi/dianabad"),
        ("imot.bg", "/obiavi/kupuva/grad-sofiya"),
        ("imot.bg", "/"),
        ("bazar.bg", "/obiavi/avto/sofia"),
        ("bazar.bg", "/obiavi/apartamenti/nikade"),
        ("bazar.bg", "/obiavi/apartamenti/sofia?page=x"),
        ("bazar.bg", "/__simulator__/nothing"),
    ],
)
def test_any_other_address_is_not_found(running: RunningSimulator, site: str, path: str) -> None:
    assert get(running.urls[site] + path).status == 404


def test_a_project_that_a_search_shows_has_its_page(running: RunningSimulator) -> None:
    body = get(running.start_urls("imot.bg")[0]).body
    found = re.search(rb'href="(http://[^"]+/obiava-\d{4}-[^"]+)"', body)
    assert found
    url = found[1].decode()
    answer = read_page(get_scraper("imot.bg"), Page(url, get(url).body))
    assert answer == {"site": "imot.bg", "kind": "project", "url": url}


def test_robots_txt_closes_one_path_and_gives_the_delay(running: RunningSimulator) -> None:
    got = get(f"{running.urls['imot.bg']}/robots.txt")
    assert (got.status, got.headers["Content-Type"]) == (200, "text/plain")
    assert got.body == b"User-agent: *\nDisallow: /pcgi/\nCrawl-delay: 0.5\n"


def test_other_methods(truths: list[dict[str, Any]]) -> None:
    got = get(truths[0]["url"], "HEAD")
    assert (got.status, got.body) == (200, b"")
    assert int(got.headers["Content-Length"]) == len(get(truths[0]["url"]).body)
    assert get(truths[0]["url"], "POST").status == 405


def test_whoever_has_an_answer_finds_the_request_in_the_log(running: RunningSimulator) -> None:
    assert running.log
    before, sent = len(running.log.read_text("utf-8").splitlines()), time.time()
    size = len(get(f"{running.urls['bazar.bg']}/obiavi/apartamenti?page=2", **{"User-Agent": "me"}).body)
    get(f"{running.urls['imot.bg']}/nothing")
    first, second = map(json.loads, running.log.read_text("utf-8").splitlines()[before:])
    assert abs(first.pop("t") - sent) < 2
    assert first == {
        "site": "bazar.bg",
        "path": "/obiavi/apartamenti?page=2",
        "status": 200,
        "fault": None,
        "bytes": size,
        "open": 1,
        "host": running.urls["bazar.bg"].removeprefix("http://"),
        "user_agent": "me",
        "cookie": None,
    }
    assert (second["site"], second["status"], second["user_agent"]) == ("imot.bg", 404, None)


def test_bazar_shows_both_deals_of_the_whole_country_in_its_widest_search(
    running: RunningSimulator, truths: list[dict[str, Any]]
) -> None:
    url = f"{running.urls['bazar.bg']}/obiavi/apartamenti"
    found = [number for numbers in walk("bazar.bg", url) for number in numbers]
    assert sorted(found) == [truth["external_id"] for truth in truths if truth["site"] == "bazar.bg"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly_and_the_log_is_whole(tmp_path: Path, number: int) -> None:
    config = SimulatorConfig(properties=2, port=0, sites=("bazar.bg",), log=tmp_path / "log.jsonl")
    with start_in_process(config) as simulator:
        get(f"{simulator.urls['bazar.bg']}/robots.txt")
        simulator.process.send_signal(number)
        assert simulator.process.wait(timeout=60) == 0
    lines = (tmp_path / "log.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["path"] for line in lines] == ["/robots.txt"]
    with pytest.raises(ConnectionRefusedError):
        get(simulator.urls["bazar.bg"])


@pytest.mark.slow
def test_the_log_is_continued_by_the_next_run(tmp_path: Path) -> None:
    for _ in range(2):
        config = SimulatorConfig(properties=1, port=0, sites=("imot.bg",), log=tmp_path / "log.jsonl")
        with start_forked(config) as simulator:
            get(f"{simulator.urls['imot.bg']}/robots.txt")
    assert len((tmp_path / "log.jsonl").read_text("utf-8").splitlines()) == 2


@pytest.mark.slow
def test_it_does_not_outlive_a_parent_that_is_killed() -> None:
    script = (
        "import os\n"
        "from sale_sofia_simulator.running import start_in_process\n"
        "from sale_sofia_simulator.simulation import SimulatorConfig\n"
        "print(start_in_process(SimulatorConfig(properties=1, port=0)).process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    parent = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    child = int(parent.stdout)
    for _ in range(1200):
        if not _alive(child):
            return
        time.sleep(0.05)
    pytest.fail("the simulator is still there")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.slow
def test_a_port_in_use_is_one_sentence(running: RunningSimulator, capfd: pytest.CaptureFixture[str]) -> None:
    port = urlsplit(running.urls["imot.bg"]).port
    assert port
    with pytest.raises(SimulatorFailed):
        start_in_process(SimulatorConfig(properties=1, port=port, sites=("imot.bg",)))
    assert (
        f"the simulator cannot listen on 127.0.0.1:{port}: Address already in use" in capfd.readouterr().err
    )


@pytest.mark.slow
@pytest.mark.parametrize("status", [404, 500])
def test_robots_txt_can_be_missing_or_broken(status: int) -> None:
    config = SimulatorConfig(properties=1, port=0, sites=("bazar.bg",), robots_status=status)
    with start_forked(config) as simulator:
        assert get(f"{simulator.urls['bazar.bg']}/robots.txt").status == status


@pytest.mark.slow
def test_the_next_day_comes_to_all_portals_at_once(tmp_path: Path) -> None:
    config = SimulatorConfig(properties=300, seed=3, port=0, truth=tmp_path / "truth.jsonl")
    with start_forked(config) as simulator:
        first = _ids(tmp_path / "truth.jsonl")
        assert simulator.advance() == 1
        second = _ids(tmp_path / "truth.jsonl")
        new, gone = second - first, first - second
        assert {len(new), len(gone)} & {0} == set()
        for site in SITES:
            for key in {one for one in new | gone if one[0] == site}:
                got = get(f"{simulator.urls[site]}/obiava-{key[1]}")
                assert got.status == 200 if key in new else got.status in {302, 404}


def _ids(truth: Path) -> set[tuple[str, str]]:
    return {
        (line["site"], line["external_id"]) for line in map(json.loads, truth.read_text("utf-8").splitlines())
    }


@pytest.mark.slow
def test_bazar_words_its_dates_by_the_day_that_is_served() -> None:
    world = make_world(40, SEED)
    today = next(advert for advert in world.bazar if advert.updated.date() == world.now.date())
    with start_forked(SimulatorConfig(properties=40, seed=SEED, port=0, sites=("bazar.bg",))) as simulator:
        url = simulator.urls["bazar.bg"] + today.url.removeprefix("https://bazar.bg")
        assert "днес в" in get(url).body.decode()
        assert bazar_bg.listing_page(today).count("днес в".encode()) == get(url).body.count("днес в".encode())
        simulator.advance()
        assert "вчера в" in get(url).body.decode()
