"""The cheapest lane that works: found, remembered for a day, tried again downwards, within its budget."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from browsers import chromium_or_skip
from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.proxies.browser import (
    BrowserLane,
    BrowserProgram,
    Clearance,
    FileNotes,
    LaneMemory,
    RedisNotes,
)
from sale_sofia_simulator.faults import SCRIPT_PATH
from unit.crawl.fetch.portal import Portal, portal
from unit.proxies.challenging import CAPTCHA, Challenger, Escorted, asking

DAY = 86_400.0
PASSED = Clearance(("127.0.0.1\tFALSE\t/\tFALSE\t0\tpassed\t1",), {"user-agent": "x"})


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Store:
    """Opens notes again and again, as processes would."""

    path: Path
    redis_url: str = ""
    clients: list[Redis] = field(default_factory=list)

    def notes(self, clock: Clock) -> FileNotes | RedisNotes:
        if not self.redis_url:
            return FileNotes(self.path, clock)
        self.clients.append(connect(self.redis_url))
        return RedisNotes(self.clients[-1], "imot.bg", clock)

    def run(self, scenario: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        async def whole() -> Any:  # noqa: ANN401
            try:
                return await scenario()
            finally:
                for client in self.clients:
                    await client.aclose()

        return asyncio.run(whole())


@pytest.fixture(params=["file", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    url = request.getfixturevalue("redis_url") if request.param == "redis" else ""
    return Store(tmp_path / "lanes" / "imot.bg.json", url)


def test_what_helped_is_known_to_the_next_one_for_a_day(store: Store) -> None:
    clock = Clock()

    async def scenario() -> None:
        first = LaneMemory(store.notes(clock), 3)
        assert (await first.needs_browser(), await first.clearance("p1")) == (False, None)
        await first.browser_helped("p1", PASSED)
        clock.now += DAY - 1
        second = LaneMemory(store.notes(clock), 3)
        assert await second.needs_browser()
        assert (await second.clearance("p1"), await second.clearance("p2")) == (PASSED, None)
        clock.now += 1
        assert (await second.needs_browser(), await second.clearance("p1")) == (False, None)

    store.run(scenario)


def test_what_no_longer_helps_is_forgotten(store: Store) -> None:
    async def scenario() -> None:
        memory = LaneMemory(store.notes(Clock()), 3)
        await memory.browser_helped("", PASSED)
        await memory.refused("")
        assert (await memory.needs_browser(), await memory.clearance("")) == (True, None)
        await memory.browser_failed()
        assert not await memory.needs_browser()

    store.run(scenario)


def test_the_budget_is_of_all_together_and_of_an_hour(store: Store) -> None:
    clock = Clock(3600.0 * 300)

    async def scenario() -> list[bool]:
        first, other = LaneMemory(store.notes(clock), 3), LaneMemory(store.notes(clock), 3)
        spent = [
            await first.may_spend(),
            await other.may_spend(),
            await first.may_spend(),
            await other.may_spend(),
        ]
        clock.now += 3599
        later = [await first.may_spend()]
        clock.now += 1
        return spent + later + [await other.may_spend()]

    assert store.run(scenario) == [True, True, True, False, False, True]


def test_without_redis_nothing_is_known_and_no_browser_is_used() -> None:
    async def scenario() -> None:
        client = connect("redis://127.0.0.1:1")
        memory = LaneMemory(RedisNotes(client, "imot.bg"), 3)
        await memory.browser_helped("p", PASSED)
        await memory.refused("p")
        memories = (await memory.needs_browser(), await memory.clearance("p"), await memory.may_spend())
        assert memories == (False, None, False)
        await client.aclose()

    asyncio.run(scenario())


def test_a_file_that_was_damaged_is_as_good_as_none(tmp_path: Path) -> None:
    path = tmp_path / "imot.bg.json"
    path.write_text("{[")

    async def scenario() -> None:
        memory = LaneMemory(FileNotes(path, Clock()), 3)
        assert not await memory.needs_browser()
        await memory.browser_helped("", PASSED)
        assert await memory.clearance("") == PASSED

    asyncio.run(scenario())
    assert path.stat().st_mode & 0o777 == 0o600


@dataclass
class Made:
    log: Portal
    challenger: Challenger
    lane: BrowserLane
    escort: Escorted

    async def fetch(self, path: str = "/advert") -> Response:
        return await self.lane.fetch(asking(self.log, self.escort, path))

    def news(self) -> list[str]:
        """The paths asked for since the last time."""
        found = self.challenger.paths()
        self.challenger.seen.clear()
        return found


@asynccontextmanager
async def made(folder: Path, clock: Clock, budget: int = 9, **more: object) -> AsyncIterator[Made]:
    challenger = Challenger(**more)  # type: ignore[arg-type]
    inner = CurlFetcher("firefox", 5)
    program = BrowserProgram(chromium_or_skip(), 300.0)
    memory = LaneMemory(FileNotes(folder / "lane", clock), budget)
    try:
        async with portal(challenger.answer) as log:
            yield Made(log, challenger, BrowserLane("imot.bg", inner, program, memory), Escorted())
    finally:
        await inner.close()


def test_through_once_by_the_browser_then_by_http_and_after_a_day_the_cheap_way_again(tmp_path: Path) -> None:
    clock = Clock()

    async def scenario() -> None:
        async with made(tmp_path, clock) as setup:
            assert (await setup.fetch()).status == 200
            # By HTTP, then in the browser: the page, its script, the page.
            assert setup.news() == ["/advert", "/advert", SCRIPT_PATH, "/advert"]
            assert len(setup.escort.urls) == 3
            assert [(await setup.fetch(f"/{number}")).status for number in range(3)] == [200] * 3
            assert [cookie.startswith("passed=") for _, cookie, _ in setup.challenger.seen] == [True] * 3
            assert setup.news() == ["/0", "/1", "/2"]
            clock.now += DAY
            setup.challenger.closed = False
            setup.lane.inner.forget_sessions()
            assert (await setup.fetch()).status == 200
            assert [(path, cookie) for path, cookie, _ in setup.challenger.seen] == [("/advert", "")]
            assert "Firefox" in setup.challenger.seen[0][2]

    asyncio.run(scenario())


def test_another_process_goes_to_the_browser_at_once_and_nobody_goes_twice(tmp_path: Path) -> None:
    clock = Clock()

    async def scenario() -> None:
        async with made(tmp_path, clock) as setup:
            await setup.lane.memory.browser_helped("another way out", PASSED)
            found = await asyncio.gather(*(setup.fetch(f"/{number}") for number in range(3)))
            assert [answer.status for answer in found] == [200] * 3
            visited = setup.news()
            assert visited[0] == visited[2]  # nothing by HTTP before
            assert (visited.count(SCRIPT_PATH), len(visited)) == (1, 5)
            assert await setup.lane.memory.notes.count("pages", 3600.0) == 2  # this is the second
        async with made(tmp_path, clock) as later:
            # The port is another one, but a cookie knows no ports: the visitor is let in without a browser.
            assert (await later.fetch()).status == 200
            assert later.news() == ["/advert"]

    asyncio.run(scenario())


def test_a_captcha_in_the_browser_is_a_block_and_the_budget_ends_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with made(tmp_path, Clock(), budget=1, page=CAPTCHA) as setup:
            await setup.lane.memory.browser_helped("another way out", PASSED)
            assert (await setup.fetch()).body == CAPTCHA
            assert not await setup.lane.memory.needs_browser()
            setup.news()
            setup.lane.inner.forget_sessions()
            assert (await setup.fetch()).status == 403
            assert setup.news() == ["/advert"]

    asyncio.run(scenario())


def test_who_has_no_escort_never_meets_the_browser(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with made(tmp_path, Clock()) as setup:
            await setup.lane.memory.browser_helped("", PASSED)
            await setup.lane.memory.refused("")
            assert (await setup.lane.fetch(asking(setup.log, None, "/robots.txt"))).status == 403
            assert setup.news() == ["/robots.txt"]

    asyncio.run(scenario())
