import asyncio
import socket

import pytest
from aiohttp import web
from curl_cffi import AsyncCurl, CurlOpt

from sale_sofia.crawl.fetch.addresses import AddressGuard, CheckedAddress, is_private
from sale_sofia.crawl.fetch.base import RequestTimeouts
from sale_sofia.crawl.fetch.curl import CookieJar, CurlPool, Handle, Setup
from sale_sofia.crawl.resilience.errors import ForeignAddress, NetworkDns, PrivateAddress
from sale_sofia.crawl.resilience.gate import Turn
from tables import each_row
from unit.crawl.fetch.portal import page, portal

Names = dict[str, list[str]]


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> Names:
    """The name server: there is none that a test could start for the system's own resolver."""
    known: Names = {}

    def getaddrinfo(host: str, port: int, *_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(0, 0, 0, "", (address, port)) for address in known[host] for _ in range(2)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known


def check(url: str, *hosts: str) -> CheckedAddress:
    return asyncio.run(AddressGuard(0).check(url, frozenset(hosts)))


def test_a_portal_is_looked_up_and_pinned(names: Names) -> None:
    names["www.imot.bg"] = ["8.8.8.8", "2606:4700::1111"]
    target = check("https://WWW.imot.bg/obiava", "www.imot.bg")
    assert (target.host, target.port) == ("www.imot.bg", 443)
    assert target.pin == "www.imot.bg:443:8.8.8.8,2606:4700::1111"


@each_row(
    ("url", "hosts"),
    [
        ("http://127.0.0.1:81/a b", {"127.0.0.1:81"}),
        ("http://127.0.0.1:81\\@evil.bg/", {"127.0.0.1:81"}),
        ("http://127.0.0.1:81@evil.bg/", {"127.0.0.1:81"}),
        ("http://127.0.0.1:8101/", {"127.0.0.1:81"}),
        ("http://127.0.0.1:81/", {"127.0.0.1:82"}),
    ],
)
def test_an_origin_that_was_allowed_opens_no_other_way(url: str, hosts: set[str]) -> None:
    async def run() -> None:
        guard = AddressGuard(0)
        await guard.check("http://127.0.0.1:81/", frozenset({"127.0.0.1:81"}))
        assert (await guard.check("http://127.0.0.1:81/a?b#c", frozenset({"127.0.0.1:81"}))).port == 81
        with pytest.raises((ForeignAddress, PrivateAddress)):
            await guard.check(url, frozenset(hosts))

    asyncio.run(run())


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "127.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "0.0.0.1"]
)
def test_a_public_name_must_not_lead_into_a_private_network(names: Names, address: str) -> None:
    names["www.imot.bg"] = ["8.8.8.8", address]
    with pytest.raises(PrivateAddress, match=r"www\.imot\.bg"):
        check("https://www.imot.bg/", "www.imot.bg")


def test_an_unknown_name_is_a_failed_connection(names: Names) -> None:
    assert names == {}
    with pytest.raises(NetworkDns, match="not known"):
        check("https://www.imot.bg/", "www.imot.bg")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
        ("http://localhost:8080/", "localhost:8080"),
        ("http://10.0.0.7/", "10.0.0.7"),
        ("http://10.0.0.7:80/", "10.0.0.7"),
        ("http://10.0.0.7/", "10.0.0.7:80"),
        ("http://[::1]:8080/", "[::1]:8080"),
    ],
)
def test_a_private_address_that_is_named_may_be_asked(names: Names, url: str, host: str) -> None:
    assert check(url, host).pin is None
    assert names == {}


