"""Lines of the log: what they carry, what they hide, and where they go."""

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.log_lines import make_formatter
from sale_sofia.telemetry.logs import Masking, bound, log_as_service, log_for_person, log_to_file
from tables import each_row


@pytest.fixture
def _as_before() -> Iterator[None]:
    """Logging is one for the whole process: it is left as it was found."""
    root, ours = logging.getLogger(), logging.getLogger("sale_sofia")
    before = root.handlers[:], root.level, ours.level
    yield
    for handler in [added for added in root.handlers if added not in before[0]]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(before[1])
    ours.setLevel(before[2])
    logging.captureWarnings(capture=False)


def settings(folder: Path, **more: object) -> Settings:
    return Settings(data_dir=folder, **more)  # type: ignore[arg-type]


def record(message: str, *values: object, level: int = logging.INFO, **more: object) -> logging.LogRecord:
    made = logging.LogRecord("sale_sofia.x", level, "x.py", 1, message, values, None)
    made.__dict__.update(more)
    return made


def fail(sentence: str) -> None:
    raise OSError(sentence)


def as_json(line: logging.LogRecord, **more: object) -> dict[str, Any]:
    loaded = Settings(log_json=True, **more)  # type: ignore[arg-type]
    return dict(json.loads(make_formatter(loaded).format(line)))


def test_a_line_says_when_how_grave_whose_what_and_what_is_bound() -> None:
    with bound(job="j1", site="imot.bg", url="https://imot.bg/1"):
        line = as_json(record("page %s: %d", "failed", 3, created=86_400.5, attempts=2))
    assert line == {
        "timestamp": "1970-01-02T00:00:00.500+00:00",
        "event": "page failed: 3",
        "level": "info",
        "logger": "sale_sofia.x",
        "job": "j1",
        "site": "imot.bg",
        "url": "https://imot.bg/1",
        "attempts": 2,
    }
    assert as_json(record("after")).keys() == {"timestamp", "event", "level", "logger"}


def test_a_worker_s_processes_are_told_apart() -> None:
    assert as_json(record("x", processName="ForkPoolWorker-3"))["process"] == "ForkPoolWorker-3"
    assert "process" not in as_json(record("x", processName="MainProcess"))


def test_text_is_one_line_that_steers_no_terminal() -> None:
    text = make_formatter(None).format(record("a\nb\x1b[31mc\u202ed", level=logging.WARNING, site="x\ny"))
    assert text.splitlines() == [text]
    assert "a\\u000ab\\u001b[31mc\\u202ed" in text
    assert "site=x\\u000ay" in text
    line = make_formatter(Settings(log_json=True)).format(record("a\x9bb\u202e"))
    assert (json.loads(line)["event"], line.isprintable()) == ("a\x9bb\u202e", True)


def test_an_error_has_its_traceback() -> None:
    try:
        fail("no redis://me:hidden@host here")
    except OSError:
        line = as_json(record("failed", exc_info=sys.exc_info()))
    assert line["exception"].startswith("Traceback (most recent call last):")
    assert line["exception"].endswith("OSError: no redis://***@host here")


@each_row(
    ("said", "written"),
    [
        ("at postgresql://me:secret@host/x?a=b now", "at postgresql://***@host/x?a=b now"),
        ("redis://:secret@127.0.0.1:1/0", "redis://***@127.0.0.1:1/0"),
        ("socks5://token@1.2.3.4:1080", "socks5://***@1.2.3.4:1080"),
        ("proxy me:secret@1.2.3.4:8080 is slow", "proxy ***@1.2.3.4:8080 is slow"),
        ("https://x.bg/a?token=abc&page=2", "https://x.bg/a?token=***&page=2"),
        ("FLOWER_PASSWORD=abcdefgh done", "FLOWER_PASSWORD=*** done"),
        ("{'api_key': 'abc'}", "{'api_key': ***"),
        ("https://imot.bg/obiava-1@2/x 12:30 a:b", "https://imot.bg/obiava-1@2/x 12:30 a:b"),
    ],
)
def test_logins_and_tokens_are_hidden(said: str, written: str) -> None:
    assert Masking().text(said) == written
    assert as_json(record("%s", said))["event"] == written


