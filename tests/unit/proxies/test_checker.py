"""Every kind of proxy on a real fleet, called by its right name."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from fleet_certificates import Certificates
from fleet_world import FleetWorld, fleet_world
from proxy_fleet import KINDS, OWN, SHARED_EXIT
from sale_sofia.crawl.fetch.base import RequestTimeouts
from sale_sofia.proxies import checker as judge_client
from sale_sofia.proxies.checker import Checker, CheckPage, JudgeClient, JudgeGone, Ourselves, ProxyFinding
from sale_sofia.proxies.model import Proxy, parse_proxy
from sale_sofia.proxies.tunnel import LoopbackServer, Streams, TunnelFailed, connected, read_head

OURSELVES = Ourselves(frozenset({OWN}), frozenset({"host", "accept", "connection"}))
# kind: label, anonymity
EXPECTED = {
    "good": ("usable", "elite"),
    "dead": ("dead", "unknown"),
    "reset": ("dead", "unknown"),
    "hang": ("silent", "unknown"),
    "slow": ("usable", "elite"),
    "wants_password": ("wants_password", "unknown"),
    "transparent": ("usable", "transparent"),
    "anonymous": ("usable", "anonymous"),
    "elite": ("usable", "elite"),
    "self_signed": ("breaks_tls", "unknown"),
    "injecting": ("injects", "unknown"),
    "faker": ("fakes", "unknown"),
    "refusing": ("refuses", "unknown"),
    "http_only": ("http_only", "unknown"),
    "socks5": ("usable", "elite"),
    "socks5_login": ("usable", "elite"),
    "rate_limited": ("usable", "elite"),
    "mortal": ("usable", "elite"),
    "banned": ("usable", "elite"),
    "own_exit": ("own_address", "unknown"),
    "shared_exit": ("usable", "elite"),
    "with_password": ("usable", "elite"),
    "babbling": ("no_proxy", "unknown"),
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_client, "PATIENCE", RequestTimeouts(2.0, 4.0))


async def check_fleet(world: FleetWorld, checker: Checker) -> dict[str, list[ProxyFinding]]:
    found: dict[str, list[ProxyFinding]] = {}
    kinds = {member.address.id: member.kind for member in world.fleet.members}

    async def record(finding: ProxyFinding) -> None:
        found.setdefault(kinds[finding.proxy.id], []).append(finding)

    await checker.check_all((Proxy(member.address) for member in world.fleet.members), 256, record)
    return found


@pytest.mark.slow
def test_every_kind_is_called_by_its_right_name(certificates: Certificates) -> None:
    async def scenario() -> dict[str, list[ProxyFinding]]:
        kinds = dict.fromkeys([kind for kind in KINDS if kind != "flaky"], 3)
        async with fleet_world(certificates, kinds, seed=5) as world:
            return await check_fleet(world, Checker(judge=world.judge(), ourselves=OURSELVES))

    found = asyncio.run(scenario())
    labels = {
        kind: {(finding.label, finding.proxy.anonymity) for finding in each} for kind, each in found.items()
    }
    assert labels == {kind: {expected} for kind, expected in EXPECTED.items()}
    assert {len(each) for each in found.values()} == {3}


BY_PAGE = {
    "good": "usable",
    "socks5_login": "usable",
    "dead": "dead",
    "reset": "dead",
    "hang": "silent",
    "wants_password": "wants_password",
    "refusing": "refuses",
    "http_only": "refuses",
    "banned": "refuses",
    "self_signed": "breaks_tls",
    "babbling": "no_proxy",
}


@pytest.mark.slow
def test_without_a_judge_who_does_not_lead_to_the_page_is_not_usable(certificates: Certificates) -> None:
    async def scenario() -> dict[str, list[ProxyFinding]]:
        async with fleet_world(certificates, dict.fromkeys(BY_PAGE, 1)) as world:
            page = CheckPage(world.url(), world.ca)
            return await check_fleet(world, Checker(judge=None, ourselves=None, page=page))

    found = asyncio.run(scenario())
    assert {kind: finding.label for kind, (finding,) in found.items()} == BY_PAGE


def test_a_page_that_does_not_answer_us_is_said_before_anybody_is_called_dead(
    certificates: Certificates,
) -> None:
    async def scenario() -> None:
        async with fleet_world(certificates, {}) as world:
            there = f"https://127.0.0.1:{world.ports['secure']}"
            await CheckPage(f"{there}/advert", world.ca).look()
            with pytest.raises(JudgeGone, match=r"PROXY_CHECK_URL: .*/advert does not answer"):
                await CheckPage("https://127.0.0.1:9/advert", world.ca).look()
            with pytest.raises(JudgeGone, match=r"does not answer: .*certificate"):
                await CheckPage(f"{there}/advert").look()

    asyncio.run(scenario())


def test_with_nobody_to_ask_nobody_is_usable(certificates: Certificates) -> None:
    async def scenario() -> ProxyFinding:
        async with fleet_world(certificates, {"good": 1}) as world:
            return (await check_fleet(world, Checker(judge=None, ourselves=None)))["good"][0]

    found = asyncio.run(scenario())
    assert (found.label, found.why) == ("unsure", "there is no portal to ask")


def test_exit_addresses_are_the_ones_portals_see(certificates: Certificates) -> None:
    async def scenario() -> tuple[list[ProxyFinding], dict[str, str]]:
        async with fleet_world(certificates, {"good": 4, "shared_exit": 3}) as world:
            found = await check_fleet(world, Checker(judge=world.judge(), ourselves=OURSELVES))
            hosts = {member.address.id: member.host for member in world.fleet.of("good")}
            return [*found["good"], *found["shared_exit"]], hosts

    found, hosts = asyncio.run(scenario())
    assert [finding.proxy.exit_address for finding in found] == [
        hosts.get(finding.proxy.id, SHARED_EXIT) for finding in found
    ]


def test_a_flaky_one_is_dead_or_usable_never_something_else(certificates: Certificates) -> None:
    async def scenario() -> set[str]:
        async with fleet_world(certificates, {"flaky": 30}) as world:
            found = await check_fleet(world, Checker(judge=world.judge(), ourselves=OURSELVES))
            return {member.label for member in found["flaky"]}

    assert asyncio.run(scenario()) == {"dead", "usable"}


def test_a_proxy_in_our_own_network_shows_us(certificates: Certificates) -> None:
    async def scenario() -> set[str]:
        async with fleet_world(certificates, {"good": 2}) as world:
            near = world.fleet.members[0].host.rpartition(".")[0] + ".250"
            ourselves = replace(OURSELVES, addresses=frozenset({near}))
            found = await check_fleet(world, Checker(judge=world.judge(), ourselves=ourselves))
            return {member.label for member in found["good"]}

    assert asyncio.run(scenario()) == {"own_address"}


def test_we_look_at_ourselves_first(certificates: Certificates) -> None:
    async def scenario() -> Ourselves:
        async with fleet_world(certificates, {}) as world:
            secure, plain = world.ports["judge"], world.ports["judge_plain"]
            judge = JudgeClient(f"https://127.0.0.1:{secure}", f"http://127.0.0.1:{plain}", world.ca)
            return await judge.look_at_ourselves()

    assert asyncio.run(scenario()) == OURSELVES


def test_without_its_judge_nothing_is_checked(certificates: Certificates) -> None:
    judge = JudgeClient("https://127.0.0.1:9", None, certificates.ca)
    with pytest.raises(JudgeGone, match=r"The judge at https://127.0.0.1:9 does not answer"):
        asyncio.run(judge.look_at_ourselves())


@asynccontextmanager
async def hostile(serve: Callable[[Streams], Awaitable[None]], login: str = "") -> AsyncIterator[str]:
    server = LoopbackServer(serve)
    try:
        yield f"{login}127.0.0.1:{await server.start()}"
    finally:
        await server.stop()


def garbling(judge_port: int) -> Callable[[Streams], Awaitable[None]]:
    """Leads to the judge, and changes a byte of all it says once the certificate was shown."""

    async def serve(near: Streams) -> None:
        if (await read_head(near)).startswith("GET"):
            near[1].write(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
            return
        reader, writer = await asyncio.open_connection("127.0.0.1", judge_port)
        near[1].write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            writer.write(await near[0].read(65_536))
            near[1].write(await reader.read(65_536))
            writer.write(await near[0].read(65_536))
            while data := await reader.read(65_536):
                near[1].write(data[:-1] + bytes([data[-1] ^ 1]))
        finally:
            writer.transport.abort()

    return serve


async def wants_login(near: Streams) -> None:
    await near[0].readexactly(3)
    near[1].write(b"\x05\x02")
    await near[0].read()


def test_what_a_hostile_proxy_does_ends_no_check_but_its_own(certificates: Certificates) -> None:
    async def scenario() -> list[ProxyFinding]:
        async with (
            fleet_world(certificates, {}) as world,
            hostile(garbling(world.ports["judge"])) as first,
            hostile(wants_login, f"socks5://{'u' * 300}:p@") as second,
        ):
            checker = Checker(judge=world.judge(), ourselves=OURSELVES)
            return [await checker.check(Proxy(parse_proxy(place))) for place in (first, second)]

    garbled, too_long = asyncio.run(scenario())
    assert (garbled.label, garbled.why) == ("breaks_tls", "TLS failed: DECRYPTION_FAILED_OR_BAD_RECORD_MAC")
    assert (too_long.label, too_long.why) == ("wants_password", "the login is longer than SOCKS5 allows")


def test_no_password_is_in_what_is_found(certificates: Certificates) -> None:
    async def scenario() -> str:
        async with fleet_world(certificates, {"with_password": 1, "socks5_login": 1}) as world:
            for member in world.fleet.members:
                member.kind = "wants_password" if member.kind == "with_password" else member.kind
            return repr(await check_fleet(world, Checker(judge=world.judge(), ourselves=OURSELVES)))

    shown = asyncio.run(scenario())
    assert "s3cret" not in shown


def test_what_this_machine_cannot_do_is_held_against_no_proxy() -> None:
    async def story() -> str:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        first_free = os.dup(0)
        os.close(first_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, hard))
        try:
            with pytest.raises(TunnelFailed) as failed:
                async with connected(parse_proxy("127.0.0.1:9"), RequestTimeouts(2.0, 4.0)):
                    pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return judge_client._BY_FAULT[failed.value.fault]  # noqa: SLF001

    assert asyncio.run(story()) == "unsure"
