"""Which of our operations a Redis Cluster would refuse: each is run, for real, on a server in cluster mode.

Such a server refuses a script or a transaction over two slots also when it has all slots itself, so one
node is enough to see it. What only a client for clusters could do (follow a key to its node) is not tried
here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import redis as blocking
from kombu import Connection
from redis.asyncio import Redis
from redis.exceptions import RedisError

from sale_sofia.crawl.resilience.gate import Admission, Outcome
from sale_sofia.crawl.resilience.policy import ResilienceConfig
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.crawl.runners.dispatching import result_url
from sale_sofia.crawl.runners.progress import Progress, publish
from sale_sofia.crawl.settings import APP_NAME, EVENTS_CHANNEL, ROOM_KEY
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.proxies.browser import RedisNotes
from sale_sofia.proxies.model import Lease, Proxy, ProxyQuery, Use, parse_proxy
from sale_sofia.proxies.pool import RedisProxyPool
from sale_sofia.proxies.refresh import RefreshBoard, RefreshProgress
from sale_sofia.proxies.settings import PoolRules
from sale_sofia.settings.model import Settings
from scale_slots import SLOTS

OPTIONS = ("--cluster-enabled", "yes")
READY_SECONDS = 30.0
Trial = Callable[[Redis], Awaitable[object]]


def refusals(folder: Path) -> dict[str, str]:
    """What the server said to each operation; empty where it did it."""
    with RedisServer.start(folder, options=OPTIONS) as server:
        asyncio.run(_take_all_slots(server.url))
        found = {name: asyncio.run(_said(server.url, trial)) for name, trial in TRIALS.items()}
        more = {name: _said_blocking(partial(work, server.url)) for name, work in BLOCKING_TRIALS.items()}
    return found | more


async def _take_all_slots(url: str) -> None:
    async with Redis.from_url(url, decode_responses=True) as redis, asyncio.timeout(READY_SECONDS):
        await redis.cluster("ADDSLOTSRANGE", 0, SLOTS - 1)
        while (await redis.cluster("INFO"))["cluster_state"] != "ok":  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _said(url: str, trial: Trial) -> str:
    async with Redis.from_url(url, decode_responses=True) as redis:
        try:
            await trial(redis)
        except RedisError as error:
            return str(error)
    return ""


def _said_blocking(work: Callable[[], object]) -> str:
    try:
        work()
    except RedisError as error:
        return str(error)
    return ""


async def _gate(redis: Redis) -> None:
    gate = RedisGate(
        redis=redis,
        config=ResilienceConfig.from_settings(Settings()),
        rate_of=lambda _: 6000.0,
        limit_of=lambda _: 2,
    )
    for _ in range(2):
        entry = await gate.admit("imot.bg", 10.0)
        entry = await gate.wait(entry) if isinstance(entry, Admission) else entry
        if not isinstance(entry, Admission):
            raise SystemExit(f"the gate refused the first pages: {entry}")
        await gate.report(entry, Outcome.ok())


async def _proxies(redis: Redis) -> None:
    pool = RedisProxyPool(redis=redis, rules=PoolRules.from_settings(Settings()))
    await pool.put(Proxy(parse_proxy("http://192.0.2.1:8080")))
    lease = await pool.pick("imot.bg", ProxyQuery(tiers=("free",)))
    if not isinstance(lease, Lease):
        raise SystemExit("the pool gave out no proxy")
    await pool.report(lease, Use("ok", 0.5))
    await pool.climbed("imot.bg", "rotate")


async def _refresh_board(redis: Redis) -> None:
    board = RefreshBoard(redis)
    await board.take("refresh-1")
    await board.begin("refresh-1")
    await board.write(RefreshProgress("refresh-1", "CHECKING"))
    await board.read("refresh-1")


async def _notes(redis: Redis) -> None:
    await RedisNotes(redis, "imot.bg").count("tries", 60.0)


async def _room(redis: Redis) -> None:
    await redis.set(ROOM_KEY, 1, nx=True, px=1000)
    await redis.publish(EVENTS_CHANNEL, "job")


def _progress(url: str) -> None:
    numbers = Progress("job", "imot.bg", "PROCESSING", 10, 5, 0, 1, 0, 1.0, None, 0, 0, 5, None, None)
    with blocking.Redis.from_url(url) as client:
        publish(client, numbers)


def _messages(url: str) -> None:
    """A message sent and taken as Celery does it, by its own library."""
    with Connection(url) as connection, connection.SimpleQueue(APP_NAME) as queue:
        queue.put({"lane": 1})
        queue.get(timeout=5).ack()


def _results(url: str) -> None:
    with blocking.Redis.from_url(result_url(url)) as client:
        client.ping()


TRIALS: dict[str, Trial] = {
    "gate: admit, still, report": _gate,
    "proxy pool: put, pick, report": _proxies,
    "proxy refresh: its numbers": _refresh_board,
    "browser lane's notes": _notes,
    "making room, announcing an end": _room,
}
BLOCKING_TRIALS: dict[str, Callable[[str], object]] = {
    "progress of a job (MULTI over eight keys)": _progress,
    "Celery's messages (kombu)": _messages,
    "Celery's results (the next database)": _results,
}
