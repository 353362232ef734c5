"""A refresh on a real fleet: proxies come one by one, one refresh at a time, and waiting has an end."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contract.proxies.pools import RULES, proxy
from fleet_certificates import Certificates
from fleet_world import FleetWorld, fleet_world
from proxy_fleet import OWN
from redis_servers import fresh_database, shared_server
from sale_sofia.crawl.fetch.base import RequestTimeouts
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.proxies import checker, refresh
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.checker import Checker, Ourselves
from sale_sofia.proxies.control import (
    ProxiesStillMissing,
    RefreshStillOpen,
    trigger,
    wait_for_ready,
    wait_for_refresh,
)
from sale_sofia.proxies.model import NoProxy, Proxy, ProxyQuery, Use, parse_proxy
from sale_sofia.proxies.pool import MemoryProxyPool, RedisProxyPool
from sale_sofia.proxies.refresh import (
    RefreshBoard,
    Refresher,
    RefreshProgress,
    RefreshResult,
    check_part,
    deal,
    finish,
    last_refresh,
    new_job_id,
    record_end,
    run_job,
)
from sale_sofia.proxies.sources import ProxySource
from sale_sofia.settings.model import Settings

PORTAL = "imot.bg"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "PATIENCE", RequestTimeouts(2.0, 3.0))


@asynccontextmanager
async def pool_of_redis() -> AsyncIterator[RedisProxyPool]:
    pool = RedisProxyPool(redis=connect(fresh_database(shared_server())), rules=RULES)
    yield pool
    await pool.close()


def refresher(world: FleetWorld, pool: RedisProxyPool, folder: Path, **more: Any) -> Refresher:  # noqa: ANN401
    lines = [member.address.secret_url for member in world.fleet.members]
    (folder / "list").write_text("\n".join(["# the fleet", *lines, lines[0], "nonsense"]))

    @asynccontextmanager
    async def open_checker() -> AsyncIterator[Checker]:
        yield Checker(judge=world.judge(), ourselves=Ourselves(frozenset({OWN}), frozenset()), **more)

    return Refresher(
        pool=pool, sources=[ProxySource(str(folder / "list"))], open_checker=open_checker, at_once=64
    )


@pytest.mark.slow
def test_a_refresh_brings_what_is_usable_and_nothing_else(certificates: Certificates, tmp_path: Path) -> None:
    kinds = {"good": 3, "socks5": 1, "dead": 9, "self_signed": 2, "injecting": 1, "hang": 2}

    async def scenario() -> tuple[RefreshResult, set[str], set[str]]:
        async with fleet_world(certificates, kinds) as world, pool_of_redis() as pool:
            sweep = await refresher(world, pool, tmp_path).run()
            wanted = {member.address.id for kind in ("good", "socks5") for member in world.fleet.of(kind)}
            return sweep, {member.id for member in await pool.list_proxies()}, wanted

    sweep, found, wanted = asyncio.run(scenario())
    assert found == wanted
    assert (sweep.candidates, sweep.checked, len(sweep.usable)) == (18, 18, 4)
    assert sweep.labels == {"usable": 4, "dead": 9, "breaks_tls": 2, "injects": 1, "silent": 2}
    (count,) = sweep.counts.values()
    assert (count.duplicates, count.malformed, count.examples) == (
        1, 1, ["'nonsense': expected [scheme://][user:password@]host:port"],
    )  # fmt: skip


@pytest.mark.slow
def test_proxies_can_be_had_one_by_one(certificates: Certificates, tmp_path: Path) -> None:
    """The good ones are ready long before the silent ones are given up."""

    async def scenario() -> float:
        async with fleet_world(certificates, {"good": 2, "hang": 3}) as world, pool_of_redis() as pool:
            started = time.monotonic()
            task = asyncio.create_task(refresher(world, pool, tmp_path).run())
            await wait_for_ready(pool.redis, pool, {PORTAL: 2}, 10.0)
            assert not task.done()
            await task
            return time.monotonic() - started

    assert asyncio.run(scenario()) >= 3.0


def test_a_proxy_that_turned_hostile_is_out_and_one_that_died_is_forgotten_at_the_third_time(
    certificates: Certificates, tmp_path: Path
) -> None:
    async def scenario() -> tuple[list[int], object]:
        async with fleet_world(certificates, {"mortal": 1, "good": 1}) as world, pool_of_redis() as pool:
            (mortal,), (good,) = world.fleet.of("mortal"), world.fleet.of("good")
            refresh = refresher(world, pool, tmp_path)
            await refresh.run()
            mortal.alive, good.kind = False, "self_signed"
            counts = []
            for _ in range(3):
                await refresh.run()
                counts.append(len(await pool.list_proxies()))
            return counts, await pool.pick(PORTAL, ProxyQuery())

    assert asyncio.run(scenario()) == ([2, 2, 1], NoProxy(None))


def test_canaries_are_heard_for_their_portal_only(certificates: Certificates, tmp_path: Path) -> None:
    async def keeps_out(_: Proxy, _patience: float = 0.0) -> Use:
        return Use("blocked", why="captcha")

    async def scenario() -> tuple[int, int]:
        async with fleet_world(certificates, {"good": 2}) as world, pool_of_redis() as pool:
            await refresher(world, pool, tmp_path, canaries={PORTAL: keeps_out}).run()
            return await pool.ready(PORTAL), await pool.ready("bazar.bg")

    assert asyncio.run(scenario()) == (0, 2)


def test_a_proxy_that_no_portal_can_be_reached_through_is_dead(
    certificates: Certificates, tmp_path: Path
) -> None:
    async def unreachable(_: Proxy, _patience: float = 0.0) -> Use:
        return Use("transport", why="NetworkTimeout")

    async def scenario() -> RefreshResult:
        async with fleet_world(certificates, {"good": 1}) as world, pool_of_redis() as pool:
            return await refresher(world, pool, tmp_path, canaries={PORTAL: unreachable}).run()

    assert asyncio.run(scenario()).labels == {"dead": 1}


@pytest.mark.slow
def test_a_refresh_ends_in_time(certificates: Certificates, tmp_path: Path) -> None:
    async def scenario() -> RefreshResult:
        async with fleet_world(certificates, {"hang": 3, "good": 1}) as world, pool_of_redis() as pool:
            return await replace(refresher(world, pool, tmp_path), seconds=1.0).run()

    sweep = asyncio.run(scenario())
    assert (sweep.timed_out, len(sweep.usable)) == (True, 1)


def with_board(work: Any) -> Any:  # noqa: ANN401
    async def scenario() -> object:
        async with connect(fresh_database(shared_server())) as redis:
            return await work(RefreshBoard(redis))

    return asyncio.run(scenario())


def test_of_many_who_ask_one_sends() -> None:
    async def scenario() -> tuple[set[str], list[str]]:
        url = fresh_database(shared_server())
        sent: list[str] = []
        jobs = await asyncio.gather(*(trigger(url, sent.append) for _ in range(20)))
        return set(jobs), sent

    jobs, sent = asyncio.run(scenario())
    assert len(sent) == 1
    assert jobs == set(sent)


def test_progress_stands_in_its_keys() -> None:
    async def work(board: RefreshBoard) -> dict[str, str]:
        await board.write(RefreshProgress("job", "CHECKING", 10, 4, 2, started_at=5.0))
        return {
            str(key): str(await board.redis.get(key)) async for key in board.redis.scan_iter("proxies:job:*")
        }

    assert with_board(work) == {
        "proxies:job:status": "CHECKING",
        "proxies:job:candidates": "10",
        "proxies:job:checked": "4",
        "proxies:job:usable": "2",
        "proxies:job:total_chunks": "0",
        "proxies:job:completed_chunks": "0",
        "proxies:job:started_at": "5.0",
        "proxies:job:error": "",
    }


@pytest.mark.parametrize(
    ("status", "held", "error"),
    [(None, False, "nobody knows this refresh"), ("CHECKING", False, "it ended without a word")],
)
def test_a_refresh_that_died_is_failed(status: Any, held: bool, error: str) -> None:  # noqa: ANN401, FBT001
    async def work(board: RefreshBoard) -> RefreshProgress:
        if status:
            await board.write(RefreshProgress("job", status))
        if held:
            await board.take("job")
        return await wait_for_refresh(board.redis, "job", 10.0)

    found = with_board(work)
    assert (found.status, found.error) == ("FAILED", error)


def test_the_time_out_is_honoured() -> None:
    async def work(board: RefreshBoard) -> None:
        await board.take("job")
        await board.write(RefreshProgress("job", "CHECKING"))
        pool = RedisProxyPool(redis=board.redis, rules=RULES)
        with pytest.raises(RefreshStillOpen, match=r"The refresh job had not ended after 0.3 s"):
            await wait_for_refresh(board.redis, "job", 0.3)
        with pytest.raises(ProxiesStillMissing, match=r"after 0.3 s \(imot.bg: 0 of 2\)"):
            await wait_for_ready(board.redis, pool, {PORTAL: 2}, 0.3)

    with_board(work)


def test_a_wait_hears_an_event_long_before_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed, "REFRESH_POLL_SECONDS", 600.0)

    async def work(board: RefreshBoard) -> RefreshProgress:
        await board.take("job")
        await board.write(RefreshProgress("job", "CHECKING"))
        waiting_task = asyncio.create_task(wait_for_refresh(board.redis, "job", 3600.0))
        await subscribed(board)
        await board.write(RefreshProgress("job", "COMPLETE", usable=7))
        async with asyncio.timeout(60):
            return await waiting_task

    assert with_board(work).usable == 7


async def subscribed(board: RefreshBoard) -> None:
    """Until somebody listens."""
    async with asyncio.timeout(60):
        while (await board.redis.pubsub_numsub(fixed.EVENTS_CHANNEL))[0][1] == 0:
            pass


def test_a_wait_looks_where_an_event_was_lost() -> None:
    async def work(board: RefreshBoard) -> RefreshProgress:
        await board.take("job")
        await board.write(RefreshProgress("job", "CHECKING"))
        waiting_task = asyncio.create_task(wait_for_refresh(board.redis, "job", 60.0))
        await subscribed(board)
        await board.redis.set("proxies:job:usable", 7)  # without a word to anybody
        await board.redis.set("proxies:job:status", "COMPLETE")
        return await waiting_task

    assert with_board(work).usable == 7


@pytest.mark.parametrize("how", ["forgotten", "gone"])
def test_a_wait_reads_the_file_where_redis_is_gone_or_has_forgotten(how: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)

    async def work(board: RefreshBoard) -> RefreshProgress:
        pool = RedisProxyPool(redis=board.redis, rules=RULES)
        ended = RefreshProgress("job", "COMPLETE", usable=7, total_chunks=2, completed_chunks=2)
        await record_end(settings, ended, pool)
        written = partial(last_refresh, settings)
        if how == "forgotten":
            await board.redis.flushdb()
            return await wait_for_refresh(board.redis, "job", 60.0, written=written)
        async with connect("redis://127.0.0.1:1/0") as nobody:
            found = await wait_for_refresh(nobody, "job", 60.0, written=written)
            with pytest.raises(RefreshStillOpen):  # of another one nothing is written
                await wait_for_refresh(nobody, "other", 0.1, written=written)
        return found

    found = with_board(work)
    assert (found.status, found.usable, found.completed_chunks) == ("COMPLETE", 7, 2)


@dataclass(frozen=True)
class PartRefresher:
    """Stands for the checks: every second candidate is usable."""

    count: int
    may_end: asyncio.Event
    seconds: float = 0.0

    async def gather(self, sweep: RefreshResult) -> Iterator[Proxy]:
        sweep.candidates = self.count
        return iter([proxy(number) for number in range(1, self.count + 1)])

    async def check(self, proxies: Iterator[Proxy], sweep: RefreshResult) -> None:
        found = list(proxies)
        await self.may_end.wait()
        if self.count == 2:
            raise ValueError("no judge")
        sweep.checked, sweep.usable = len(found), found[::2]


@pytest.fixture
def dealt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[Settings, str]]:
    def prepare(count: int, may_end: asyncio.Event | None = None) -> tuple[Settings, str]:
        if may_end is None:
            may_end = asyncio.Event()
            may_end.set()

        @asynccontextmanager
        async def unchecked(*_: object) -> AsyncIterator[None]:
            yield

        monkeypatch.setattr(refresh, "get_refresher", lambda *_: PartRefresher(count, may_end))
        monkeypatch.setattr(refresh, "open_checker", unchecked)
        return Settings(data_dir=tmp_path, proxy_check_chunk=3), fresh_database(shared_server())

    return prepare


def test_parts_are_counted_once_and_the_last_one_is_known(dealt: Any) -> None:  # noqa: ANN401
    settings, url = dealt(7)
    job = new_job_id()

    async def scenario() -> list[Any]:
        begun = await deal(settings, url, job)
        parts = [await check_part(settings, url, job, number) for number in (1, 3, 3, 2, 2, 9)]
        early = await finish(settings, url, new_job_id())
        ended = await finish(settings, url, job)
        late = await check_part(settings, url, job, 1)
        return [begun, [(part.checked, last) for part, last in parts], early, ended, late[1]]

    begun, parts, early, ended, late = asyncio.run(scenario())
    assert (begun.candidates, begun.total_chunks, begun.status) == (7, 3, "CHECKING")
    assert parts == [(3, False), (1, False), (0, False), (3, True), (0, False), (0, False)]
    assert (early, late) == (None, False)
    assert (ended.status, ended.checked, ended.usable, ended.completed_chunks) == ("COMPLETE", 7, 5, 3)


def test_an_end_that_is_called_too_early_changes_nothing(dealt: Any) -> None:  # noqa: ANN401
    settings, url = dealt(7)
    job = new_job_id()

    async def scenario() -> tuple[str, str | None]:
        await deal(settings, url, job)
        progress = await finish(settings, url, job)
        assert progress is not None
        async with connect(url) as redis:
            return progress.status, await RefreshBoard(redis).holder()

    assert asyncio.run(scenario()) == ("CHECKING", job)


def test_a_part_that_breaks_ends_the_refresh_and_says_why(dealt: Any) -> None:  # noqa: ANN401
    settings, url = dealt(2)
    job = new_job_id()

    async def scenario() -> tuple[RefreshProgress | None, str | None]:
        await deal(settings, url, job)
        with pytest.raises(ValueError, match="no judge"):
            await check_part(settings, url, job, 1)
        async with connect(url) as redis:
            board = RefreshBoard(redis)
            return await board.read(job), await board.holder()

    progress, holder = asyncio.run(scenario())
    assert progress is not None
    assert (progress.status, progress.error, holder) == ("FAILED", "ValueError: no judge", None)
    assert last_refresh(settings) == progress


def test_of_two_refreshes_the_second_deals_nothing(dealt: Any) -> None:  # noqa: ANN401
    settings, url = dealt(7)

    async def scenario() -> list[tuple[str, int]]:
        found = [await deal(settings, url, new_job_id()) for _ in range(2)]
        return [(progress.status, progress.total_chunks) for progress in found]

    assert asyncio.run(scenario()) == [("CHECKING", 3), ("REPLACED", 0)]


def test_one_refresh_at_a_time(dealt: Any) -> None:  # noqa: ANN401
    may_end = asyncio.Event()
    settings, url = dealt(7, may_end)

    async def scenario() -> list[str]:
        statuses: list[str] = []
        for job in asyncio.as_completed([run_job(settings, url, new_job_id()) for _ in range(10)]):
            statuses.append((await job).status)
            if len(statuses) == 9:  # the one that runs ends only after all others
                may_end.set()
        return statuses

    assert asyncio.run(scenario()) == [*["REPLACED"] * 9, "COMPLETE"]


def test_a_message_that_comes_twice_is_one_refresh(dealt: Any) -> None:  # noqa: ANN401
    settings, url = dealt(7)
    job = new_job_id()

    async def scenario() -> list[Any]:
        twice = [await deal(settings, url, job) for _ in range(2)]
        async with connect(url) as redis:
            return [progress.status for progress in (*twice, await RefreshBoard(redis).read(job)) if progress]

    assert asyncio.run(scenario()) == ["CHECKING", "REPLACED", "CHECKING"]


def test_the_end_of_a_refresh_is_heard(dealt: Any) -> None:  # noqa: ANN401
    may_end = asyncio.Event()
    settings, url = dealt(7, may_end)
    job = new_job_id()

    async def scenario() -> RefreshProgress:
        async with connect(url) as redis:
            running = asyncio.create_task(run_job(settings, url, job))
            while await RefreshBoard(redis).read(job) is None:  # noqa: ASYNC110 - another's word in Redis
                await asyncio.sleep(0.01)
            waiting = asyncio.create_task(wait_for_refresh(redis, job, 60.0))
            await asyncio.sleep(0.1)
            may_end.set()
            await running
            return await waiting

    found = asyncio.run(scenario())
    assert (found.status, found.checked, found.usable) == ("COMPLETE", 7, 4)


def test_a_known_proxy_has_the_tier_and_the_password_of_its_source_now() -> None:
    source = ProxySource("me:old@203.0.113.7:3128")
    changed = ProxySource("me:new@203.0.113.7:3128", "paid")

    async def scenario() -> list[Proxy]:
        pool = MemoryProxyPool(rules=RULES)
        await pool.put(Proxy(parse_proxy(source.place), "free", source.name, "198.51.100.1"))
        refresher = Refresher(pool=pool, sources=[changed], open_checker=nobody, at_once=1)
        return list(await refresher.gather(RefreshResult()))

    @asynccontextmanager
    async def nobody() -> AsyncIterator[Checker]:
        raise AssertionError("nothing is checked")
        yield

    (found,) = asyncio.run(scenario())
    assert (found.address.password, found.tier, found.exit_address) == ("new", "paid", "198.51.100.1")
