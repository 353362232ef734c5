"""Candidates from files, pages and JSON; what is no proxy is counted, shown and left out."""

import asyncio
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from contract.proxies.pools import proxy
from sale_sofia.proxies import settings
from sale_sofia.proxies.sources import (
    Count,
    ProxySource,
    SourceList,
    SourceListBroken,
    SourceUnreadable,
    read_source,
)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def read(place: str, count: Count | None = None, **more: object) -> list[str]:
    async def scenario() -> list[str]:
        source = ProxySource(place, **more)  # type: ignore[arg-type]
        return [proxy.address.secret_url for proxy in await read_source(source, count or Count())]

    return asyncio.run(scenario())


def test_lines_of_every_form(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(
        "\ufeff# a comment\n1.2.3.4:80\r\n\nsocks5://5.6.7.8:1080\nuser:p%40ss@gate.example:3128\n"
        "gate.example:3129:me:se:cret\n[2001:db8::1]:8080\nhttps://[2001:db8::2]:443\n1.2.3.4:80\n"
    )
    count = Count()
    assert read(str(tmp_path / "list"), count) == [
        "http://1.2.3.4:80",
        "socks5://5.6.7.8:1080",
        "http://user:p%40ss@gate.example:3128",
        "http://me:se%3Acret@gate.example:3129",
        "http://[2001:db8::1]:8080",
        "https://[2001:db8::2]:443",
    ]
    assert (count.taken, count.duplicates, count.malformed) == (6, 1, 0)


def test_malformed_lines_are_counted_shown_and_skipped(tmp_path: Path) -> None:
    wrong = ["nonsense", "1.2.3.4:0", "1.2.3.4:99999", "ftp://1.2.3.4:80", "a" * 9000, "me:topsecret@host"]
    (tmp_path / "list").write_text("\n".join([*wrong, "host:1:me:topsecret word", "9.9.9.9:80"]))
    count = Count()
    assert read(str(tmp_path / "list"), count) == ["http://9.9.9.9:80"]
    assert count.malformed == 7
    assert len(count.examples) == 5
    assert count.examples[1] == "'1.2.3.4:0': no port 0; allowed are 1 to 65535"
    assert "topsecret" not in repr(count)


def test_no_shown_line_holds_a_password() -> None:
    count = Count()
    for line in [
        "me:topsecret@host",
        "host:1:me:topsecret word",
        "x://me:topsecret@host:80",
        "::me:topsecret",
        "me:topsecret:1.2.3.4:8080",
        "1.2.3.4:99999:me:[topsecret",
        "1.2.3.4,8080,me,topsecret",
        "1.2.3.4 8080 me topsecret",
    ]:
        count.note_malformed(line, "why")
    assert "topsecret" not in repr(count.examples)


@pytest.mark.parametrize(
    ("line", "why"),
    [("1.2.3.4:80:me:" + "#" * 170, "too long"), ('["\\ud800:x@1.2.3.4:80"]', "cannot be sent")],
    ids=["too long once quoted", "half a character"],
)
def test_a_login_that_cannot_be_stored_is_malformed(tmp_path: Path, line: str, why: str) -> None:
    (tmp_path / "list").write_text(line)
    count = Count()
    assert read(str(tmp_path / "list"), count) == []
    assert count.malformed == 1
    assert why in count.examples[0]


def test_a_page_with_a_table(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(
        "<html><body><p>Updated 12:30</p><table><tr><td>1.2.3.4</td><td>8080</td></tr>"
        "<tr><td>5.6.7.8</td>\n<td>3128</td></tr></table><pre>9.9.9.9:80\nsocks5://8.8.4.4:1080</pre></html>"
    )
    assert sorted(read(str(tmp_path / "list"))) == [
        "http://1.2.3.4:8080",
        "http://5.6.7.8:3128",
        "http://9.9.9.9:80",
        "socks5://8.8.4.4:1080",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '[{"ip": "1.2.3.4", "port": 80}, {"host": "5.6.7.8", "port": "1080", "protocol": "SOCKS5"}]',
        '{"data": {"list": ["1.2.3.4:80", "socks5://5.6.7.8:1080"], "count": 2}}',
        '{"ip": "1.2.3.4", "port": 80}\n{"ip": "5.6.7.8", "port": 1080, "type": "socks5"}\n',
    ],
)
def test_json_of_every_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "list").write_text(text)
    assert read(str(tmp_path / "list")) == ["http://1.2.3.4:80", "socks5://5.6.7.8:1080"]


def test_broken_and_bottomless_json_is_no_proxy(tmp_path: Path) -> None:
    (tmp_path / "list").write_text('{"ip": "1.2.3.4", ')
    count = Count()
    assert read(str(tmp_path / "list"), count) == []
    assert count.malformed == 1
    (tmp_path / "list").write_text("[" * 100_000)
    assert read(str(tmp_path / "list")) == []


def test_one_proxy_is_a_source_too() -> None:
    source = ProxySource("socks5://me:s3cret@gate.example:1080", "paid")
    assert (source.is_proxy, source.is_url, source.name) == (True, False, "socks5://me:***@gate.example:1080")
    assert read(source.place) == ["socks5://me:s3cret@gate.example:1080"]
    assert ProxySource("https://me:s3cret@lists.example/all.txt").name == "https://lists.example/all.txt"