def test_the_secrets_of_the_settings_are_hidden_wherever_they_stand() -> None:
    loaded = Settings(
        database_url=SecretStr("postgresql://me:p%40ss@host/x"),
        redis_url=SecretStr("redis://:r3dis-word@host/0"),
        flower_password=SecretStr("flower-word"),
        dashboard_password=SecretStr("flower-word-2"),
    )
    hide = Masking.of(loaded)
    assert hide.text("p@ss p%40ss r3dis-word flower-word flower-word-2 host") == "*** *** *** *** *** host"
    line = {"event": "x", "n": 5, "deep": {"r3dis-word": ["p@ss", 1, None]}, "error": OSError("p@ss")}
    assert hide(None, "info", line) == {
        "event": "x",
        "n": 5,
        "deep": {"***": ["***", 1, None]},
        "error": "***",
    }


def test_long_texts_are_gone_through_once() -> None:
    """Each of these is quadratic for a careless pattern: minutes instead of a moment."""
    for text in ("a" * 300_000, "a:" * 150_000, "://" * 100_000, "password" * 100_000, "x." * 150_000 + ":"):
        assert len(Masking().text(text)) >= len(text) // 10


@pytest.mark.usefixtures("_as_before")
def test_a_person_sees_warnings_and_the_file_has_all(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    loaded = settings(tmp_path)
    log_for_person(loaded)
    path = log_to_file(loaded, "crawl")
    ours, library = logging.getLogger("sale_sofia.crawl.x"), logging.getLogger("library")
    ours.debug("too small")
    ours.info("everyday")
    ours.warning("grave")
    library.info("chatter")
    library.warning("a library's word")
    shown = [line.partition("] ")[2] for line in capfd.readouterr().err.splitlines()]
    assert shown == ["grave [sale_sofia.crawl.x]", "a library's word [library]"]
    written = [line.partition("] ")[2] for line in path.read_text("utf-8").splitlines()]
    assert written == ["everyday [sale_sofia.crawl.x]", *shown]
    assert path == tmp_path / "logs" / "crawl.log"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("_as_before")
def test_a_service_tells_everything_once_however_often_it_is_set_up(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        log_as_service(settings(tmp_path, log_level="debug", log_json=True))
    logging.getLogger("sale_sofia.x").debug("small")
    logging.getLogger("celery.worker").info("received", extra={"data": {"args": "()"}})
    logging.getLogger("httpx").info("GET https://x")
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [(line["logger"], line["event"]) for line in lines] == [
        ("sale_sofia.x", "small"),
        ("celery.worker", "received"),
    ]
    assert "data" not in lines[1]


def test_a_log_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("", "ascii")
    with pytest.raises(ServiceUnavailable) as refused:
        log_to_file(settings(tmp_path), "crawl")
    assert str(refused.value) == f"The log {tmp_path}/logs/crawl.log cannot be written: File exists."


@pytest.mark.usefixtures("_as_before")
def test_a_full_disk_loses_lines_and_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "crawl.log").symlink_to("/dev/full")
    log_to_file(settings(tmp_path), "crawl")
    logging.getLogger("sale_sofia.x").error("nobody reads this")
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("_as_before")
def test_a_file_that_grew_too_large_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.telemetry.logs.LOG_MOST_BYTES", 2000)
    path = log_to_file(settings(tmp_path), "crawl")
    log = logging.getLogger("sale_sofia.x")
    log.setLevel(logging.INFO)
    for number in range(100):
        log.info("line %d", number)
    files = [path.with_name(f"crawl.log.{age}") for age in (4, 3, 2, 1)]
    files = [file for file in files if file.exists()]
    written = "".join(file.read_text("utf-8") for file in [*files, path])
    assert [f"line {number} " in written for number in range(100)] == [True] * 100
    assert written.count("\n") == 100
    assert all(file.stat().st_size < 2200 for file in files)
    assert len(files) > 1
