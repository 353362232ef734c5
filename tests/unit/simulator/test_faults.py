import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from forked_simulators import start_forked
from sale_sofia_simulator.faults import CAPTCHA_PAGES, FaultPlan, parse_faults
from sale_sofia_simulator.simulation import SimulatorConfig
from tables import each_row

SEARCH = "/obiavi/prodazhbi/grad-sofiya"
MANY = "429:0.1,503:0.1,reset:0.1,captcha:0.1,truncate:0.1,cut:0.1"


class Client:
    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        assert parts.hostname
        self.connection = HTTPConnection(parts.hostname, parts.port, timeout=20)

    def get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        try:
            self.connection.request("GET", path)
            answer = self.connection.getresponse()
            return answer.status, dict(answer.headers), answer.read()
        finally:
            self.connection.close()


def outcome(client: Client, path: str, whole: int) -> str:
    try:
        status, _, body = client.get(path)
    except ConnectionResetError:
        return "reset"
    except IncompleteRead as error:
        return "truncate" if len(error.partial) == whole // 2 else "wrong"
    if body in CAPTCHA_PAGES:
        return "captcha"
    return str(status) if status != 200 else {whole: "ok", whole // 2: "cut"}.get(len(body), "wrong")


@pytest.mark.slow
def test_every_fault_happens_about_as_often_as_asked_and_the_same_again(tmp_path: Path) -> None:
    runs = []
    for name in ("one", "two"):
        config = SimulatorConfig(
            properties=5, port=0, sites=("imot.bg",), faults=MANY, log=tmp_path / f"{name}.jsonl"
        )
        with start_forked(config) as simulator:
            client = Client(simulator.urls["imot.bg"])
            whole = _whole_size(client)
            runs.append([outcome(client, SEARCH, whole) for _ in range(400)])
    assert runs[0] == runs[1]
    counted = Counter(runs[0])
    assert set(counted) == {"ok", "429", "503", "reset", "captcha", "truncate", "cut"}
    assert 110 < counted.pop("ok") < 210
    assert all(20 <= count <= 64 for count in counted.values())
    logged = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text("utf-8").splitlines()]
    assert [line["fault"] or "ok" for line in logged][-400:] == runs[0]
    assert {line["status"] for line in logged if line["fault"] == "reset"} == {0}


def _whole_size(client: Client) -> int:
    """The size of the page that no fault touched: the largest of some tries of another first page."""
    sizes = []
    for _ in range(30):
        try:
            sizes.append(len(client.get(f"{SEARCH}/p-1")[2]))
        except (ConnectionResetError, IncompleteRead):
            continue
    return max(sizes)


@pytest.mark.slow
def test_a_refused_request_says_when_to_come_back() -> None:
    config = SimulatorConfig(properties=1, port=0, sites=("imot.bg",), faults="429:1")
    with start_forked(config) as simulator:
        client = Client(simulator.urls["imot.bg"])
        status, headers, _ = client.get(SEARCH)
        assert (status, headers["Retry-After"]) == (429, "1")
        assert client.get("/robots.txt")[0] == 200


@pytest.mark.slow
def test_slow_answers_overlap_and_the_log_counts_the_open_ones(tmp_path: Path) -> None:
    config = SimulatorConfig(
        properties=1, port=0, sites=("imot.bg",), faults="slow:1", slow_seconds=2.0, log=tmp_path / "log"
    )
    with start_forked(config) as simulator, ThreadPoolExecutor(6) as pool:
        clients = [Client(simulator.urls["imot.bg"]) for _ in range(6)]
        answers = list(pool.map(lambda client: client.get(SEARCH), clients))
        assert [status for status, _, _ in answers] == [200] * 6
    logged = [json.loads(line) for line in (tmp_path / "log").read_text("utf-8").splitlines()]
    assert sorted(line["open"] for line in logged) == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow
def test_a_stop_does_not_wait_for_slow_answers() -> None:
    config = SimulatorConfig(properties=1, port=0, sites=("imot.bg",), faults="slow:1", slow_seconds=60)
    with start_forked(config) as simulator:
        client = Client(simulator.urls["imot.bg"])
        client.connection.request("GET", SEARCH)
        time.sleep(0.2)
        started = time.monotonic()
        assert simulator.stop() == 0
        assert time.monotonic() - started < 30
        client.connection.close()


def test_one_captcha_is_a_challenge_and_the_other_has_nothing_but_a_recaptcha() -> None:
    challenge, other = (page.decode() for page in CAPTCHA_PAGES)
    assert "<title>Just a moment...</title>" in challenge
    assert "window._cf_chl_opt" in challenge
    assert "g-recaptcha" in other
    assert "_cf_chl" not in other


def test_what_goes_wrong_depends_on_seed_path_and_turn_alone() -> None:
    def drawn(seed: str, path: str) -> list[str | None]:
        plan = FaultPlan({"503": 0.5}, seed)
        return [fault.name if (fault := plan.next(path)) else None for _ in range(50)]

    assert drawn("1", "/a") == drawn("1", "/a")
    assert len({tuple(drawn(seed, path)) for seed in ("1", "2") for path in ("/a", "/b")}) == 4
    assert set(drawn("1", "/a")) == {"503", None}


def test_paths_are_counted_apart() -> None:
    rates = {"429": 0.3, "captcha": 0.3}
    alone, mixed = FaultPlan(rates, "1"), FaultPlan(rates, "1")
    expected = [alone.next("/a") for _ in range(20)]
    found = []
    for number in range(20):
        mixed.next(f"/other/{number}")
        found.append(mixed.next("/a"))
    assert found == expected


def test_no_faults_never_fail() -> None:
    plan = FaultPlan({}, "1")
    assert not any(plan.next("/a") for _ in range(100))


def test_reading_the_shares() -> None:
    assert parse_faults("") == {}
    assert parse_faults("429:0.02, slow:0.05,cut:1e-3,") == {"429": 0.02, "slow": 0.05, "cut": 0.001}


@each_row(
    ("text", "sentence"),
    [
        ("429", "'429' is no fault: write name:share, a share from 0 to 1"),
        ("429:x", "'429:x' is no fault: write name:share"),
        ("429:nan", "'429:nan' is no fault: write name:share"),
        ("429:1.5", "'429:1.5' is no fault: write name:share"),
        ("404:0.1", "a name of 429, 503, slow, reset, captcha, challenge, truncate, cut$"),
        ("429:0.1,429:0.2", "the fault 429 is given twice in '429:0.1,429:0.2'"),
        ("429:0.6,503:0.6", "add up to more than 1"),
    ],
)
def test_other_texts_are_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        SimulatorConfig(faults=text)
    assert "\n" not in str(refused.value)
