"""Whatever is wrong, a crawl says it in one sentence, ends with an exit code, and loses nothing."""

import fcntl
import gzip
import json
import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from crawls import FAST, crawl_arguments, run, stored
from forked_simulators import start_forked
from ready_files import put_ready_file
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SEARCH = "/obiavi/prodazhbi/grad-sofiya"
ONE_TRY = {**FAST, "RETRY_MAX_ATTEMPTS": "1"}


@pytest.fixture(scope="module")
def simulator() -> Iterator[RunningSimulator]:
    with start_forked(SimulatorConfig(sites=("imot.bg",), properties=6, seed=3, port=0)) as running:
        yield running


@contextmanager
def portal(answer: bytes, status: int = 200, **headers: str) -> Iterator[str]:
    """A portal that answers everything but robots.txt in one way."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            robots = self.path == "/robots.txt"
            self.send_response(404 if robots else status)
            for name, value in {} if robots else headers.items():
                self.send_header(name.replace("_", "-"), value)
            body = b"" if robots else answer
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("crawl", "nowhere.bg"), "no site 'nowhere.bg'; allowed: alo.bg, bazar.bg, homes.bg, imot.bg"),
        (("sites", "show", "nowhere.bg"), "no site 'nowhere.bg'; allowed: alo.bg, bazar.bg"),
        (("crawl", "imot.bg", "--start-url", "nonsense"), "'nonsense' is not an address; allowed: http://"),
        (("crawl", "imot.bg", "--start-url", "ftp://x/obiavi/"), "is not an address; allowed: http://"),
        (
            ("crawl", "imot.bg", "--start-url", "https://www.imot.bg/kontakti"),
            "https://www.imot.bg/kontakti leads to no search and no advert of imot.bg",
        ),
        (("crawl", "--start-url", "https://www.imot.bg/obiavi/"), "--start-url needs exactly one SITE"),
        (("resume", "nothing"), "no job nothing; `sale-sofia jobs` lists them"),
        (("export", "adverts.xls"), ".csv"),
        (("sweeps", "--accept"), "--accept needs a portal: --site"),
        (("sweeps", "--site", "imot.bg", "--accept"), "imot.bg: its last sweep did not collapse"),
        (
            ("simulate", "--sites", "alo.bg,suprimmo.bg", "--layouts", "renamed-class"),
            "no layout 'renamed-class' of alo.bg, which has dropped-field, renamed-cards; suprimmo.bg, which",
        ),
    ],
)
def test_wrong_words(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    told = run(tmp_path / "data", *arguments)
    assert told.returncode == 2
    assert sentence in " ".join(told.stderr.split())
    assert "Traceback" not in told.stderr


def failed(tmp_path: Path, base: str, **more: str) -> str:
    told = run(tmp_path / "data", "crawl", "imot.bg", "--start-url", base + SEARCH, **(ONE_TRY | more))
    assert told.returncode == 1, told.stderr
    assert "Traceback" not in told.stderr
    assert stored(tmp_path / "data") == []
    return told.stderr


def test_unreachable_host(tmp_path: Path) -> None:
    assert "RobotsDisallowed: robots.txt could not be had" in failed(tmp_path, "http://127.0.0.1:9")
    assert "NetworkConnection" in failed(tmp_path / "2", "http://127.0.0.1:9", ROBOTS_OBEYED="false")


def test_redirect_loop(tmp_path: Path) -> None:
    with portal(b"", 302, Location=SEARCH) as base:
        assert "RedirectLoop" in failed(tmp_path, base)


def test_redirect_to_another_host(tmp_path: Path) -> None:
    with portal(b"", 302, Location="http://example.com/") as base:
        assert "ForeignAddress" in failed(tmp_path, base)


def test_gzip_bomb(tmp_path: Path) -> None:
    with portal(gzip.compress(bytes(60_000_000)), Content_Encoding="gzip") as base:
        assert "BodyTooLarge" in failed(tmp_path, base)


def test_a_page_that_is_no_page_of_the_portal(tmp_path: Path) -> None:
    with portal("<html><body>Здравейте</body></html>".encode(), Content_Type="text/html") as base:
        assert "layout_changed" in failed(tmp_path, base)


def test_bad_tls(tmp_path: Path) -> None:
    with portal(b"") as base:  # it speaks no TLS at all
        told = failed(tmp_path, base.replace("http:", "https:"), ROBOTS_OBEYED="false")
        assert "NetworkTls" in told or "NetworkConnection" in told


@pytest.mark.parametrize(
    ("words", "code"), [("crawl", 2), ("resume", 2), ("sites list", 2), ("doctor --json", 1)]
)
def test_a_folder_of_site_files_that_is_not_there_is_not_passed_over(
    tmp_path: Path, words: str, code: int
) -> None:
    told = run(tmp_path / "data", *words.split(), SITES_DIR=str(tmp_path / "sites"))
    assert told.returncode == code
    assert "SITES_DIR: " in told.stderr + told.stdout
    assert (
        "there is no such folder, and without it the real portals would be asked" in told.stderr + told.stdout
    )
    assert json.loads(run(tmp_path / "data", "jobs", "--json").stdout)["jobs"] == []


def test_two_crawls_of_one_portal(tmp_path: Path, simulator: RunningSimulator) -> None:
    folder = tmp_path / "data" / "locks"
    folder.mkdir(parents=True)
    with (folder / "imot.bg.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST)
    assert told.returncode == 2
    assert "imot.bg is being crawled by process" in told.stderr
    assert run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST).returncode == 0


def test_a_data_folder_that_cannot_be_written(tmp_path: Path, simulator: RunningSimulator) -> None:
    (tmp_path / "data").write_text("a file", "utf-8")
    told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST)
    assert told.returncode == 2
    assert str(tmp_path / "data") in told.stderr
    assert "Traceback" not in told.stderr


def test_a_file_that_is_no_database(tmp_path: Path, simulator: RunningSimulator) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sale_sofia.db").write_text("just some text that is no database" * 99, "utf-8")
    told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST)
    assert told.returncode == 2
    assert "sale_sofia.db" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_database_from_the_future(tmp_path: Path, simulator: RunningSimulator) -> None:
    put_ready_file(tmp_path / "data" / "sale_sofia.db")
    connection = sqlite3.connect(tmp_path / "data" / "sale_sofia.db")
    connection.execute("UPDATE alembic_version SET version_num = '9999_future'")
    connection.commit()
    connection.close()
    told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST)
    assert told.returncode == 2
    assert "9999_future" in told.stderr


def test_a_database_locked_for_long(tmp_path: Path, simulator: RunningSimulator) -> None:
    put_ready_file(tmp_path / "data" / "sale_sofia.db")
    connection = sqlite3.connect(tmp_path / "data" / "sale_sofia.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    patience = {**FAST, "SQLITE_TIMEOUT": "0.2", "SQLITE_BUSY_RETRIES": "1"}
    told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **patience)
    connection.execute("ROLLBACK")
    connection.close()
    assert told.returncode == 2
    assert "sale_sofia.db" in told.stderr
    assert run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST).returncode == 0
    assert len(stored(tmp_path / "data")) == 6


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["/usr/bin/mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        with start_forked(SimulatorConfig(sites=("imot.bg",), properties=60, seed=3, port=0)) as simulator:
            crawl = crawl_arguments(simulator, "imot.bg")
            told = run(disk / "data", *crawl, **FAST, ARCHIVE_ENABLED="false")
            assert told.returncode == 1, told.stdout
            assert "Traceback" not in told.stderr
            assert "disk" in (told.stderr + told.stdout).lower()
            subprocess.run(["/usr/bin/mount", "-o", "remount,size=100m", disk], check=True)
            assert run(disk / "data", "db", "check").returncode == 0
            told = run(disk / "data", *crawl, **FAST, ARCHIVE_ENABLED="false")
            assert told.returncode == 0, told.stderr + told.stdout
            assert len(stored(disk / "data")) == 60
    finally:
        subprocess.run(["/usr/bin/umount", disk], check=True)
