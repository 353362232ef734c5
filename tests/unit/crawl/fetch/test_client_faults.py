import asyncio
import gzip
import time
from pathlib import Path

import pytest
from aiohttp import web
from curl_cffi import CurlError

from sale_sofia.crawl.fetch.curl import Body, crawl_error
from sale_sofia.crawl.resilience.errors import (
    BodyTooLarge,
    CrawlError,
    NetworkBroken,
    NetworkConnection,
    NetworkDns,
    NetworkReset,
    NetworkTimeout,
    NetworkTls,
    ServiceProxy,
)
from tables import each_row
from unit.crawl.fetch.portal import (
    fetch_once,
    fetcher,
    free_port,
    page,
    portal,
    raw_portal,
    request,
    self_signed,
)

OK = b"HTTP/1.1 200 OK\r\n"
BROKEN = {
    "short body": [OK + b"Content-Length: 50\r\n\r\nhalf"],
    "last chunk missing": [OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
    "not gzip": [OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhalf"],
    "unknown encoding": [OK + b"Content-Encoding: rot13\r\nContent-Length: 4\r\n\r\nhalf"],
    "two lengths": [OK + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nhalf"],
    "no header": [OK + b"no colon here\r\nContent-Length: 4\r\n\r\nhalf"],
    "no HTTP": [b"<html>hello</html>"],
}


@each_row("pieces", BROKEN.values())
def test_half_an_answer_is_no_answer(pieces: list[bytes]) -> None:
    async def run() -> None:
        async with raw_portal(pieces) as log:
            with pytest.raises(NetworkBroken):
                await fetch_once(log.request())

    asyncio.run(run())


@pytest.mark.parametrize(
    "said", [b"", OK + b"Content-Length: 50\r\n\r\nhalf"], ids=["at once", "in the body"]
)
def test_a_reset_is_a_failed_connection(said: bytes) -> None:
    async def run() -> None:
        async with raw_portal([said], pause=0.02, reset=True) as log:
            with pytest.raises(NetworkReset):
                await fetch_once(log.request())

    asyncio.run(run())


def test_hanging_up_without_a_word_is_a_failed_connection() -> None:
    async def run() -> None:
        async with raw_portal([]) as log:
            with pytest.raises(NetworkReset):
                await fetch_once(log.request())

    asyncio.run(run())


def test_a_refused_connection_fails() -> None:
    host = f"127.0.0.1:{free_port()}"
    with pytest.raises(NetworkConnection, match=host):
        asyncio.run(fetch_once(request(f"http://{host}/", host)))


def seconds_until_timeout(pieces: list[bytes], *, hold: float = 0, pause: float = 0) -> float:
    async def run() -> float:
        async with raw_portal(pieces, hold=hold, pause=pause) as log:
            started = time.monotonic()
            with pytest.raises(NetworkTimeout):
                await fetch_once(log.request(timeout=0.3))
            return time.monotonic() - started

    return asyncio.run(run())


def test_a_server_that_says_nothing_is_left_at_the_deadline() -> None:
    assert 0.29 < seconds_until_timeout([], hold=60) < 30


def test_a_body_that_drips_is_left_at_the_deadline() -> None:
    head = OK + b"Content-Length: 500\r\n\r\n"
    assert 0.29 < seconds_until_timeout([head] + [b"x"] * 400, pause=0.1) < 20


@pytest.mark.slow
def test_redirects_share_one_deadline() -> None:
    async def slowly(asked: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(0.2)
        return web.Response(status=302, headers={"Location": f"{asked.path}x"})

    async def run() -> None:
        async with portal(slowly) as log:
            with pytest.raises(NetworkTimeout):
                await fetch_once(log.request("/", timeout=2.0), max_redirects=50)
            assert 2 <= len(log.paths) <= 10

    asyncio.run(run())


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_body_up_to_its_limit_is_read(encoding: str) -> None:
    body = b"x" * 10_000
    packed = gzip.compress(body) if encoding == "gzip" else body

    async def run(limit: int) -> int:
        async with portal(page(packed, Content_Encoding=encoding)) as log:
            return len((await fetch_once(log.request(max_bytes=limit))).body)

    assert asyncio.run(run(10_000)) == 10_000
    with pytest.raises(BodyTooLarge):
        asyncio.run(run(9_999))


def test_a_gzip_bomb_does_not_go_off() -> None:
    bomb = gzip.compress(bytes(10_000_000))

    async def run() -> None:
        async with portal(page(bomb, Content_Encoding="gzip")) as log, fetcher() as client:
            assert len(bomb) < 20_000
            with pytest.raises(BodyTooLarge):
                await client.fetch(log.request(max_bytes=1_000_000))

    asyncio.run(run())


def test_a_length_beyond_the_limit_is_not_waited_for() -> None:
    async def run() -> None:
        async with raw_portal([OK + b"Content-Length: 5000000\r\n\r\n"], hold=60) as log:
            with pytest.raises(BodyTooLarge):
                await fetch_once(log.request(timeout=40))

    started = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - started < 30


def test_a_body_counts_its_own_bytes() -> None:
    body = Body("http://imot.bg/", 5)
    assert (body.write(b"abc"), body.write(b"de"), body.whole()) == (3, 2, b"abcde")
    with pytest.raises(BodyTooLarge, match=r"http://imot\.bg/: more than 5 bytes"):
        body.write(b"f")


def test_a_fault_leaves_the_client_usable() -> None:
    async def run() -> int:
        short = raw_portal(BROKEN["short body"])
        async with (
            short as broken,
            raw_portal([], hold=5) as mute,
            portal(page()) as log,
            fetcher() as client,
        ):
            for _ in range(20):
                with pytest.raises(NetworkBroken):
                    await client.fetch(broken.request())
            with pytest.raises(NetworkTimeout):
                await client.fetch(mute.request(timeout=0.1))
            return (await client.fetch(log.request())).status

    assert asyncio.run(run()) == 200


def test_a_cancelled_fetch_hangs_up() -> None:
    async def run() -> bool:
        async with raw_portal([OK], hold=5) as log, fetcher() as client:
            task = asyncio.create_task(client.fetch(log.request()))
            await log.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.1)
            return log.hung_up

    assert asyncio.run(run())


@pytest.mark.slow
def test_a_certificate_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with portal(page(), self_signed(tmp_path)) as log:
            with pytest.raises(NetworkTls):
                await fetch_once(log.request())
        return log.paths

    assert asyncio.run(run()) == []


def test_no_tls_where_it_was_promised_is_a_failed_connection() -> None:
    async def run() -> None:
        async with portal(page()) as log:
            log.scheme = "https"
            with pytest.raises(NetworkConnection):
                await fetch_once(log.request(timeout=2))

    asyncio.run(run())


@each_row(
    ("code", "expected"),
    [
        (28, NetworkTimeout),
        (6, NetworkDns),
        (7, NetworkConnection),
        (52, NetworkReset),
        (55, NetworkReset),
        (56, NetworkReset),
        (97, ServiceProxy),
        (60, NetworkTls),
        (92, NetworkBroken),
        (12345, NetworkConnection),
    ],
)
def test_every_error_of_curl_has_a_place(code: int, expected: type[CrawlError]) -> None:
    error = crawl_error(CurlError("it broke. See https://curl.se for more", code), "http://a/")
    assert type(error) is expected
    assert str(error) == "http://a/: it broke"
