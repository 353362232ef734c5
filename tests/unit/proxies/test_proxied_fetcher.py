"""Pages through leased proxies of a real fleet; the portals' own log says from where each request came."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from browsers import chromium_or_skip
from fleet_certificates import Certificates
from fleet_origins import HOSTS
from fleet_world import FleetWorld, fleet_world
from proxy_fleet import KINDS, OWN, PASSWORD, TLS
from sale_sofia.crawl.fetch.base import Response, Route
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.resilience.errors import CrawlError, ForeignAddress, ServiceProxy, ServiceRedis
from sale_sofia.crawl.resilience.gate import Outcome
from sale_sofia.proxies.browser import BrowserLane, BrowserProgram, Clearance, FileNotes, LaneMemory
from sale_sofia.proxies.fetcher import Ladder, ProxiedFetcher, Rung, route_of
from sale_sofia.proxies.model import DomainStats, NoProxyReady, NoWayOut, Proxy
from sale_sofia.proxies.pool import MemoryProxyPool
from sale_sofia.proxies.settings import PoolRules
from unit.proxies.challenging import Escorted

RULES = PoolRules(spacing_seconds=0.0, lease_seconds=30.0)
BUDGETS = {Rung.OTHER_PROXY: 6, Rung.NEW_SESSION: 3, Rung.RESTART: 3, Rung.REFRESH: 3, Rung.NEXT_TIER: 2}
URL = f"https://{HOSTS[0]}/advert"


@dataclass
class Made:
    world: FleetWorld
    pool: MemoryProxyPool
    fetcher: ProxiedFetcher

    async def fetch(self, url: str = URL, seconds: float = 3.0) -> Response:
        return await self.fetcher.fetch(self.world.request(url, seconds))

    async def stats(self, kind: str, domain: str = HOSTS[0]) -> list[DomainStats]:
        ids = {member.address.id for member in self.world.fleet.of(kind)}
        return [row for row in await self.pool.get_stats(domain) if row.id in ids]


@asynccontextmanager
async def made(
    certificates: Certificates,
    kinds: Mapping[str, int],
    **more: Any,  # noqa: ANN401
) -> AsyncIterator[Made]:
    async with fleet_world(certificates, kinds) as world:
        pool = MemoryProxyPool(rules=RULES)
        for member in world.fleet.members:
            await pool.put(Proxy(member.address))
        inner = CurlFetcher("chrome", 5, ca_file=str(world.ca))
        given: dict[str, Any] = {
            "ladder": Ladder(BUDGETS), "tiers": ("own", "free", "paid"), "further_tries": 3,
            "proxy_seconds": 2.0,
        } | more  # fmt: skip
        fetcher = ProxiedFetcher(inner=inner, pool=pool, domain=HOSTS[0], **given)
        try:
            yield Made(world, pool, fetcher)
        finally:
            await fetcher.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["good", "socks5", "with_password", "socks5_login", "slow", "transparent", TLS]
)
def test_a_page_comes_through_its_proxy(certificates: Certificates, kind: str) -> None:
    async def scenario() -> tuple[Response, set[str], set[str], list[DomainStats]]:
        async with made(certificates, {kind: 1}) as setup:
            answer = await setup.fetch()
            hosts = {member.host for member in setup.world.fleet.members}
            return answer, setup.world.origins.sources(), hosts, await setup.stats(kind)

    answer, sources, hosts, (row,) = asyncio.run(scenario())
    assert (answer.status, answer.url) == (200, URL)
    assert (answer.strategy, answer.proxy) == ("proxy", row.address)
    assert sources == hosts
    assert (row.successes, row.uses, row.leased) == (1, 1, False)


def test_a_proxy_over_tls_whose_own_certificate_is_false_is_not_spoken_to(certificates: Certificates) -> None:
    async def scenario() -> tuple[set[str], int]:
        async with made(certificates, {TLS: 1}) as setup:
            setup.fetcher.inner = CurlFetcher("chrome", 5)  # trusts whom everybody trusts
            with pytest.raises(ServiceProxy) as error:
                await setup.fetch()
            assert error.value.strategy == "proxy"
            return setup.world.origins.sources(), (await setup.stats(TLS))[0].failures_in_a_row

    assert asyncio.run(scenario()) == (set(), 1)


def test_who_would_wait_long_for_its_own_proxy_takes_another(certificates: Certificates) -> None:
    async def scenario() -> set[str]:
        async with made(certificates, {"good": 2}) as setup:
            setup.pool.rules = replace(RULES, spacing_seconds=15.0)
            for _ in range(2):
                await setup.fetch()
            return {request.source for request in setup.world.origins.log}

    assert len(asyncio.run(scenario())) == 2


def test_a_block_that_is_seen_when_the_page_is_read_is_told_to_the_pool(certificates: Certificates) -> None:
    async def scenario() -> tuple[DomainStats, DomainStats, list[str], dict[str, int]]:
        async with made(certificates, {"good": 2}) as setup:
            answer = await setup.fetch()
            await answer.disprove("captcha")
            await setup.fetch()
            first = next(row for row in await setup.stats("good") if row.last_reason)
            there = next(row for row in await setup.stats("good", HOSTS[1]) if row.id == first.id)
            sources = [request.source for request in setup.world.origins.log]
            return first, there, sources, await setup.pool.climbs(HOSTS[0])

    here, there, sources, climbs = asyncio.run(scenario())
    assert (here.failures_in_a_row, here.last_reason, here.leased) == (1, "captcha", False)
    assert here.ready_in_seconds > 100
    assert (there.failures_in_a_row, there.ready_in_seconds) == (0, 0.0)
    assert sources[0] != sources[1]
    assert climbs == {"other_proxy": 1}


def test_a_block_that_was_known_is_not_told_twice(certificates: Certificates) -> None:
    async def scenario() -> DomainStats:
        async with made(certificates, {"banned": 1}) as setup:
            await (await setup.fetch()).disprove("forbidden")
            return (await setup.stats("banned"))[0]

    row = asyncio.run(scenario())
    assert (row.uses, row.failures_in_a_row) == (1, 1)


def test_a_dead_one_is_replaced_within_the_same_request(certificates: Certificates) -> None:
    async def scenario() -> tuple[list[int], int]:
        async with made(certificates, {"good": 1, "dead": 1, "wants_password": 1, "refusing": 1}) as setup:
            return [(await setup.fetch()).status for _ in range(4)], len(setup.world.origins.log)

    assert asyncio.run(scenario()) == ([200] * 4, 4)


def test_a_blocked_page_is_one_request_and_costs_the_proxy_on_that_portal(certificates: Certificates) -> None:
    async def scenario() -> tuple[int, int, DomainStats, DomainStats]:
        async with made(certificates, {"banned": 1}) as setup:
            answer = await setup.fetch()
            (here,), (there,) = await setup.stats("banned"), await setup.stats("banned", HOSTS[1])
            return answer.status, len(setup.world.origins.log), here, there

    status, requests, here, there = asyncio.run(scenario())
    assert (status, requests) == (403, 1)
    assert here.failures_in_a_row == 1
    assert here.ready_in_seconds > 100
    assert (there.failures_in_a_row, there.ready_in_seconds) == (0, 0.0)


@pytest.mark.parametrize("status", [404, 500, 429])
def test_what_the_portal_itself_answers_costs_nothing(certificates: Certificates, status: int) -> None:
    async def scenario() -> tuple[int, DomainStats, int]:
        async with made(certificates, {"good": 1}) as setup:
            setup.world.origins.status = status
            answer = await setup.fetch()
            (row,) = await setup.stats("good")
            return answer.status, row, len(setup.world.origins.log)

    found, row, requests = asyncio.run(scenario())
    assert (found, requests, row.failures_in_a_row, row.score) == (status, 1, 0, 1.0)
    assert row.ready_in_seconds == pytest.approx(7.0 if status == 429 else 0.0, abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [setup for setup in KINDS if setup != "own_exit"])
def test_no_fault_makes_anything_go_directly(certificates: Certificates, kind: str) -> None:
    async def scenario() -> set[str]:
        async with made(certificates, {kind: 2}, proxy_seconds=0.7) as setup:
            for member in setup.world.fleet.members:
                member.alive = kind != "mortal"
            for _ in range(2):
                try:
                    await setup.fetch(seconds=1.5)
                except CrawlError:
                    continue
            return setup.world.origins.sources()

    assert OWN not in asyncio.run(scenario())


def test_with_an_empty_pool_nothing_goes_out(certificates: Certificates) -> None:
    calls = []

    async def refresh() -> None:
        calls.append("refresh")

    async def scenario() -> set[str]:
        async with made(certificates, {}, refresh_if_needed=refresh) as setup:
            for _ in range(3):
                with pytest.raises(NoProxyReady, match="no proxy is known") as raised:
                    await setup.fetch()
                assert Outcome.of(raised.value).kind == "failure"
            return setup.world.origins.sources()

    assert asyncio.run(scenario()) == set()
    assert calls


def test_with_an_empty_pool_the_browser_goes_nowhere(certificates: Certificates, tmp_path: Path) -> None:
    async def scenario() -> set[str]:
        async with made(certificates, {}) as setup:
            inner = setup.fetcher.inner
            assert isinstance(inner, CurlFetcher)
            memory = LaneMemory(FileNotes(tmp_path / "lane"), 9)
            await memory.browser_helped("elsewhere", Clearance((), {}))
            setup.fetcher.lane = BrowserLane(
                HOSTS[0], inner, BrowserProgram(chromium_or_skip(), 60.0), memory
            )
            with pytest.raises(NoProxyReady):
                await setup.fetcher.fetch(
                    replace(setup.world.request(URL), escort=Escorted(), browser_allowed=True)
                )
            return setup.world.origins.sources()

    assert asyncio.run(scenario()) == set()


def test_without_the_pool_nothing_goes_out(certificates: Certificates) -> None:
    class Gone(MemoryProxyPool):
        async def pick(self, domain: str, wish: object) -> Any:  # noqa: ANN401
            raise ServiceRedis(f"{domain} {wish!r:.0}")

    async def scenario() -> set[str]:
        async with made(certificates, {"good": 1}) as setup:
            setup.fetcher.pool = Gone(rules=RULES)
            with pytest.raises(NoProxyReady, match="the pool cannot be asked"):
                await setup.fetch()
            return setup.world.origins.sources()

    assert asyncio.run(scenario()) == set()


def test_the_whole_ladder_and_its_end(certificates: Certificates) -> None:
    done = []

    def restart() -> None:
        done.append("restart")

    async def refresh() -> None:
        done.append("refresh")

    async def scenario() -> tuple[set[str], dict[str, int], list[str]]:
        errors = []
        async with made(certificates, {"refusing": 60}, restart=restart, refresh=refresh) as setup:
            for _ in range(6):
                with pytest.raises(ServiceProxy) as raised:
                    await setup.fetch()
                errors.append(type(raised.value).__name__)
            return setup.world.origins.sources(), await setup.pool.climbs(HOSTS[0]), errors

    sources, climbs, errors = asyncio.run(scenario())
    assert sources == set()
    assert done == ["restart"] * 3 + ["refresh"] * 3
    assert climbs["other_proxy"] == 6
    assert (climbs["new_session"], climbs["next_tier"]) == (3, 2)
    assert errors == ["ServiceProxy"] * 4 + ["NoWayOut"] * 2
    assert Outcome.of(NoWayOut("x")).kind == "failure"


def test_directly_at_last_where_the_site_file_allows_it(certificates: Certificates) -> None:
    async def scenario() -> tuple[int, set[str]]:
        ladder = Ladder({Rung.OTHER_PROXY: 1, Rung.DIRECT: 1})
        async with made(certificates, {"refusing": 5}, ladder=ladder) as setup:
            url = f"http://127.0.0.1:{setup.world.ports['plain']}/advert"
            request = setup.world.request(url)
            hosts = frozenset({f"127.0.0.1:{setup.world.ports['plain']}"})
            answer = await setup.fetcher.fetch(type(request)(url, hosts, 3.0, 3.0, 1_000_000))
            return answer.status, setup.world.origins.sources()

    assert asyncio.run(scenario()) == (200, {OWN})


def test_a_session_keeps_proxy_and_cookies_together(certificates: Certificates) -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        async with made(certificates, {"good": 4}) as setup:
            for _ in range(4):
                await setup.fetch()
            return [request.source for request in setup.world.origins.log], setup.world.origins.cookies

    sources, cookies = asyncio.run(scenario())
    assert len(set(sources)) == 1
    assert cookies == ["", *[f"visitor={sources[0]}"] * 3]


def test_visitors_at_the_same_time_have_sessions_of_their_own(certificates: Certificates) -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        async with made(certificates, {"good": 4}) as setup:
            await asyncio.gather(*(setup.fetch() for _ in range(3)))
            await asyncio.gather(*(setup.fetch() for _ in range(3)))
            return [request.source for request in setup.world.origins.log], setup.world.origins.cookies

    sources, cookies = asyncio.run(scenario())
    assert len(set(sources[:3])) == 3
    assert set(sources[3:]) == set(sources[:3])
    assert [cookie.removeprefix("visitor=") for cookie in cookies[3:]] == sources[3:]


@pytest.mark.parametrize("rung", [Rung.NEW_SESSION, Rung.OTHER_PROXY])
def test_after_a_block_the_visitor_is_another_one(certificates: Certificates, rung: Rung) -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        async with made(certificates, {"good": 2}, ladder=Ladder({rung: 9})) as setup:
            await setup.fetch()
            setup.world.origins.banned[HOSTS[0]].add(setup.world.origins.log[0].source)
            await setup.fetch()
            await setup.fetch()
            return [request.source for request in setup.world.origins.log], setup.world.origins.cookies

    sources, cookies = asyncio.run(scenario())
    assert sources[0] == sources[1] != sources[2]
    assert cookies[2] == ""


def test_who_shows_a_false_certificate_is_out_when_another_shows_a_true_one(
    certificates: Certificates,
) -> None:
    async def scenario() -> tuple[list[bool], list[bool]]:
        async with made(certificates, {"self_signed": 3, "good": 1}) as setup:
            for _ in range(8):
                await setup.fetch()
            bad, good = await setup.stats("self_signed"), await setup.stats("good")
            return [row.quarantined for row in bad if row.uses], [row.quarantined for row in good]

    bad, good = asyncio.run(scenario())
    assert good == [False]
    assert all(bad)


def test_a_portal_with_a_false_certificate_puts_nobody_out(certificates: Certificates) -> None:
    async def scenario() -> list[bool]:
        async with made(certificates, {"self_signed": 4}) as setup:
            with pytest.raises(ServiceProxy):
                await setup.fetch()
            return [row.quarantined for row in await setup.stats("self_signed")]

    assert asyncio.run(scenario()) == [False] * 4


def test_foreign_hosts_are_refused_through_a_proxy_too(certificates: Certificates) -> None:
    async def scenario() -> DomainStats:
        async with made(certificates, {"good": 1}) as setup:
            with pytest.raises(ForeignAddress):
                await setup.fetch("https://elsewhere.test/")
            return (await setup.stats("good"))[0]

    row = asyncio.run(scenario())
    assert (row.uses, row.failures_in_a_row, row.leased) == (0, 0, False)


def test_no_error_tells_a_password(certificates: Certificates) -> None:
    async def scenario() -> str:
        async with made(certificates, {"with_password": 2}) as setup:
            for member in setup.world.fleet.members:
                member.kind = "wants_password"
            with pytest.raises(ServiceProxy) as raised:
                await setup.fetch()
            return f"{raised.value!r} {raised.value.__cause__!r} {await setup.pool.get_stats('*')}"

    assert PASSWORD not in asyncio.run(scenario())
    assert PASSWORD not in repr(Route("http://gate:1", "s", user="me", password=PASSWORD))


def test_nothing_tells_a_portal_that_two_proxies_have_one_visitor(certificates: Certificates) -> None:
    async def scenario() -> tuple[set[str], list[str], set[str]]:
        async with fleet_world(certificates, {"good": 3}) as world:
            inner = CurlFetcher("chrome", 5, ca_file=str(world.ca))
            for member in world.fleet.members:
                route = route_of(member.address, f"s@{member.number}")
                await inner.fetch(replace(world.request(URL), route=replace(route, profile="chrome")))
            await inner.close()
            origins = world.origins
            return origins.sources(), origins.known_by_ticket, set(origins.cookies)

    sources, leaks, cookies = asyncio.run(scenario())
    assert (len(sources), leaks, cookies) == (3, [], {""})


def test_a_route_without_a_proxy_cannot_be() -> None:
    with pytest.raises(ValueError, match="needs a proxy"):
        Route("", "s")


def test_a_cancelled_request_gives_its_proxy_back(certificates: Certificates) -> None:
    async def scenario() -> DomainStats:
        async with made(certificates, {"hang": 1}, proxy_seconds=30.0) as setup:
            task = asyncio.create_task(setup.fetch(seconds=30.0))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await setup.stats("hang"))[0]

    row = asyncio.run(scenario())
    assert (row.leased, row.failures_in_a_row) == (False, 0)
