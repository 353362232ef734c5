"""The rotator on real sockets: over the pool or not at all."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from fleet_certificates import Certificates
from fleet_world import FleetWorld, fleet_world
from proxy_fleet import OWN, PASSWORD
from sale_sofia.crawl.fetch.base import RequestTimeouts
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.pool import MemoryProxyPool
from sale_sofia.proxies.rotator import BadRequest, Rotator, TunnelRequest, domain_of, read_request
from sale_sofia.proxies.settings import PoolRules

RULES = PoolRules(spacing_seconds=0.0, lease_seconds=30.0)


@dataclass
class Running:
    world: FleetWorld
    pool: MemoryProxyPool
    port: int
    said: list[str] = field(default_factory=list)

    async def ask(self, text: str) -> tuple[int, bytes]:
        """What the rotator answers to a request as it stands."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(text.encode())
        answer = await reader.read()
        writer.close()
        return int(answer.split(b" ")[1]), answer

    async def get(self, host: str = "portal-a.test", headers: str = "") -> int:
        """One page through a tunnel, its certificate checked; the status of tunnel or page."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode())
        status = int((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1])
        if status != 200:
            writer.close()
            return status
        await writer.start_tls(ssl.create_default_context(cafile=str(self.world.ca)), server_hostname=host)
        writer.write(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        status = int((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1])
        writer.close()
        await asyncio.sleep(0.05)  # the rotator notices the end and tells the pool
        return status

    def exits(self) -> list[str]:
        return [request.source for request in self.world.origins.log]


@asynccontextmanager
async def running(
    certificates: Certificates, kinds: Mapping[str, int], *, filled: bool = True
) -> AsyncIterator[Running]:
    async with fleet_world(certificates, kinds) as world:
        pool = MemoryProxyPool(rules=RULES)
        for member in world.fleet.members if filled else []:
            await pool.put(Proxy(member.address))
        rotator = Rotator(pool=pool, patience=RequestTimeouts(1.0, 1.5), lease_seconds=30.0)
        port = await rotator.start(0)
        try:
            yield Running(world, pool, port)
        finally:
            await rotator.stop()


def test_pages_come_through_proxies_with_their_own_certificates(certificates: Certificates) -> None:
    async def scenario() -> tuple[list[int], set[str], set[str]]:
        async with running(certificates, {"good": 2, "socks5": 1, "with_password": 1}) as made:
            statuses = [await made.get() for _ in range(8)]
            return statuses, set(made.exits()), {member.host for member in made.world.fleet.members}

    statuses, exits, hosts = asyncio.run(scenario())
    assert statuses == [200] * 8
    assert exits <= hosts


def test_a_proxy_that_fails_is_replaced_and_booked_as_itself(certificates: Certificates) -> None:
    async def scenario() -> tuple[list[int], dict[str, int]]:
        async with running(certificates, {"good": 1, "reset": 2}) as made:
            statuses = [await made.get() for _ in range(3)]
            rows = await made.pool.get_stats("portal-a.test")
            kinds = {member.address.id: member.kind for member in made.world.fleet.members}
            return statuses, {f"{kinds[row.id]} {row.id}": row.successes for row in rows}

    statuses, successes = asyncio.run(scenario())
    assert statuses == [200] * 3
    assert sorted((name.split()[0], count) for name, count in successes.items()) == [
        ("good", 3), ("reset", 0), ("reset", 0),
    ]  # fmt: skip


def test_an_empty_pool_is_503_and_nothing_goes_out(certificates: Certificates) -> None:
    async def scenario() -> tuple[list[int], set[str]]:
        async with running(certificates, {"good": 1}, filled=False) as made:
            headers = ["", "X-Proxy-Offset: 0\r\n", "Proxy-Authorization: session-a\r\n"]
            statuses = [await made.get(headers=header) for header in headers]
            return statuses, made.world.origins.sources()

    assert asyncio.run(scenario()) == ([503, 503, 503], set())


@pytest.mark.parametrize(
    "kind", ["dead", "reset", "hang", "wants_password", "refusing", "babbling", "mortal"]
)
def test_no_fault_of_a_proxy_makes_it_go_directly(certificates: Certificates, kind: str) -> None:
    async def scenario() -> tuple[int, set[str]]:
        async with running(certificates, {kind: 2}) as made:
            for member in made.world.fleet.members:
                member.alive = False
            status = await made.get()
            return status, made.world.origins.sources()

    status, sources = asyncio.run(scenario())
    assert status == 503
    assert sources == set()


def test_the_same_offset_is_the_same_proxy(certificates: Certificates) -> None:
    async def scenario() -> list[str]:
        async with running(certificates, {"good": 3}) as made:
            for offset in (0, 0, 0, 2, 2, 1, 1, 3, 4):
                assert await made.get(headers=f"X-Proxy-Offset: {offset}\r\n") == 200
            return made.exits()

    exits = asyncio.run(scenario())
    first, third, second = exits[0], exits[3], exits[5]
    assert exits == [first] * 3 + [third] * 2 + [second] * 2 + [first, second]
    assert len({first, second, third}) == 3


@pytest.mark.parametrize("basic", [False, True])
def test_a_session_keeps_its_proxy(certificates: Certificates, *, basic: bool) -> None:
    def login(name: str) -> str:
        session = f"session-{name};domain=imot.bg"
        value = f"Basic {b64encode(f'{session}:x'.encode()).decode()}" if basic else session
        return f"Proxy-Authorization: {value}\r\n"

    async def scenario() -> tuple[list[str], list[str]]:
        async with running(certificates, {"good": 6}) as made:
            for name in "abababab":
                assert await made.get(headers=login(name)) == 200
            return made.exits(), await made.pool.domains()

    exits, domains = asyncio.run(scenario())
    assert len(set(exits[0::2])) == len(set(exits[1::2])) == 1
    assert domains == ["imot.bg"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("GET http://portal-a.test/ HTTP/1.1\r\n\r\n", 405),
        ("CONNECT portal-a.test HTTP/1.1\r\n\r\n", 400),
        ("CONNECT portal-a.test:0 HTTP/1.1\r\n\r\n", 400),
        ("CONNECT portal..test:443 HTTP/1.1\r\n\r\n", 400),
        (f"CONNECT {'a' * 64}.test:443 HTTP/1.1\r\n\r\n", 400),
        ("CONNECT a:443 HTTP/1.1\r\nX-Proxy-Offset: -1\r\n\r\n", 400),
        ("\x16\x03\x01\r\n\r\n", 400),
        ("CONNECT a:443 HTTP/1.1\r\nX: " + "x" * 20_000, 431),
    ],
)
def test_what_is_no_tunnel_is_refused(certificates: Certificates, text: str, status: int) -> None:
    async def scenario() -> tuple[int, set[str]]:
        async with running(certificates, {"good": 1}) as made:
            found, _ = await made.ask(text)
            return found, made.world.origins.sources()

    assert asyncio.run(scenario()) == (status, set())


def test_no_refusal_tells_a_password(certificates: Certificates) -> None:
    async def scenario() -> bytes:
        async with running(certificates, {"with_password": 2}) as made:
            for member in made.world.fleet.members:
                member.kind = "wants_password"
            return (await made.ask("CONNECT portal-a.test:443 HTTP/1.1\r\n\r\n"))[1]

    assert PASSWORD.encode() not in asyncio.run(scenario())


def test_requests_are_read_whole() -> None:
    head = "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nx-proxy-offset: 7\r\n\r\n"
    assert read_request(head) == TunnelRequest("2001:db8::1", 443, 7)
    with pytest.raises(BadRequest):
        read_request("")
    assert domain_of("www.imot.bg") == "imot.bg"
    assert domain_of("portal.test") == "portal.test"
    assert OWN == "127.0.0.1"