@each_row(
    "url",
    ["http://127.0.0.1/", "http://127.0.0.1:8081/", "http://localhost:8080/", "http://[fe80::1]/"],
)
def test_a_private_address_that_is_not_named_is_refused(url: str) -> None:
    with pytest.raises(PrivateAddress):
        check(url, "127.0.0.1:8080", "www.imot.bg")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://www.imot.bg/",
        "file:///etc/passwd",
        "www.imot.bg",
        "https:///path",
        "https://imot.bg/",
        "https://www.imot.bg.evil.example/",
        "https://www.imot.bg:8443/",
        "https://www.imot.bg:99999/",
        "https://user@www.imot.bg/",
        "https://evil.example\\@www.imot.bg/",
        "https://www.imot.bg/a b",
        "https://www.imot.bg/a\r\nHost: evil",
        "https://8.8.8.8/",
        "http://2130706433/",
    ],
)
def test_anything_else_is_foreign(names: Names, url: str) -> None:
    names["www.imot.bg"] = ["8.8.8.8"]
    with pytest.raises(ForeignAddress):
        check(url, "www.imot.bg")


def test_a_cyrillic_name_is_looked_up_as_the_net_writes_it(names: Names) -> None:
    names["xn--h1alffa9f.xn--90ae"] = ["8.8.8.8"]
    assert check("https://россия.бг/", "россия.бг").pin == "xn--h1alffa9f.xn--90ae:443:8.8.8.8"


@pytest.mark.parametrize(("later", "look_ups"), [(9.9, 1), (10.0, 2)])
def test_a_look_up_holds_for_its_time(names: Names, asked: list[str], later: float, look_ups: int) -> None:
    names["www.imot.bg"] = ["8.8.8.8"]
    now = [0.0]

    async def run() -> None:
        guard = AddressGuard(10, clock=lambda: now[0])
        await guard.check("https://www.imot.bg/1", frozenset({"www.imot.bg"}))
        now[0] = later
        await guard.check("https://www.imot.bg/2", frozenset({"www.imot.bg"}))

    asyncio.run(run())
    assert len(asked) == look_ups


def test_curl_connects_where_the_name_was_found_to_lead() -> None:
    async def run() -> tuple[bytes, str]:
        async with portal(page(b"pinned")) as log:
            pool, pin = CurlPool(), CheckedAddress("", "portal.test", log.port, ("127.0.0.1",)).pin
            url = f"http://portal.test:{log.port}/"
            answer = await pool.get(url, Setup("chrome", pin, max_bytes=1000), RequestTimeouts(5, 5), Turn())
            await pool.close()
            return answer.body, log.headers[0]["Host"].partition(":")[0]

    assert asyncio.run(run()) == (b"pinned", "portal.test")


def test_a_handle_that_is_used_again_later_connects_nowhere_else() -> None:
    """A pin is read once; what curl looks up it forgets after a minute (here: at once), but not the pin."""

    async def hang_up(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"pinned", headers={"Connection": "close"})

    async def run() -> list[bytes]:
        async with portal(hang_up) as log:
            pin = CheckedAddress("", "portal.test", log.port, ("127.0.0.1",)).pin
            handle, multi = Handle(Setup("chrome", pin, max_bytes=1000)), AsyncCurl()
            handle.curl.setopt(CurlOpt.DNS_CACHE_TIMEOUT, 0)
            url = f"http://portal.test:{log.port}/"
            bodies = [
                (await handle.get(url, RequestTimeouts(5, 5), Turn(), multi, CookieJar())).body
                for _ in range(2)
            ]
            await multi.close()  # type: ignore[no-untyped-call]
            return bodies

    assert asyncio.run(run()) == [b"pinned"] * 2


@each_row(
    ("text", "private"),
    [
        ("8.8.8.8", False),
        ("2606:4700::1111", False),
        ("192.168.0.1", True),
        ("172.16.0.1", True),
        ("172.32.0.1", False),
        ("100.64.0.1", True),
        ("224.0.0.1", True),
        ("240.0.0.1", True),
        ("fd00::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:8.8.8.8", False),
    ],
)
def test_what_is_private(text: str, private: bool) -> None:  # noqa: FBT001
    assert is_private(text) is private
