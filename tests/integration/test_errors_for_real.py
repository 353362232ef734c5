"""Every class of the tree of errors, provoked for real: portals, sockets, files and servers that fail."""

import asyncio
import gzip
import json
import signal
import socket
import sqlite3
import ssl
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path
from typing import Any, cast

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from crawls import ALONE, FAST, IMPATIENT, crawl_arguments, requests, run
from forked_simulators import start_forked
from ready_files import put_ready_file
from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.fetch.escort import GateEscort
from sale_sofia.crawl.fetch.robots import RobotsGate
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience import errors as tree
from sale_sofia.crawl.resilience.errors import CrawlError, class_names
from sale_sofia.crawl.resilience.gate import Admission
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.crawl.visit.apart import Bounds, JudgeApart
from sale_sofia.crawl.visit.judging import Judge, classify_error, service_error
from sale_sofia.crawl.visit.outcomes import Gone, Outcome
from sale_sofia.operations.services.processes import find_server_binary
from sale_sofia.storage.database import Database
from sale_sofia_simulator.faults import CAPTCHA_PAGES
from sale_sofia_simulator.simulation import SimulatorConfig
from unit.crawl.fetch.portal import (
    Portal,
    fetch_once,
    free_port,
    page,
    portal,
    raw_portal,
    redirects,
    self_signed,
)
from visiting import RESET, SILENCE, Mistaken, Visiting, advert, good, html, listing, scripted

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
NAMES = {
    "429": "HttpRateLimit",
    "503": "HttpServer",
    "reset": "NetworkReset",
    "captcha": "HttpBlocked",
    "truncate": "NetworkBroken",
}
LAYOUT = "<html><body>Здравейте, това е нов облик на страницата</body></html>"
ADVERT_ADDRESS = "/obiava-1b999999999999999-prodava"
Line = tuple[Any, ...]
Provoke = Callable[[Path], Line]
SHOWN = ("error_type", "recovery_action", "http_status", "attempt", "next_delay")


# What a portal does: one visit of it, and the last line of the error log.


def visited(folder: Path, base: str, *, kind: str = "listing", path: str | None = None, **more: Any) -> Line:  # noqa: ANN401
    visiting = Visiting(folder, **more)
    claim = Claim(1, kind, base + (advert()[0] if path is None else path), 1, 1)
    asyncio.run(visiting.visit(claim))
    return visiting.lines(*SHOWN)[-1]


def met(portals: Callable[[Path], Any], *, path: str | None = None, **more: Any) -> Provoke:  # noqa: ANN401
    """A visit to a portal that exists as long as the visit."""

    def provoke(folder: Path) -> Line:
        async def run() -> Line:
            visiting = Visiting(folder, **more)
            async with portals(folder) as log:
                address = advert()[0] if path is None else path
                await visiting.visit(Claim(1, "listing", log.url(address), 1, 1))
            return visiting.lines(*SHOWN)[-1]

        return asyncio.run(run())

    return provoke


def says(*pieces: bytes, pause: float = 0.0) -> Callable[[Path], Any]:
    return lambda _: raw_portal(pieces, pause=pause)


def answers(*steps: Any) -> Callable[[Path], Any]:  # noqa: ANN401
    return lambda _: scripted(*steps)


def simulated(fault: str, **more: Any) -> Provoke:  # noqa: ANN401
    """A visit to the simulator's search while this fault befalls every request."""

    def provoke(folder: Path) -> Line:
        config = SimulatorConfig(
            sites=("imot.bg",), properties=3, port=0, faults=f"{fault}:1", slow_seconds=30
        )
        with start_forked(config) as simulator:
            return visited(folder, simulator.start_urls("imot.bg")[0], kind="search", path="", **more)

    return provoke


def nothing_there(folder: Path) -> Line:
    return visited(folder, f"http://127.0.0.1:{free_port()}")


def unknown_name(folder: Path) -> Line:
    return visited(folder, "http://no-such-portal.invalid")


@asynccontextmanager
async def untrusted(folder: Path) -> AsyncIterator[Portal]:
    async with portal(page(), self_signed(folder)) as log:
        yield log


def redirected(location: str) -> Callable[[Path], Any]:
    return lambda _: portal(redirects({advert()[0]: location}))


def robots_say_no(folder: Path) -> Line:
    async def run() -> Line:
        visiting, fetcher = Visiting(folder), CurlFetcher("chrome", 5)
        async with portal(page(b"User-agent: *\nDisallow: /", Content_Type="text/plain")) as log:
            visitor = visiting.visitor([log.host], fetcher)
            robots = RobotsGate(fetcher, visitor.request_for, "sale-sofia", 60, 60)
            await replace(visitor, robots=robots).visit(listing(log.url("").rstrip("/")))
            await fetcher.close()
            assert log.paths == ["/robots.txt"]
        return visiting.lines(*SHOWN)[-1]

    return asyncio.run(run())


