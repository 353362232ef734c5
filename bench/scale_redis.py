"""What one page costs a real Redis: scripts, commands inside of them, bytes, and the server's own time.

The real gate with the real scripts asks for many portals in turn, on told time, so that nobody waits: each
page is admitted, looked at again after its wait, and reported. Everything is counted by the server
(`INFO`).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from redis.asyncio import Redis

from sale_sofia.crawl.resilience.gate import Admission, Outcome
from sale_sofia.crawl.resilience.policy import ResilienceConfig
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.crawl.resilience.scripts import CallerTime
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.settings.model import Settings

PER_MINUTE = 20.0
"""Of the simulated portals; no matter for what a step costs."""
LONGEST_WAIT = 30.0
STEPS = ("admit", "still", "report")
ANSWER_SECONDS = 0.3


class StepCost(NamedTuple):
    """One step of the gate, each a mean over all calls."""

    round_trips: float
    commands_inside: float
    """That the script runs at the server."""
    bytes_in: float
    bytes_out: float
    script_us: float
    """Within the script, by the server's own count."""
    server_us: float
    """The server's CPU, reading and answering included: what bounds it."""
    client_us: float
    """Our CPU."""


async def measured(folder: Path, domains: int, rounds: int) -> dict[str, StepCost]:
    """Each step's cost, on a server of its own."""
    with RedisServer.start(folder) as server:
        async with Redis.from_url(server.url, decode_responses=True) as redis:
            gate = _Turns(redis, [f"portal{number}.test" for number in range(domains)])
            await gate.round()  # scripts are loaded, circuits begun
            totals = await gate.rounds(rounds)
    return {step: _mean(totals[step], domains * rounds) for step in STEPS}


def per_page(costs: Mapping[str, StepCost]) -> dict[str, float]:
    """All steps of one page together."""
    return {name: sum(getattr(one, name) for one in costs.values()) for name in StepCost._fields}


class _Turns:
    """Rounds in which every portal gets one page, step by step, on told time."""

    def __init__(self, redis: Redis, domains: list[str]) -> None:
        self._redis = redis
        self._domains = domains
        self._now = 1_000_000.0
        self._gate = RedisGate(
            redis=redis,
            config=ResilienceConfig.from_settings(Settings()),
            rate_of=lambda _: PER_MINUTE,
            limit_of=lambda _: 2,
            clock=lambda: self._now,
            caller_time=CallerTime(),
            sleep=self._no_sleep,
        )
        self._admitted: list[Admission] = []

    async def _no_sleep(self, _seconds: float) -> None:
        """The round's time passes for all at once."""

    async def rounds(self, count: int) -> dict[str, dict[str, float]]:
        """The sums of all rounds, step by step."""
        totals: dict[str, dict[str, float]] = {step: {} for step in STEPS}
        works: dict[str, Callable[[], Awaitable[None]]] = {
            "admit": self._admit, "still": self._wait, "report": self._report,
        }  # fmt: skip
        looking = await self._spent(_nothing)
        for _ in range(count):
            for step, work in works.items():
                for name, value in (await self._spent(work)).items():
                    totals[step][name] = totals[step].get(name, 0.0) + value - looking[name]
        return totals

    async def _spent(self, work: Callable[[], Awaitable[None]]) -> dict[str, float]:
        before = await self._counters()
        await work()
        return {name: value - before[name] for name, value in (await self._counters()).items()}

    async def round(self) -> None:
        """One page of each."""
        await self._admit()
        await self._wait()
        await self._report()

    async def _admit(self) -> None:
        """Asked for before the portal's next turn, as a visitor does that comes back from its last page."""
        entries = [await self._gate.admit(name, LONGEST_WAIT) for name in self._domains]
        self._admitted = [one for one in entries if isinstance(one, Admission)]
        if len(self._admitted) != len(self._domains):
            raise SystemExit("the gate refused a page that was in time")

    async def _wait(self) -> None:
        self._now += self._admitted[0].wait_seconds
        entries = [await self._gate.wait(one) for one in self._admitted]
        self._admitted = [one for one in entries if isinstance(one, Admission)]

    async def _report(self) -> None:
        self._now += ANSWER_SECONDS
        for one in self._admitted:
            await self._gate.report(one, Outcome.ok())

    async def _counters(self) -> dict[str, float]:
        own = time.process_time()
        told: Mapping[str, Any] = await self._redis.info("everything")
        stats = {name: value for name, value in told.items() if name.startswith("cmdstat_")}
        scripts = stats.get("cmdstat_evalsha", {"calls": 0, "usec": 0})
        return {
            "round_trips": scripts["calls"],
            "commands": sum(one["calls"] for name, one in stats.items() if name not in _OUTSIDE),
            "script_us": scripts["usec"],
            "bytes_in": told["total_net_input_bytes"],
            "bytes_out": told["total_net_output_bytes"],
            "server_us": 1e6 * (told["used_cpu_user"] + told["used_cpu_sys"]),
            "client_us": 1e6 * own,
        }


async def _nothing() -> None:
    """To see what looking costs by itself."""


_OUTSIDE = frozenset({"cmdstat_evalsha", "cmdstat_eval", "cmdstat_info", "cmdstat_hello", "cmdstat_client"})


def _mean(totals: Mapping[str, float], pages: int) -> StepCost:
    names = ("round_trips", "commands", "bytes_in", "bytes_out", "script_us", "server_us", "client_us")
    return StepCost(*(totals[name] / pages for name in names))


def run(folder: Path, domains: int, rounds: int) -> dict[str, StepCost]:
    """As `measured`, in an event loop of its own."""
    return asyncio.run(measured(folder, domains, rounds))
