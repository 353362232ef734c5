"""What curl_cffi's own session would do for us: cookies of one visitor, headers, handles used again."""

import asyncio
from contextlib import suppress

import pytest
from aiohttp import web

from sale_sofia.crawl.fetch.base import RequestTimeouts, Response
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.fetch.curl import CookieJar, CurlPool, Setup
from sale_sofia.crawl.fetch.settings import MOST_IDLE_HANDLES
from sale_sofia.crawl.resilience.errors import NetworkReset
from sale_sofia.crawl.resilience.gate import Turn
from unit.crawl.fetch.portal import Portal, fetch_once, fetcher, portal

PATIENCE = RequestTimeouts(5, 5)


def cookies_sent(log: Portal) -> list[set[str]]:
    return [set(filter(None, headers.get("Cookie", "").split("; "))) for headers in log.headers]


async def cookie_portal(asked: web.BaseRequest) -> web.StreamResponse:
    """/set/NAME/VALUE sets a cookie, /drop/NAME takes it back, all else answers only."""
    answer = web.Response(text="ok")
    match asked.path.split("/")[1:]:
        case ["set", name, value]:
            answer.set_cookie(name, value, path="/")
        case ["drop", name]:
            answer.del_cookie(name, path="/")
    await asyncio.sleep(0.05)  # so that requests sent together need a handle each
    return answer


def run_paths(*steps: tuple[str, ...]) -> list[set[str]]:
    """The cookies of each request; the paths of a step are asked for together."""

    async def run() -> list[set[str]]:
        async with portal(cookie_portal) as log, fetcher() as client:
            for step in steps:
                await asyncio.gather(*(client.fetch(log.request(path)) for path in step))
            return cookies_sent(log)

    return asyncio.run(run())


def test_what_two_answers_set_at_once_is_sent_by_every_handle() -> None:
    sent = run_paths(("/set/a/1", "/set/b/2"), ("/x", "/y", "/z"))
    assert sent == [set(), set()] + [{"a=1", "b=2"}] * 3


def test_a_changed_cookie_replaces_the_old_one_in_every_handle() -> None:
    assert run_paths(("/set/a/1", "/x"), ("/set/a/2",), ("/x", "/y"))[2:] == [{"a=1"}, {"a=2"}, {"a=2"}]


def test_a_cookie_taken_back_is_gone_from_every_handle() -> None:
    sent = run_paths(("/set/a/1", "/set/b/2"), ("/x", "/y"), ("/drop/a",), ("/x", "/y"))
    assert sent[-2:] == [{"b=2"}, {"b=2"}]


def test_who_begins_anew_sends_nothing_of_the_visitor_before() -> None:
    """Also by a handle that missed the change: the new visitor has had as many changes as the old one."""

    async def run() -> list[set[str]]:
        async with portal(cookie_portal) as log, fetcher() as client:
            await asyncio.gather(client.fetch(log.request("/set/old/1")), client.fetch(log.request("/x")))
            await asyncio.gather(client.fetch(log.request("/x")), client.fetch(log.request("/y")))
            client.forget_sessions()
            await client.fetch(log.request("/set/new/1"))
            await asyncio.gather(client.fetch(log.request("/x")), client.fetch(log.request("/y")))
            return cookies_sent(log)

    sent = asyncio.run(run())
    assert sent[2:4] == [{"old=1"}] * 2
    assert sent[4:] == [set(), {"new=1"}, {"new=1"}]


def test_a_request_whose_kept_connection_was_reset_is_not_sent_again() -> None:
    asked: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # a connection may be opened and not used
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.transport.abort()

    async def run() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        page = Portal(server.sockets[0].getsockname()[1]).request()
        async with server, fetcher() as client:
            await client.fetch(page)
            with pytest.raises(NetworkReset):
                await client.fetch(page)

    asyncio.run(run())
    assert len(asked) == 2


def test_a_handle_gives_back_only_what_it_changed() -> None:
    jar = CookieJar()
    jar.take({}, [b"d\tF\t/\tF\t0\ta\t1", b"d\tF\t/\tF\t0\tb\t1"])
    seen_by_first = jar.lines
    jar.take(seen_by_first, [b"d\tF\t/\tF\t0\ta\t2", b"d\tF\t/\tF\t0\tb\t1"])
    jar.take(seen_by_first, [b"d\tF\t/\tF\t0\ta\t1", b"d\tF\t/\tF\t0\tb\t3"])
    assert sorted(line[-3:] for line in jar.lines.values()) == [b"a\t2", b"b\t3"]


def test_an_interim_answer_and_repeated_headers() -> None:
    said = (
        b"HTTP/1.1 103 Early Hints\r\nLink: </x.css>\r\nX-Early: yes\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nVary: Accept\r\nVARY: Cookie\r\n"
        b"X-Name: \xc8\xec\xee\xf2\r\nContent-Length: 2\r\n\r\nok"
    )

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()
        writer.close()

    async def run() -> Response:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        async with server:
            return await fetch_once(Portal(server.sockets[0].getsockname()[1]).request())

    answer = asyncio.run(run())
    assert (answer.status, answer.headers["vary"]) == (200, "Accept, Cookie")
    assert answer.headers["x-name"].encode("latin-1").decode("windows-1251") == "Имот"
    assert "x-early" not in answer.headers


def test_an_unknown_browser_is_named() -> None:
    async def run() -> None:
        async with portal(cookie_portal) as log:
            client = CurlFetcher("netscape", 5)
            try:
                await client.fetch(log.request())
            finally:
                await client.close()

    with pytest.raises(ValueError, match="FETCH_PROFILE: curl cannot speak like 'netscape'"):
        asyncio.run(run())


@pytest.mark.slow
def test_a_handle_is_used_again_and_only_so_many_are_kept() -> None:
    async def run() -> tuple[int, int]:
        async with portal(cookie_portal) as log:
            pool = CurlPool()
            for _ in range(3):
                await pool.get(log.url(), Setup("chrome", None, 1000), PATIENCE, Turn())
            alone = len(pool._idle)  # noqa: SLF001
            for limit in range(MOST_IDLE_HANDLES + 5):
                await pool.get(log.url(), Setup("chrome", None, 2000 + limit), PATIENCE, Turn())
            many = len(pool._idle)  # noqa: SLF001
            await pool.close()
            return alone, many

    assert asyncio.run(run()) == (1, MOST_IDLE_HANDLES)