MANY = 100_000


@pytest.mark.slow
def test_many_lines_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    with (tmp_path / "list").open("w") as file:
        for number in range(MANY):
            file.write(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:{1 + number % 60_000}\n")

    async def scenario() -> tuple[int, int]:
        count = Count()
        found = await read_source(ProxySource(str(tmp_path / "list")), count)
        next(found)
        return count.taken, 1 + sum(1 for _ in found)

    assert asyncio.run(scenario()) == (1, MANY)


def test_a_missing_file_is_said() -> None:
    with pytest.raises(SourceUnreadable, match=r"/nowhere/list: cannot be read: No such file"):
        read("/nowhere/list")


@asynccontextmanager
async def website(handler: Handler) -> AsyncIterator[str]:
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/list"
    finally:
        await runner.cleanup()


async def fetched(handler: Handler) -> list[str]:
    async with website(handler) as url:
        found = await read_source(ProxySource(url), Count())
        return [proxy.address.masked for proxy in found]


async def for_ever(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"1.2.3.4:80\n")
        await asyncio.sleep(0.01)


async def nothing(_: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text="  \n")


async def gone(_: web.BaseRequest) -> web.StreamResponse:
    return web.Response(status=404)


async def page_of_words(_: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text="<!doctype html><title>Buy our list</title> 12:30", content_type="text/html")


def test_a_list_that_never_ends_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SOURCE_SECONDS", 0.3)
    assert asyncio.run(fetched(for_ever)) == ["http://1.2.3.4:80"]


@pytest.mark.parametrize(("handler", "why"), [(nothing, "gave nothing"), (gone, "HTTP 404")])
def test_a_list_without_content_is_said(handler: Handler, why: str) -> None:
    with pytest.raises(SourceUnreadable, match=why):
        asyncio.run(fetched(handler))


def test_a_page_that_is_no_list_has_no_candidates() -> None:
    assert asyncio.run(fetched(page_of_words)) == []


def test_a_list_from_outside_names_nothing_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name leads to this machine, but only the resolver knows that."""
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *more, **named: look_up("127.0.0.1", *more, **named))
    places = ["127.0.0.1:6379", "localhost:80", "169.254.169.254:80", "[::1]:80", "10.1.2.3:80", "8.8.4.4:80"]
    count = Count()

    async def some(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="\n".join(places))

    async def run() -> list[str]:
        async with website(some) as url:
            inside = [proxy.address.place for proxy in await read_source(ProxySource(url), Count())]
            assert inside == places
            found = await read_source(ProxySource(url.replace("127.0.0.1", "lists.example")), count)
            return [proxy.address.place for proxy in found]

    assert asyncio.run(run()) == ["8.8.4.4:80"]
    assert count.malformed == 5
    assert "private address" in count.examples[0]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["<" * 3_000_000, "<" + "a" * 3_000_000, "<" + "a:" * 1_500_000])
def test_a_page_made_to_be_searched_for_ever_is_read_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "list").write_text(text + " 1.2.3.4:80")
    assert read(str(tmp_path / "list")) == ["http://1.2.3.4:80"]


def test_the_key_of_a_list_is_not_shown() -> None:
    assert ProxySource("https://me:pw@lists.example/free?key=s3cret").name == "https://lists.example/free?***"


def test_nobody_there_is_said() -> None:
    with pytest.raises(SourceUnreadable, match=r"cannot be had \(ClientConnectorError\)"):
        read("http://127.0.0.1:9/list")


def test_sources_are_remembered_for_their_owner_alone(tmp_path: Path) -> None:
    sources = SourceList(tmp_path)
    assert sources.sources() == []
    assert sources.add(ProxySource("http://me:s3cret@gate.example:3128", "paid"))
    assert sources.add(ProxySource("/a/list"))
    assert not sources.add(ProxySource("/a/list", "own"))
    assert sources.sources() == [
        ProxySource("http://me:s3cret@gate.example:3128", "paid"),
        ProxySource("/a/list", "own"),
    ]
    assert stat.S_IMODE((tmp_path / "proxies" / "sources.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "proxies").stat().st_mode) == 0o700
    (tmp_path / "proxies" / "sources.json").write_text("oops")
    with pytest.raises(SourceListBroken, match="not the JSON"):
        sources.sources()


def test_a_proxy_that_is_added_with_another_password_has_that_one(tmp_path: Path) -> None:
    sources = SourceList(tmp_path)
    assert sources.add(ProxySource("me:old@203.0.113.7:3128", "paid"))
    assert sources.add(ProxySource("you:old@203.0.113.7:3128", "paid"))
    assert not sources.add(ProxySource("me:new@203.0.113.7:3128", "paid"))
    assert [source.place for source in sources.sources()] == [
        "you:old@203.0.113.7:3128",
        "me:new@203.0.113.7:3128",
    ]


def test_a_refresh_that_found_nothing_takes_nothing_away(tmp_path: Path) -> None:
    sources, first, second = SourceList(tmp_path), proxy(1), proxy(2)
    sources.remember_sweep([first], whole=True)
    sources.remember_sweep([], whole=True)
    assert sources.load_usable() == [first]
    sources.remember_sweep([second], whole=False)
    assert sources.load_usable() == [second, first]
    sources.remember_sweep([second], whole=True)
    assert sources.load_usable() == [second]