PORTALS: dict[str, tuple[Provoke, Line]] = {
    "slow portal": (simulated("slow", timeout=0.4), ("NetworkTimeout", "backoff", None, 1, 2.0)),
    "slow body": (
        met(says(OK + b"Content-Length: 500\r\n\r\n", *[b"x"] * 100, pause=0.05), timeout=0.4),
        ("NetworkTimeout", "backoff", None, 1, 2.0),
    ),
    "silence": (met(answers(SILENCE), timeout=0.3), ("NetworkTimeout", "backoff", None, 1, 2.0)),
    "closed port": (nothing_there, ("NetworkConnection", "backoff", None, 1, 2.0)),
    "reset": (simulated("reset"), ("NetworkReset", "backoff", None, 1, 2.0)),
    "unknown name": (unknown_name, ("NetworkDns", "backoff", None, 1, 2.0)),
    "bad certificate": (met(untrusted), ("NetworkTls", "backoff", None, 1, 2.0)),
    "truncated": (simulated("truncate"), ("NetworkBroken", "backoff", None, 1, 2.0)),
    "cut": (simulated("cut"), ("NetworkBroken", "backoff", 200, 1, 2.0)),
    "empty": (met(answers(html(b""))), ("NetworkBroken", "backoff", 200, 1, 2.0)),
    "gzip garbage": (
        met(says(OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhalf")),
        ("NetworkBroken", "backoff", None, 1, 2.0),
    ),
    "400": (met(answers(html("what?", 400))), ("HttpClient", "skip", 400, 1, None)),
    "405": (met(answers(html("not so", 405))), ("HttpClient", "skip", 405, 1, None)),
    "408": (met(answers(html("too slow", 408))), ("HttpServer", "backoff", 408, 1, 2.0)),
    "500": (met(answers(html("oops", 500))), ("HttpServer", "backoff", 500, 1, 2.0)),
    "503": (simulated("503"), ("HttpServer", "backoff", 503, 1, 2.0)),
    "429": (met(answers(html("slow down", 429))), ("HttpRateLimit", "backoff", 429, 1, 2.0)),
    "429 with Retry-After": (
        met(answers(html("slow down", 429, Retry_After="90"))),
        ("HttpRateLimit", "backoff", 429, 1, 90.0),
    ),
    "429 of the simulator": (simulated("429"), ("HttpRateLimit", "backoff", 429, 1, 2.0)),
    "403 and a challenge": (
        met(answers(html(CAPTCHA_PAGES[0], 403))),
        ("HttpBlocked", "backoff", 403, 1, 2.0),
    ),
    "200 and a challenge": (met(answers(html(CAPTCHA_PAGES[0]))), ("HttpBlocked", "backoff", 200, 1, 2.0)),
    "200 and a captcha": (met(answers(html(CAPTCHA_PAGES[1]))), ("HttpBlocked", "backoff", 200, 1, 2.0)),
    "captcha of the simulator": (simulated("captcha"), ("HttpBlocked", "backoff", 200, 1, 2.0)),
    "lost text": (
        met(answers(html(b"<html><body>\0\xff</body></html>"))),
        ("ParseHtml", "backoff", 200, 1, 2.0),
    ),
    "new layout": (met(answers(html(LAYOUT))), ("ParseSelector", "backoff", 200, 1, 2.0)),
    "another advert": (
        met(answers(good()), path=ADVERT_ADDRESS),
        ("ParseOtherPage", "skip", 200, 1, None),
    ),
    "a mistake of ours": (
        met(answers(good()), site=Mistaken()),
        ("ParseError", "manual_review", None, 1, None),
    ),
    "407": (met(answers(html("log in", 407))), ("ServiceProxy", "other_proxy", 407, 1, 2.0)),
    "robots.txt": (robots_say_no, ("RobotsDisallowed", "skip", None, 1, None)),
    "redirect abroad": (
        met(redirected("http://example.com/")),
        ("ForeignAddress", "skip", None, 1, None),
    ),
    "redirect inside": (
        met(redirected("http://127.0.0.1:1/")),
        ("PrivateAddress", "skip", None, 1, None),
    ),
    "redirect in a circle": (met(redirected(advert()[0])), ("RedirectLoop", "skip", None, 1, None)),
    "gzip bomb": (
        met(answers(html(gzip.compress(bytes(5_000_000)), Content_Encoding="gzip"))),
        ("BodyTooLarge", "skip", None, 1, None),
    ),
}


@pytest.mark.parametrize("name", PORTALS)
def test_a_portal_that_fails(tmp_path: Path, name: str) -> None:
    provoke, line = PORTALS[name]
    assert provoke(tmp_path) == line


def test_a_removed_advert_is_an_answer_and_no_error(tmp_path: Path) -> None:
    async def run(status: int) -> Outcome:
        async with scripted(html("gone", status)) as log:
            [outcome] = await Visiting(tmp_path).visit(listing(log.url("").rstrip("/")))
            return outcome

    assert [type(asyncio.run(run(status))) for status in (404, 410)] == [Gone, Gone]
    assert Visiting(tmp_path).lines("error_type") == []


# What our own services do: the exception they raise, in our own words.


def raised(act: Callable[[], object]) -> Exception:
    try:
        act()
    except Exception as problem:  # noqa: BLE001 - whatever it is
        return problem
    raise AssertionError("nothing went wrong")


def broken_json(_: Path) -> CrawlError:
    async def run() -> Response:
        async with portal(page(b'{"offers": [', Content_Type="application/json")) as log:
            return await fetch_once(log.request())

    return classify_error(raised(lambda: json.loads(asyncio.run(run()).body)))


@contextmanager
def valkey(folder: Path, *options: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A server of this test's own on a free port."""
    port = free_port()
    command = [str(find_server_binary()), "--port", str(port), "--bind", "127.0.0.1", "--save", "", *options]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _until_it_listens(port)
        yield port, process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


def _until_it_listens(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the server did not come up")


def left_alone(folder: Path) -> CrawlError:
    """A redirect whose turn comes only in a minute, when the visit is long over."""

    async def run() -> None:
        fetcher = CurlFetcher("chrome", 5)
        try:
            async with portal(redirects({"/a": "/b"})) as log:
                visitor = Visiting(folder, rate=1.0).visitor([log.host], fetcher)
                async with visitor.gate.request("imot.bg", 1.0) as entry:
                    assert isinstance(entry, Admission)
                    escort = GateEscort(visitor.gate, entry, TimeoutBudget(20.0, time.monotonic), 5.0)
                    await fetcher.fetch(replace(visitor.request_for(log.url("/a")), escort=escort))
        finally:
            await fetcher.close()

    error = raised(lambda: asyncio.run(run()))
    assert isinstance(error, CrawlError)
    return error


def ping(port: int) -> None:
    with closing(
        redis.Redis(port=port, socket_timeout=0.3, socket_connect_timeout=0.3, retry=Retry(NoBackoff(), 0))
    ) as client:
        client.ping()


def redis_gone(_: Path) -> CrawlError:
    return classify_error(raised(lambda: ping(free_port())))


def redis_paused(folder: Path) -> CrawlError:
    with valkey(folder) as (port, process):
        ping(port)
        process.send_signal(signal.SIGSTOP)
        return classify_error(raised(lambda: ping(port)))


def redis_wants_a_password(folder: Path) -> CrawlError:
    with valkey(folder, "--requirepass", "s3cret") as (port, _):
        error = classify_error(raised(lambda: ping(port)))
    assert "s3cret" not in str(error)
    return error


def no_service(name: str) -> Callable[[Path], CrawlError]:
    def provoke(_: Path) -> CrawlError:
        address = f"http://127.0.0.1:{free_port()}/"
        return service_error(name, raised(lambda: urllib.request.urlopen(address, timeout=2)))

    return provoke


def made(folder: Path, timeout: float = 0.1) -> Database:
    put_ready_file(folder / "x.db")
    return Database(f"sqlite:///{folder / 'x.db'}", busy_timeout_seconds=timeout, busy_retries=1)


@contextmanager
def second_writer(folder: Path) -> Iterator[Database]:
    database = made(folder)
    with closing(sqlite3.connect(folder / "x.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield database
    database.dispose()


def locked(folder: Path) -> CrawlError:
    with second_writer(folder) as database:
        return classify_error(raised(lambda: database.run_write(lambda connection: connection)))


def locked_without_us(folder: Path) -> CrawlError:
    with second_writer(folder), closing(sqlite3.connect(folder / "x.db", timeout=0.1)) as plain:
        return classify_error(raised(lambda: plain.execute("DELETE FROM jobs")))


def garbled(folder: Path) -> Path:
    """A real database, its pages overwritten in the middle."""
    database = made(folder)
    database.dispose()
    path = folder / "x.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    raw = bytearray(path.read_bytes())
    raw[100:] = b"\xa5" * (len(raw) - 100)
    path.write_bytes(raw)
    return path


def corrupt(folder: Path) -> CrawlError:
    path = garbled(folder)
    database = Database(f"sqlite:///{path}", busy_timeout_seconds=0.1, busy_retries=0)

    def look() -> None:
        with database.read() as connection:
            connection.exec_driver_sql("SELECT * FROM jobs").all()

    error = classify_error(raised(look))
    database.dispose()
    return error


def corrupt_without_us(folder: Path) -> CrawlError:
    with closing(sqlite3.connect(garbled(folder))) as plain:
        return classify_error(raised(lambda: plain.execute("SELECT * FROM jobs").fetchall()))


def no_tables(folder: Path) -> CrawlError:
    database = Database(f"sqlite:///{folder / 'nowhere.db'}", busy_timeout_seconds=0.1, busy_retries=0)
    return classify_error(raised(lambda: database.run_read(lambda connection: connection)))


def hostile(_folder: Path) -> CrawlError:
    """A page whose reading never ends."""
    apart = JudgeApart(cast("Judge", Endless()), Bounds(seconds=0.1, patience=60, memory=10**9, desk=10**6))
    claim, answer = Claim(1, "listing", "http://x.bg/", 1, 1), Response("http://x.bg/", 200, {}, b"x", 0.1)
    error = raised(lambda: asyncio.run(apart.outcome(claim, answer, datetime.now(UTC))))
    apart.close()
    return classify_error(error)


class Endless:
    """Judges for ever, in C."""

    def outcome(self, *_: object) -> int:
        return sum(repeat(1))


OWN: dict[str, tuple[Callable[[Path], CrawlError], type[CrawlError]]] = {
    "broken JSON": (broken_json, tree.ParseJson),
    "a page without an end": (hostile, tree.ParseHostile),
    "no turn for a redirect": (left_alone, tree.LeftAlone),
    "Redis on a closed port": (redis_gone, tree.ServiceRedis),
    "Redis paused": (redis_paused, tree.ServiceRedis),
    "Redis wants a password": (redis_wants_a_password, tree.ServiceRedis),
    "Ollama on a closed port": (no_service("ollama"), tree.ServiceOllama),
    "browser on a closed port": (no_service("browser"), tree.ServiceBrowser),
    "proxy on a closed port": (no_service("proxy"), tree.ServiceProxy),
    "a second writer": (locked, tree.DatabaseLocked),
    "a second writer, plain SQLite": (locked_without_us, tree.DatabaseLocked),
    "a garbled file": (corrupt, tree.DatabaseCorrupt),
    "a garbled file, plain SQLite": (corrupt_without_us, tree.DatabaseCorrupt),
    "no tables": (no_tables, tree.DatabaseFailure),
}


@pytest.mark.parametrize("name", OWN)
def test_something_of_ours_that_fails(tmp_path: Path, name: str) -> None:
    provoke, kind = OWN[name]
    assert type(provoke(tmp_path)) is kind


def test_every_class_is_provoked_here() -> None:
    """All but the general ones, of which nothing is made."""
    provoked = {line[0] for _, line in PORTALS.values()} | {kind.__name__ for _, kind in OWN.values()}
    general = {"CrawlError", "NetworkError", "HttpError", "ServiceError", "AddressRefused"}
    assert provoked == set(class_names()) - general


def test_plain_sockets_have_the_same_names(tmp_path: Path) -> None:
    """What the standard library raises for a refused, a reset, an unknown and an untrusted server."""

    async def ask(port: int, context: ssl.SSLContext | None = None) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            return await asyncio.wait_for(reader.read(100), 0.3)
        finally:
            writer.transport.abort()

    async def problem(log: Portal, context: ssl.SSLContext | None = None) -> Exception:
        try:
            await ask(log.port, context)
        except Exception as error:  # noqa: BLE001
            return error
        raise AssertionError("nothing went wrong")

    async def all_of_them() -> list[Exception]:
        trusting = ssl.create_default_context()
        async with (
            raw_portal([], hold=5) as mute,
            scripted(RESET) as resetting,
            portal(page(), self_signed(tmp_path)) as untrusted,
        ):
            return [
                await problem(Portal(free_port())),
                await problem(mute),
                await problem(resetting),
                await problem(untrusted, trusting),
            ]

    found = [type(classify_error(one)).__name__ for one in asyncio.run(all_of_them())]
    assert found == ["NetworkConnection", "NetworkTimeout", "NetworkReset", "NetworkTls"]


# The whole command.


def test_a_crawl_writes_what_failed_and_the_command_reads_it(tmp_path: Path) -> None:
    faults = "429:0.04,503:0.08,reset:0.08,captcha:0.05,truncate:0.08"
    config = SimulatorConfig(
        sites=("imot.bg",),
        properties=30,
        seed=4,
        port=0,
        faults=faults,
        retry_after_seconds=0,
        log=tmp_path / "log",
    )
    with start_forked(config) as simulator:
        crawl = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **ALONE, **IMPATIENT)
        time.sleep(0.5)  # the simulator writes its log a little later
    assert crawl.returncode == 0, crawl.stderr
    asked = [row for row in requests(tmp_path / "log") if row["path"] != "/robots.txt"]
    told = json.loads(run(tmp_path / "data", "errors", "--json", "--limit", "1000").stdout)
    expected = Counter(NAMES[row["fault"]] for row in asked if row["fault"])
    found = Counter(line["error_type"] for line in told["errors"])
    # On a kept connection that is reset before a byte came, curl itself asks once more, unseen by us.
    unseen = expected["NetworkReset"] - found["NetworkReset"]
    assert unseen >= 0
    assert found + Counter(NetworkReset=unseen) == expected
    assert told["counts"] == found
    assert expected.total() > 5
    job = json.loads(crawl.stdout)["jobs"][0]
    assert job["requests"] + unseen == len(asked)
    assert {line["job"] for line in told["errors"]} == {job["job_id"]}
    shown = run(tmp_path / "data", "errors", "--class", "HttpServer", "--limit", "2").stdout
    assert shown.count("HttpServer, try") == min(2, expected["HttpServer"])
    assert "HttpBlocked" not in shown


def test_a_portal_that_says_429_for_ever_is_given_up(tmp_path: Path) -> None:
    config = SimulatorConfig(
        sites=("imot.bg",), properties=3, port=0, faults="429:1", retry_after_seconds=0, log=tmp_path / "log"
    )
    with start_forked(config) as simulator:
        arguments = ["crawl", "imot.bg", "--start-url", simulator.start_urls("imot.bg")[0], "--json"]
        crawl = run(tmp_path / "data", *arguments, **IMPATIENT)
        time.sleep(0.5)
    job = json.loads(crawl.stdout)["jobs"][0]
    assert (crawl.returncode, job["state"], job["requests"]) == (1, "FAILED", 5)
    assert "HttpRateLimit: rate_limited: HTTP 429" in job["error"]
    assert len([row for row in requests(tmp_path / "log") if row["path"] != "/robots.txt"]) == 5
    told = json.loads(run(tmp_path / "data", "errors", "--json").stdout)
    assert [line["attempt"] for line in told["errors"]] == [1, 2, 3, 4, 5]
    assert [line["next_delay"] is None for line in told["errors"]] == [False] * 4 + [True]


def test_a_page_that_could_not_be_read_is_read_again_from_the_archive(tmp_path: Path) -> None:
    """Its bytes are where `reparse` looks; it copes with them as long as nobody mended the table."""

    async def serve() -> tuple[subprocess.CompletedProcess[str], int]:
        async with scripted(html("", 404), html(LAYOUT)) as log:
            arguments = ["crawl", "imot.bg", "--start-url", log.url(advert()[0])]
            return await asyncio.to_thread(run, tmp_path / "data", *arguments, **IMPATIENT), len(log.paths)

    crawl, asked = asyncio.run(serve())
    assert (crawl.returncode, asked) == (1, 4)
    assert "ParseSelector: layout_changed" in crawl.stderr
    told = json.loads(run(tmp_path / "data", "errors", "--json").stdout)
    digests = {line["page"] for line in told["errors"]}
    assert len(digests) == 1
    assert None not in digests
    again = run(tmp_path / "data", "reparse")
    assert "1 page read again: 0 adverts changed, 1 unreadable, 0 no longer" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--site", "nowhere.bg"), "no site 'nowhere.bg'; allowed: alo.bg, bazar.bg, homes.bg, imot.bg"),
        (("--class", "Nonsense"), "no class 'Nonsense'; allowed: AddressRefused, BodyTooLarge"),
        (("--limit", "-1"), "Invalid value for '--limit'"),
    ],
)
def test_wrong_words_to_the_error_log(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    told = run(tmp_path / "data", "errors", *arguments, **FAST)
    assert told.returncode == 2
    plain = " ".join(told.stderr.replace("│", " ").split())
    assert sentence in plain


def test_no_errors_yet(tmp_path: Path) -> None:
    assert json.loads(run(tmp_path / "data", "errors", "--json").stdout) == {"counts": {}, "errors": []}
