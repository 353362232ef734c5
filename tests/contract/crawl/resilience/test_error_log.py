import fcntl
import json
import time
from pathlib import Path
from threading import Thread

from contract.crawl.resilience.error_log_worker import LINES, failure, fill
from new_processes import FORKED
from sale_sofia.crawl.resilience.errors import HttpBlocked, NetworkTimeout
from sale_sofia.crawl.visit.judging import classify_error
from sale_sofia.telemetry.error_log import ErrorLog
from seeds import SEED

PROCESSES = 6


def test_a_line_holds_what_debugging_needs(tmp_path: Path) -> None:
    error = HttpBlocked("blocked: HTTP 403 by cloudflare")
    error.status, error.page_digest = 403, "a" * 64
    log = ErrorLog(tmp_path / "deep" / "errors.jsonl")
    log.write(failure(error, delay=4.12345, attempt=2), now=1_700_000_000.5)
    log.write(failure(error, delay=None), now=0.0)
    line, other = log.read()
    assert line.pop("error_id") != other["error_id"]
    assert line == {
        "timestamp": "2023-11-14T22:13:20.500+00:00",
        "url": "https://x/1",
        "domain": "imot.bg",
        "job": "job",
        "error_type": "HttpBlocked",
        "http_status": 403,
        "message": "blocked: HTTP 403 by cloudflare",
        "stack_trace": None,
        "attempt": 2,
        "max_retries": 4,
        "next_delay": 4.123,
        "recovery_action": "backoff",
        "is_recoverable": True,
        "strategy": "proxy",
        "proxy": "http://***@proxy:1",
        "page": "a" * 64,
    }
    assert not other["is_recoverable"]


def test_the_address_stands_once_and_what_nobody_foresaw_says_where_it_came_from(tmp_path: Path) -> None:
    log = ErrorLog(tmp_path / "errors.jsonl")
    log.write(failure(NetworkTimeout("https://x/1: no answer in 30 s")), now=0.0)
    try:
        raise KeyError("price")  # noqa: TRY301 - it needs a place of its own
    except KeyError as problem:
        log.write(failure(classify_error(problem)), now=0.0)
    foreseen, other = log.read()
    assert (foreseen["message"], foreseen["stack_trace"]) == ("no answer in 30 s", None)
    assert (other["error_type"], other["message"]) == ("CrawlError", "KeyError: 'price'")
    assert 'raise KeyError("price")' in other["stack_trace"]


def test_what_is_written_is_one_line_of_plain_text_whatever_the_portal_sent(tmp_path: Path) -> None:
    hostile = "a\nb\x1b[31m\x9b31m\udc80 Ж\u2028" + "x" * 10_000
    log = ErrorLog(tmp_path / "errors.jsonl")
    log.write(failure(NetworkTimeout(hostile), url=hostile), now=0.0)
    raw = (tmp_path / "errors.jsonl").read_bytes()
    assert all(32 <= byte < 127 for byte in raw[:-1])
    assert raw[-1:] == b"\n"
    [line] = log.read()
    assert (line["url"], line["message"]) == (hostile[:2000], hostile[:2000])


def test_no_password_is_written(tmp_path: Path) -> None:
    url = "http://anna:s3@cret@portal.bg/obiava-1?a=b@c"
    log = ErrorLog(tmp_path / "errors.jsonl")
    log.write(failure(NetworkTimeout(f"not a plain address: {url!r}"), url=url), now=0.0)
    [line] = log.read()
    assert line["url"] == "http://***@portal.bg/obiava-1?a=b@c"
    assert "cret" not in (tmp_path / "errors.jsonl").read_text("ascii")


def test_a_torn_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "errors.jsonl"
    log = ErrorLog(path)
    path.write_bytes(b'{"error_type": "torn\n\xff\xfe\n[1]\n\n')
    log.write(failure(NetworkTimeout("late")), now=0.0)
    assert [line["message"] for line in log.read()] == ["late"]


def test_there_is_no_log_yet(tmp_path: Path) -> None:
    assert list(ErrorLog(tmp_path / "nowhere" / "errors.jsonl").read()) == []


def test_a_disk_that_refuses_the_line_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", "ascii")
    ErrorLog(tmp_path / "file" / "errors.jsonl").write(failure(NetworkTimeout()), now=0.0)
    assert (tmp_path / "file").read_text("ascii") == "no folder"


