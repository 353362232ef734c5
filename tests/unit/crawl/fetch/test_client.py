import asyncio
import gzip
import zlib
from dataclasses import replace

import pytest
import zstandard
from aiohttp import web

from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.resilience.errors import ForeignAddress, NetworkConnection, PrivateAddress, RedirectLoop
from tables import each_row
from unit.crawl.fetch.portal import fetch_once, fetcher, page, portal, raw_portal, redirects, request

HELLO = b"hello world"
# Compressed beforehand: the tests need no brotli of their own.
BROTLI = bytes.fromhex("0b058068656c6c6f20776f726c6403")
PACKED = {
    "gzip": gzip.compress(HELLO),
    "deflate": zlib.compress(HELLO),
    "zstd": zstandard.compress(HELLO),
    "br": BROTLI,
}


def test_an_answer_is_given_as_it_came() -> None:
    async def run() -> None:
        async with portal(page("<html>ж</html>".encode("cp1251"), ETag='"7"')) as log:
            answer = await fetch_once(log.request("/obiava?id=1"))
        assert (answer.url, answer.status) == (log.url("/obiava?id=1"), 200)
        assert answer.body == b"<html>\xe6</html>"
        assert (answer.headers["etag"], answer.headers["content-type"]) == ('"7"', "text/html")
        assert 0 < answer.seconds < 60
        assert log.paths == ["/obiava?id=1"]

    asyncio.run(run())


def test_it_speaks_like_a_browser_that_reads_bulgarian() -> None:
    async def run() -> dict[str, str]:
        async with portal(page()) as log:
            await fetch_once(replace(log.request(), headers={"If-None-Match": '"7"'}))
        return log.headers[0]

    headers = asyncio.run(run())
    assert headers["Accept-Language"] == "bg-BG,bg;q=0.9,en;q=0.5"
    assert "Chrome/" in headers["User-Agent"]
    assert headers["If-None-Match"] == '"7"'
    assert "Upgrade" not in headers


def test_one_connection_serves_many_pages() -> None:
    async def run() -> tuple[int, int]:
        async with portal(page()) as log, fetcher() as client:
            for number in range(20):
                await client.fetch(log.request(f"/{number}"))
        return len(log.paths), len(log.connections)

    assert asyncio.run(run()) == (20, 1)


def test_nobody_waits_for_a_handle() -> None:
    async def run() -> int:
        together = asyncio.Barrier(30)

        async def answer(_: web.BaseRequest) -> web.StreamResponse:
            await together.wait()
            return web.Response(text="all")

        async with portal(answer) as log, fetcher() as client:
            answers = await asyncio.gather(*(client.fetch(log.request(f"/{n}")) for n in range(30)))
        return sum(answer.body == b"all" for answer in answers)

    assert asyncio.run(run()) == 30


def test_cookies_are_kept() -> None:
    async def run() -> list[str | None]:
        async with portal(page(Set_Cookie="seen=1; Path=/")) as log, fetcher() as client:
            await client.fetch(log.request())
            await client.fetch(log.request())
        return [headers.get("Cookie") for headers in log.headers]

    assert asyncio.run(run()) == [None, "seen=1"]


def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def run() -> Response:
        async with portal(page()) as log:
            return await fetch_once(log.request())

    assert asyncio.run(run()).status == 200


@each_row(("encoding", "packed"), PACKED.items())
def test_a_body_is_unpacked(encoding: str, packed: bytes) -> None:
    async def run() -> bytes:
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(packed)}\r\n\r\n"
        async with raw_portal([head.encode(), packed]) as log:
            return (await fetch_once(log.request())).body

    assert asyncio.run(run()) == HELLO


def test_a_chunked_body_is_whole() -> None:
    async def run() -> bytes:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        async with raw_portal([head, b"3\r\nabc\r\n", b"2\r\nde\r\n", b"0\r\n\r\n"], pause=0.01) as log:
            return (await fetch_once(log.request())).body

    assert asyncio.run(run()) == b"abcde"


