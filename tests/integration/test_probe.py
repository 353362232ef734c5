"""`sites probe` on simulated portals: the right verdict on each, in at most seven requests by its own log."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from crawls import Row, answer, fork, requests, run, site_folder, truth
from forked_simulators import start_forked
from listening import free_port
from parallel_portals import Portal, write_site_file
from portal_fronts import Front, Instead, Sent, always, in_front, replaced
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SITES, SimulatorConfig

MOST = 7
ADVERTS = 200
FAST = {"DOMAIN_RATE_LIMITS": json.dumps(dict.fromkeys((*SITES, "default"), 60_000))}
IMOT = "/obiavi/prodazhbi/grad-sofiya"
ADVERT = r"/obiava-.*"


@contextmanager
def simulated(
    folder: Path,
    *sites: str,
    properties: int = ADVERTS,
    **more: Any,  # noqa: ANN401 - as the simulator's own
) -> Iterator[RunningSimulator]:
    """Portals at work, each with a site file in `sites` that leads to it."""
    config = SimulatorConfig(
        sites=sites, properties=properties, port=0, log=folder / "log", truth=folder / "truth", **more
    )
    with start_forked(config) as simulator:
        for site in sites:
            site_folder(folder / "sites", site, start_urls=simulator.start_urls(site))
        yield simulator


@pytest.fixture(scope="module")
def portals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSimulator]:
    """All of them, in good health."""
    with simulated(tmp_path_factory.mktemp("portals"), *SITES) as simulator:
        yield simulator


def probed(folder: Path, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return run(folder / "data", "sites", "probe", *arguments, **{**FAST, **more})


def probed_one(folder: Path, *arguments: str | Path, **more: str) -> Row:
    """What is told of one portal, and that the exit code says the same."""
    done = probed(folder, *arguments, "--json", **more)
    assert "Traceback" not in done.stderr
    (told,) = json.loads(done.stdout)["probes"]
    assert done.returncode == (0 if told["verdict"] == "reads well" else 1), done.stderr
    return dict(told)


def own_files(folder: Path) -> dict[str, str]:
    return {"SITES_DIR": str(folder / "sites")}


def files_of(portals: RunningSimulator) -> dict[str, str]:
    return own_files(log_of(portals).parent)


def log_of(portals: RunningSimulator) -> Path:
    assert portals.log is not None
    return portals.log


def test_portals_in_good_health_read_well_in_six_requests_each(
    portals: RunningSimulator, tmp_path: Path
) -> None:
    before = len(requests(log_of(portals)))
    told = answer(probed(tmp_path, "--json", **files_of(portals)))["probes"]
    new, true = requests(log_of(portals))[before:], truth(portals)
    assert {one["site"]: one["verdict"] for one in told} == dict.fromkeys(SITES, "reads well")
    for one in told:
        asked = [row["path"] for row in new if row["site"] == one["site"]]
        assert asked[0] == "/robots.txt"
        assert len(asked) == len(set(asked)) == one["requests"] == 6
        assert [page["kind"] for page in one["pages"]] == ["search", "search", *["listing"] * 3]
        adverts = [page["values"] for page in one["pages"][2:]]
        for values in adverts:
            said = true[one["site"], values["external_id"]]
            assert [values["price_eur"], values["area_sqm"]] == [said["price_eur"], said["area_sqm"]]


def test_the_table_says_all_of_it_at_any_width(portals: RunningSimulator, tmp_path: Path) -> None:
    url = portals.start_urls("imot.bg")[0]
    for columns in ("80", "200"):
        told = probed(tmp_path, "imot.bg", "--start-url", url, COLUMNS=columns)
        assert told.returncode == 0, told.stderr
        lines = told.stdout.splitlines()
        assert lines[-1] == "imot.bg: reads well"
        assert re.search(r"robots.txt: answered 200, allowed, no Crawl-delay", lines[1])
        assert re.fullmatch(r"requests: 6, one every [\d.]+ s", lines[2])
        assert re.search(
            r"results\s+│ 200\s+│ search\s+│ none\s+│ 40 cards, \d+ announced, a next page", told.stdout
        )
        assert re.search(r"advert 3\s+│ 200\s+│ listing\s+│ none\s+│ price, area, place, type", told.stdout)
        assert re.search(r"│ price\s+│ 3\s+│ \d+ EUR\s+│", told.stdout)
        assert max(map(len, lines)) <= max(int(columns), len(url) + 10)


def test_phones_and_names_are_shown_masked_and_never_kept(portals: RunningSimulator, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    told = probed(tmp_path, "imot.bg", "--start-url", portals.start_urls("imot.bg")[0], "--keep", kept)
    assert told.returncode == 0, told.stderr
    assert re.search(r"│ phones\s+│ 3\s+│ \d numbers?\s+│", told.stdout)
    assert re.search(r"│ seller_name\s+│ \d\s+│ a name\s+│", told.stdout)
    true = truth(portals)
    values = json.loads((kept / "truth.json").read_text("utf-8"))
    written = told.stdout + "".join(path.read_text("utf-8") for path in kept.glob("*.json*"))
    adverts = [true[one["site"], one["external_id"]] for one in values.values() if one["kind"] == "listing"]
    numbers = [phone for one in adverts for phone in one["phones"]]
    assert len(adverts) == 3
    assert numbers
    assert [phone for phone in numbers if phone[-8:] in written] == []
    assert [one["seller_name"] for one in adverts if one["seller_name"] in written] == []


def test_what_is_kept_is_read_again_to_the_same_values(portals: RunningSimulator, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    told = probed_one(tmp_path, "bazar.bg", "--start-url", portals.start_urls("bazar.bg")[0], "--keep", kept)
    assert (kept / "bazar.bg" / "robots.txt").read_bytes().startswith(b"User-agent: *")
    again = run(tmp_path, "parse", "--manifest", kept / "manifest.jsonl").stdout.splitlines()
    values = json.loads((kept / "truth.json").read_text("utf-8"))
    assert len(again) == len(values) == len(told["pages"]) == 5
    for read, expected in zip(map(json.loads, again), values.values(), strict=True):
        own = {"photo_count": len(read.get("photo_urls", ())), **read}
        start_of = str(expected.pop("description_start", ""))
        assert str(read.get("description")).startswith(start_of)
        assert {name: own[name] for name in expected if name != "cards"} | {
            "cards": expected.get("cards")
        } == {
            **expected,
            "cards": expected.get("cards"),
        }
    assert json.loads((kept / "probe.json").read_text("utf-8"))["probes"] == [told]


def test_nothing_is_asked_when_the_pages_could_not_be_kept(portals: RunningSimulator, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    before = log_of(portals).read_bytes()
    told = probed(tmp_path, "bazar.bg", "--keep", tmp_path, **files_of(portals))
    assert told.returncode == 2
    assert "is not an empty folder" in told.stderr
    assert log_of(portals).read_bytes() == before


def test_a_broken_selector_is_named(portals: RunningSimulator, tmp_path: Path) -> None:
    folder = site_folder(tmp_path / "sites", "imot.bg", start_urls=portals.start_urls("imot.bg"))
    file = folder / "imot.bg.yaml"
    content = yaml.safe_load(file.read_text("utf-8"))
    content["listing"]["fields"]["price"]["from"] = [{"css": ".no-such-price"}]
    content["listing"]["fields"]["area_sqm"]["from"] = [{"css": "h1"}]
    file.write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    before = len(requests(log_of(portals)))
    told = probed_one(tmp_path, "imot.bg", **own_files(tmp_path))
    assert (told["verdict"], told["reasons"]) == ("reads in part", ["price 0 of 3, area 0 of 3"])
    assert told["fields"]["place"] == {"adverts": 3, "of": 3}
    shown = probed(tmp_path, "imot.bg", **own_files(tmp_path)).stdout
    assert "imot.bg: reads in part (price 0 of 3, area 0 of 3)" in shown.splitlines()[-1]
    assert re.search(r"found, but no value made of it: .*area_sqm “", " ".join(shown.split()))
    assert len(requests(log_of(portals))) == before + 12


@pytest.mark.parametrize(
    ("faults", "kind", "reason"),
    [
        ("captcha:1", "blocked", r"results: blocked: HTTP 200 by .+ \((captcha|cloudflare)\)"),
        ("challenge:1", "blocked", r"results: blocked: HTTP 403 by .+ \(challenge\)"),
        ("429:1", "rate limited", r"results: rate_limited: HTTP 429"),
        ("503:1", "server error", r"results: server_error: HTTP 503"),
        ("reset:1", "no answer", r"results: .+"),
        ("truncate:1", "no answer", r"results: .+"),
        ("cut:1", "no answer", r"results: truncated: .+ bytes without an end"),
        ("slow:1", "timeout", r"results: .+ no answer in 1 s"),
    ],
)
def test_a_portal_that_keeps_us_out_or_cannot_answer_is_asked_once(
    tmp_path: Path, faults: str, kind: str, reason: str
) -> None:
    with simulated(tmp_path, "imot.bg", properties=60, faults=faults, slow_seconds=2.0):
        told = probed_one(tmp_path, "imot.bg", **own_files(tmp_path), HTTP_TIMEOUT="1")
        wait_for_requests(tmp_path / "log", 2)
        assert told["verdict"] == "does not read"
        assert re.fullmatch(reason, told["reasons"][0]), told["reasons"]
        assert told["pages"][0]["kind"] == kind
        assert bool(told["pages"][0]["block"]) == (kind == "blocked")
    assert [row["path"] for row in requests(tmp_path / "log")] == ["/robots.txt", IMOT]


def wait_for_requests(log: Path, count: int) -> None:
    """A slow portal writes down what it was asked when it has answered."""
    deadline = time.monotonic() + 60
    while len(requests(log)) < count and time.monotonic() < deadline:
        time.sleep(0.05)


def test_a_portal_that_forbids_is_asked_for_robots_txt_alone(
    portals: RunningSimulator, tmp_path: Path
) -> None:
    with in_front(portals.urls["homes.bg"], {"/robots.txt": always(robots("/"))}) as front:
        url = front.here(portals.start_urls("homes.bg")[0])
        told = probed_one(tmp_path, "homes.bg", "--start-url", url)
        assert front.asked == ["/robots.txt"]
    assert told["verdict"] == "does not read"
    assert told["reasons"][0].startswith("robots.txt forbids /api/offers?")
    assert told["robots"]["allowed"] is False


def robots(closed: str) -> Sent:
    return Sent(body=f"User-agent: *\nDisallow: {closed}\n".encode(), content_type="text/plain")


def test_adverts_that_robots_txt_forbids_are_not_asked_for(portals: RunningSimulator, tmp_path: Path) -> None:
    with changed(portals, {"/robots.txt": always(robots("/obiava-"))}) as (front, url):
        told = probed_one(tmp_path, "imot.bg", "--start-url", url)
        assert front.asked == ["/robots.txt", IMOT, f"{IMOT}/p-2"]
    assert told["verdict"] == "does not read"
    assert told["reasons"] == ["no advert could be read: not asked: robots.txt does not allow it"]


def test_the_next_start_that_is_allowed_is_taken_and_told(portals: RunningSimulator, tmp_path: Path) -> None:
    with in_front(portals.urls["imot.bg"], {"/robots.txt": always(robots(f"{IMOT}$"))}) as front:
        closed, open_ = f"{front.url}{IMOT}", f"{front.url}{IMOT}/dvustaen"
        starts = ("--start-url", closed, "--start-url", open_)
        told = probed_one(tmp_path, "imot.bg", *starts)
        shown = probed(tmp_path, "imot.bg", *starts).stdout
        assert IMOT not in front.asked
    assert told["start_url"] == open_
    assert told["robots"]["forbidden"] == [closed]
    assert told["pages"][0]["values"]["cards"]
    assert f"not allowed: {closed}\nbegan instead at {open_}" in shown


def test_a_portal_that_is_down(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}{IMOT}"
    told = probed_one(tmp_path, "imot.bg", "--start-url", url)
    assert (told["verdict"], told["requests"]) == ("does not read", 1)
    assert told["reasons"][0].startswith("robots.txt could not be had: http://127.0.0.1:")
    assert "Could not connect to server" in told["reasons"][0]
    assert told["robots"] == {"status": None, "allowed": False, "crawl_delay": None, "forbidden": []}


@pytest.mark.parametrize("status", [503, 429])
def test_without_robots_txt_nothing_is_asked(tmp_path: Path, status: int) -> None:
    with simulated(tmp_path, "imot.bg", properties=3, robots_status=status):
        told = probed_one(tmp_path, "imot.bg", **own_files(tmp_path))
        assert [row["path"] for row in requests(tmp_path / "log")] == ["/robots.txt"]
    assert told["verdict"] == "does not read"
    assert f"answered {status}" in told["reasons"][0]


@contextmanager
def changed(portals: RunningSimulator, instead: dict[str, Instead]) -> Iterator[tuple[Front, str]]:
    """imot.bg with other answers, and its search there; it is never asked more than seven times."""
    with in_front(portals.urls["imot.bg"], instead) as front:
        yield front, f"{front.url}{IMOT}"
        assert 1 <= len(front.asked) <= MOST, front.asked
        assert front.asked[0] == "/robots.txt"


UNDECODABLE = Sent(body="<html>Имоти за продажба в \ufffd</html>".encode())
FOREIGN = Sent(body="<html><body>Добре дошли в съвсем друг сайт.</body></html>".encode())
BARE = (r"(?s)<body.*</body>", "<body><h1>Продава</h1></body>")
CASES: dict[str, tuple[dict[str, Instead], str, str]] = {
    "403": (
        {f"{IMOT}": always(Sent(403, b"Forbidden"))},
        "does not read",
        r"results: blocked: HTTP 403 .*forbidden.*",
    ),
    "a 404 search": (
        {IMOT: always(Sent(404, b"<html>404</html>"))},
        "does not read",
        r"results: it is not there \(HTTP 404\)",
    ),
    "undecodable": (
        {IMOT: always(UNDECODABLE)},
        "does not read",
        r"results: undecodable_page: .+",
    ),
    "another layout": (
        {IMOT: always(FOREIGN)},
        "does not read",
        r"results: layout_changed: .+",
    ),
    "no second page": (
        {rf"{IMOT}/p-2": always(Sent(403, b"Forbidden"))},
        "reads in part",
        r"next page: blocked: HTTP 403 .+",
    ),
    "an empty second page": ({rf"{IMOT}/p-2": always(Sent())}, "reads in part", r"next page: empty: no body"),
    "adverts blocked": (
        {ADVERT: always(Sent(403, b"Forbidden"))},
        "does not read",
        r"no advert could be read: blocked: .+",
    ),
    "adverts gone": (
        {ADVERT: always(Sent(404, b"<html>404</html>"))},
        "does not read",
        r"no advert could be read: removed",
    ),
    "adverts of nothing": (
        {ADVERT: replaced(*BARE)},
        "does not read",
        r"no advert could be read: (it holds nothing but its id and title|layout_changed: .+)",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fault_has_its_verdict_and_its_reason(
    portals: RunningSimulator, tmp_path: Path, case: str
) -> None:
    instead, verdict, reason = CASES[case]
    with changed(portals, instead) as (_, url):
        told = probed_one(tmp_path, "imot.bg", "--start-url", url)
    assert told["verdict"] == verdict
    assert len(told["reasons"]) == 1
    assert re.fullmatch(reason, told["reasons"][0]), told["reasons"]


def test_a_search_that_finds_nothing(tmp_path: Path) -> None:
    with simulated(tmp_path, "imot.bg", properties=0):
        told = probed_one(tmp_path, "imot.bg", **own_files(tmp_path))
    assert told["reasons"] == ["results: no adverts: the portal says that nothing was found"]
    assert (told["verdict"], told["requests"]) == ("does not read", 2)


def test_a_next_page_that_repeats_the_first(portals: RunningSimulator, tmp_path: Path) -> None:
    with changed(portals, {}) as (front, url):
        front.instead = {rf"{IMOT}/p-2": lambda _: front._handed_on(IMOT)}  # noqa: SLF001 - the same page again
        told = probed_one(tmp_path, "imot.bg", "--start-url", url)
    assert (told["verdict"], told["reasons"]) == ("reads in part", ["the next page repeats the first"])


def test_adverts_that_are_gone_are_replaced_while_requests_are_left(
    portals: RunningSimulator, tmp_path: Path
) -> None:
    gone: list[str] = []

    def first_is_gone(sent: Sent) -> Sent:
        gone.append("")
        return Sent(404, b"<html>404</html>") if len(gone) == 1 else sent

    with changed(portals, {ADVERT: first_is_gone}) as (front, url):
        told = probed_one(tmp_path, "imot.bg", "--start-url", url)
        assert len(front.asked) == MOST
    assert told["verdict"] == "reads well"
    assert [page["kind"] for page in told["pages"]] == ["search", "search", "removed", *["listing"] * 3]


def test_redirects_count_and_forbidden_ones_are_not_followed(
    portals: RunningSimulator, tmp_path: Path
) -> None:
    def moved(sent: Sent) -> Sent:
        return Sent(302, location=f"{IMOT}/dvustaen") if sent.status == 200 else sent

    with changed(portals, {IMOT: moved}) as (front, url):
        told = probed_one(tmp_path, "imot.bg", "--start-url", url)
        assert front.asked[:3] == ["/robots.txt", IMOT, f"{IMOT}/dvustaen"]
        assert told["requests"] == len(front.asked) <= MOST
        assert told["pages"][0]["values"]["cards"]
    with changed(portals, {IMOT: moved, "/robots.txt": always(robots(f"{IMOT}/dvustaen"))}) as (front, url):
        told = probed_one(tmp_path, "imot.bg", "--start-url", url)
        assert front.asked == ["/robots.txt", IMOT]
    assert told["verdict"] == "does not read"
    assert "which robots.txt forbids" in told["reasons"][0]


def test_a_portal_that_redirects_everything_is_asked_seven_times_at_most(
    portals: RunningSimulator, tmp_path: Path
) -> None:
    steps = iter(range(100))
    ever_on = {r"(?!/robots).*": lambda _: Sent(302, location=f"{IMOT}/{next(steps)}")}
    with changed(portals, ever_on) as (front, url):
        told = probed_one(tmp_path, "imot.bg", "--start-url", url)
        assert len(front.asked) == MOST
    assert told["verdict"] == "does not read"
    assert "7 requests were made" in told["reasons"][0]


def test_a_price_on_request_is_a_price_that_was_read(portals: RunningSimulator, tmp_path: Path) -> None:
    rows = truth(portals).values()
    silent = [row["url"] for row in rows if row["site"] == "imot.bg" and row["price_eur"] is None][:2]
    starts = [part for url in silent for part in ("--start-url", url)]
    told = probed_one(tmp_path, "imot.bg", *starts)
    assert told["fields"]["price"] == {"adverts": 2, "of": 2}
    assert told["verdict"] == "reads well"
    assert told["requests"] == 3


def test_the_portals_pace_and_its_crawl_delay_are_kept(tmp_path: Path) -> None:
    with simulated(tmp_path, "imot.bg", "bazar.bg", properties=60, crawl_delay=0.5):
        slow = json.dumps({"imot.bg": 60, "bazar.bg": 60_000})
        told = answer(
            probed(tmp_path, "imot.bg", "bazar.bg", "--json", **own_files(tmp_path), DOMAIN_RATE_LIMITS=slow)
        )
    assert [one["seconds_per_request"] for one in told["probes"]] == [1.0, 0.5]
    imot, bazar = (times(tmp_path / "log", site) for site in ("imot.bg", "bazar.bg"))
    # A request may arrive a little late, and the next one not: what holds is the whole, and that none crowd.
    for asked, pause in ((imot, 1.0), (bazar, 0.5)):
        assert len(asked) >= 5
        assert asked[-1] - asked[0] >= (len(asked) - 1) * pause * 0.95
        assert min(later - earlier for earlier, later in pairwise(asked)) > pause / 2
    assert max(imot[0], bazar[0]) < min(imot[-1], bazar[-1]), "both at once"


def times(log: Path, site: str) -> list[float]:
    return sorted(row["t"] for row in requests(log) if row["site"] == site)


def test_a_portal_behind_proxies_or_without_a_start_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    write_site_file(tmp_path / "sites", Portal("own.test", 1, 60), ())
    told = probed_one(tmp_path, "own.test", **own_files(tmp_path))
    assert (told["verdict"], told["requests"]) == ("does not read", 0)
    assert "its file names no start_urls; give one with --start-url" in told["reasons"][0]
    with (tmp_path / "sites" / "own.test.yaml").open("a", encoding="utf-8") as file:
        file.write("proxies: {use: true}\n")
    start_url = f"http://127.0.0.1:{free_port()}/obiavi/prodazhba-apartamenti/sofia"
    told = probed_one(tmp_path, "own.test", "--start-url", start_url, **own_files(tmp_path))
    assert (told["verdict"], told["requests"]) == ("does not read", 0)
    assert "through proxies alone" in told["reasons"][0]


def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    with simulated(tmp_path, "imot.bg", properties=60):
        slow = {**own_files(tmp_path), "DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 6})}
        begun = fork(tmp_path / "data", "sites", "probe", "imot.bg", **slow)
        wait_for_requests(tmp_path / "log", 1)
        begun.send_signal(signal.SIGINT)
        out, errors = begun.communicate(timeout=30)
    assert (begun.returncode, out, errors) == (130, "", "stopped; nothing was kept\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.bg",), "no site 'nowhere.bg'; allowed: alo.bg, bazar.bg"),
        (("imot.bg", "bazar.bg", "--start-url", "https://x.test/"), "--start-url needs exactly one SITE"),
        (("imot.bg", "--start-url", "https://x.test/"), "leads to no search and no advert of imot.bg"),
    ],
)
def test_wrong_input_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = probed(tmp_path, *arguments)
    assert done.returncode == 2, done.stdout
    assert sentence in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