def test_it_grows_to_two_files_and_no_further(tmp_path: Path) -> None:
    log = ErrorLog(tmp_path / "errors.jsonl", max_bytes=1000)
    for number in range(101):
        log.write(failure(NetworkTimeout(str(number))), now=0.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["errors.jsonl", "errors.jsonl.1"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2600
    kept = [int(line["message"]) for line in log.read()]
    assert kept == list(range(101 - len(kept), 101))
    assert len(kept) >= 4


def test_a_line_that_waited_while_the_log_was_put_aside_goes_into_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "errors.jsonl"
    path.touch()
    with path.open("ab") as rotating:
        fcntl.flock(rotating, fcntl.LOCK_EX)
        writing = Thread(target=ErrorLog(path).write, args=(failure(NetworkTimeout("late")), 0.0))
        writing.start()
        time.sleep(0.2)
        assert writing.is_alive()
        path.unlink()
    writing.join(timeout=10)
    assert [line["message"] for line in ErrorLog(path).read()] == ["late"]


def test_a_log_that_somebody_is_writing_to_is_put_aside_later(tmp_path: Path) -> None:
    path = tmp_path / "errors.jsonl"
    log = ErrorLog(path, max_bytes=10)
    path.touch()
    with path.open("ab") as writing:
        fcntl.flock(writing, fcntl.LOCK_SH)
        log.write(failure(NetworkTimeout("first")), now=0.0)
        assert [file.name for file in tmp_path.iterdir()] == ["errors.jsonl"]
    log.write(failure(NetworkTimeout("second")), now=0.0)
    assert [file.name for file in tmp_path.iterdir()] == ["errors.jsonl.1"]
    assert [line["message"] for line in log.read()] == ["first", "second"]


def test_a_log_that_was_put_aside_already_is_not_put_aside_again(tmp_path: Path) -> None:
    path = tmp_path / "errors.jsonl"
    path.write_text("old\n", "ascii")
    with path.open("ab") as grown:
        path.rename(tmp_path / "errors.jsonl.1")
        path.write_text("new\n", "ascii")
        ErrorLog(path)._rotate(grown.fileno())  # noqa: SLF001 - the moment between its two locks
    assert path.read_text("ascii") == "new\n"
    assert (tmp_path / "errors.jsonl.1").read_text("ascii") == "old\n"


def fill_together(path: Path, max_bytes: int) -> None:
    processes = [
        FORKED.Process(target=fill, args=(path, name, f"{SEED}:{name}", max_bytes))
        for name in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
    assert [process.exitcode for process in processes] == [0] * PROCESSES


def numbers(path: Path) -> list[str]:
    """Which lines are there; a line that is not whole is an error here."""
    files = [file for file in (path.with_name(f"{path.name}.1"), path) if file.exists()]
    lines = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
    return [line["message"].rpartition(":")[0] for line in lines]


def test_lines_of_many_processes_are_all_there_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "errors.jsonl"
    # Large enough that the log is put aside once and no more: then every line must still be there.
    fill_together(path, PROCESSES * LINES * 420)
    expected = [f"{name}:{number}" for name in range(PROCESSES) for number in range(LINES)]
    assert sorted(numbers(path)) == sorted(expected), f"seed {SEED}"
    assert path.with_name("errors.jsonl.1").exists()


def test_many_processes_that_put_it_aside_all_the_time_lose_none_of_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "errors.jsonl"
    fill_together(path, 20_000)
    kept = numbers(path)
    assert len(kept) == len(set(kept)) > 20, f"seed {SEED}"
    last = {name: max(int(one.split(":")[1]) for one in kept if one.startswith(f"{name}:"))
            for name in {one.split(":")[0] for one in kept}}  # fmt: skip
    for name, newest in last.items():
        of_name = sorted(int(one.split(":")[1]) for one in kept if one.startswith(f"{name}:"))
        assert of_name == list(range(of_name[0], newest + 1)), f"seed {SEED}"
    # Whoever finds others writing leaves it to the next line, and it grows; one alone makes it small again.
    fill(path, PROCESSES, "alone", 20_000)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 3 * 20_000