@each_row("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(status: int) -> None:
    async def run() -> tuple[str, bytes, list[str]]:
        async with portal(redirects({"/a": "b?q=1#top", "/b": "/c"}, status)) as log:
            answer = await fetch_once(log.request("/a"))
        return answer.url.removeprefix(log.url("")), answer.body, log.paths

    assert asyncio.run(run()) == ("/c", b"/c", ["/a", "/b?q=1", "/c"])


def test_an_address_in_windows_1251_is_followed_byte_by_byte() -> None:
    async def run() -> list[str]:
        head = "HTTP/1.1 302 Found\r\nLocation: /обява\r\nContent-Length: 0\r\n\r\n".encode("cp1251")
        async with raw_portal([head]) as log:
            with pytest.raises(RedirectLoop):
                await fetch_once(log.request("/"))
        return log.paths

    assert asyncio.run(run()) == ["/", "/%EE%E1%FF%E2%E0"]


@each_row("status", [200, 304, 404, 500])
def test_only_a_redirect_redirects(status: int) -> None:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    async def run() -> tuple[int, list[str]]:
        async with portal(answer) as log:
            return (await fetch_once(log.request("/a"))).status, log.paths

    assert asyncio.run(run()) == (status, ["/a"])


def test_a_redirect_without_an_address_is_the_answer() -> None:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=302)

    async def run() -> int:
        async with portal(answer) as log:
            return (await fetch_once(log.request())).status

    assert asyncio.run(run()) == 302


def numbered(asked: int) -> dict[str, str]:
    return {f"/{number}": f"/{number + 1}" for number in range(asked)}


def test_as_many_redirects_as_allowed_and_not_one_more() -> None:
    async def run(places: dict[str, str]) -> tuple[str, int]:
        async with portal(redirects(places)) as log:
            try:
                answer = await fetch_once(log.request("/0"), max_redirects=3)
            except RedirectLoop:
                return "loop", len(log.paths)
        return answer.body.decode(), len(log.paths)

    assert asyncio.run(run(numbered(3))) == ("/3", 4)
    assert asyncio.run(run(numbered(4))) == ("loop", 4)


def test_a_circle_ends_at_its_first_repetition() -> None:
    async def run() -> list[str]:
        async with portal(redirects({"/a": "/b", "/b": "/a"})) as log:
            with pytest.raises(RedirectLoop):
                await fetch_once(log.request("/a"), max_redirects=100)
        return log.paths

    assert asyncio.run(run()) == ["/a", "/b"]


ELSEWHERE = [
    ("http://other.example/", ForeignAddress),
    ("//imot.bg.other.example/", ForeignAddress),
    ("ftp://127.0.0.1/", ForeignAddress),
    ("file:///etc/passwd", ForeignAddress),
    ("http://[::1", ForeignAddress),
    ("http://10.0.0.1/", PrivateAddress),
    ("http://169.254.169.254/latest/meta-data", PrivateAddress),
    ("http://[::ffff:10.0.0.1]/", PrivateAddress),
    ("http://localhost/", PrivateAddress),
]


@each_row(("place", "expected"), ELSEWHERE)
def test_a_redirect_never_leads_out(place: str, expected: type[Exception]) -> None:
    async def run() -> None:
        async with portal(redirects({"/a": place})) as log:
            with pytest.raises(expected):
                await fetch_once(log.request("/a"))

    asyncio.run(run())


def test_a_foreign_host_hears_nothing_of_us() -> None:
    async def run() -> list[str]:
        async with portal(page()) as other, portal(redirects({"/a": other.url("/b")})) as log:
            with pytest.raises(PrivateAddress):
                await fetch_once(log.request("/a"))
            assert other.paths == []
            await fetch_once(request(log.url("/a"), log.host, other.host))
        return other.paths

    assert asyncio.run(run()) == ["/b"]


def test_closing_ends_what_is_under_way_and_the_next_fetch_starts_anew() -> None:
    async def run() -> int:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"
        async with raw_portal([head], hold=5) as slow, portal(page()) as log, fetcher() as client:
            task = asyncio.create_task(client.fetch(slow.request()))
            await slow.asked.wait()
            await client.close()
            with pytest.raises(NetworkConnection):
                await task
            return (await client.fetch(log.request())).status

    assert asyncio.run(run()) == 200
