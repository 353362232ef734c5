"""Servers die, networks go silent, clocks lie, workers are killed: breaker and limiter hold for all of them.

SEED=… tries other random moments.
"""

import ast
import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TypeGuard

import pytest

from chaos_proxy import ChaosProxy
from redis_servers import fresh_database
from resilience_workers import Crew, Plan, Row, of_each
from sale_sofia.crawl.resilience import fallback, redis_gate
from sale_sofia.crawl.resilience.breaker import CircuitStatus
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.fallback import FallbackGate
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.crawl.resilience.policy import ResilienceConfig
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.resilience.settings import REDIS_CONNECT_TIMEOUT_SECONDS, REDIS_TIMEOUT_SECONDS
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.settings.model import Settings
from seeds import SEED

IMOT, BAZAR, HOMES = "imot.bg", "bazar.bg", "homes.bg"
PER_SECOND, BURST, PLACES = 20.0, 1, 4
WORKERS = (0, 1, 2)
TWO = (0, 1)
SHUT_OUT = 2
OPEN_SECONDS = 300.0
SOON = {"SHARED_RETRY_SECONDS": 0.5}
PAUSE_SECONDS = REDIS_TIMEOUT_SECONDS + 1.5
TO_DISK_SECONDS = 1.2
HANDED_OVER = 1
"""Requests too many when one gate takes over from the other; a busy machine adds one late of each worker."""
ALL_LATE = len(WORKERS) + 1
"""Requests too many of one gate on a busy machine: one late of each worker, and what rounded clocks add."""
# One answer and one connection may be waited for; the rest is for a machine that has other things to do.
LONGEST_STALL = REDIS_TIMEOUT_SECONDS + REDIS_CONNECT_TIMEOUT_SECONDS + 4.0


@pytest.fixture(autouse=True)
def rng() -> random.Random:
    print(f"SEED={SEED}")  # noqa: T201 - shown only with a failure
    return random.Random(SEED)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer.start(tmp_path / "redis") as started:
        yield started


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[ChaosProxy]:
    with ChaosProxy("127.0.0.1", server.port) as started:
        yield started


def gate_at(url: str) -> RedisGate:
    settings = Settings(circuit_breaker_fail_max=2, circuit_breaker_reset_timeout=OPEN_SECONDS)
    return RedisGate(
        redis=connect(url),
        config=ResilienceConfig.from_settings(settings),
        rate_of=lambda _: PER_SECOND * 60,
        limit_of=lambda _: PLACES,
    )


async def asked(gate: RedisGate, domain: str, outcome: Outcome) -> None:
    entry = await gate.admit(domain, 5.0)
    assert isinstance(entry, Admission)
    await gate.report(entry, outcome)


async def notes_on_other_domains(url: str) -> tuple[CircuitStatus, float]:
    """An open circuit and a long pause."""
    gate = gate_at(url)
    for _ in range(2):
        await asked(gate, BAZAR, Outcome.blocked("captcha"))
    await asked(gate, HOMES, Outcome.rate_limited(OPEN_SECONDS))
    try:
        return await gate.breaker.get_state(BAZAR), await gate.limiter.peek(HOMES, 0.0)
    finally:
        await gate.close()


async def noted(url: str) -> tuple[CircuitStatus, CircuitStatus, float]:
    gate = gate_at(url)
    try:
        states = [await gate.breaker.get_state(domain) for domain in (IMOT, BAZAR)]
        return states[0], states[1], await gate.limiter.peek(HOMES, 0.0)
    finally:
        await gate.close()


async def places_that_can_be_taken(url: str) -> int:
    gate = gate_at(url)
    try:
        entries = [await gate.admit(IMOT, 5.0) for _ in range(PLACES + 1)]
        return sum(isinstance(entry, Admission) for entry in entries)
    finally:
        await gate.close()


def excess(rows: list[Row], per_second: float = PER_SECOND) -> float:
    """By how many requests the worst of all windows holds more than rate x time + burst."""
    times = [row["t"] for row in rows if row["kind"] in {"shared", "local"}]
    worst, surplus = 0.0, 0.0
    for before, now in pairwise(times):
        surplus = max(0.0, surplus + 1 - per_second * (now - before))
        worst = max(worst, surplus)
    return worst + 1 - BURST


def longest_stall(rows: list[Row]) -> float:
    return max(float(row["stall"]) for row in rows)


def restart(server: RedisServer, _proxy: ChaosProxy, rng: random.Random) -> None:
    server.kill()
    time.sleep(rng.uniform(0.1, 1.0))
    server.restart()


def pause(server: RedisServer, _proxy: ChaosProxy, _rng: random.Random) -> None:
    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(PAUSE_SECONDS)
    os.kill(server.pid, signal.SIGCONT)


def half_open(_server: RedisServer, proxy: ChaosProxy, rng: random.Random) -> None:
    proxy.blackhole()
    time.sleep(REDIS_TIMEOUT_SECONDS + rng.uniform(0.5, 1.5))
    proxy.pass_on()


FAULTS: dict[str, Callable[[RedisServer, ChaosProxy, random.Random], None]] = {
    "restart": restart,
    "pause": pause,
    "half-open connection": half_open,
}


def test_several_workers_stay_polite_while_redis_is_gone_and_share_again_when_it_is_back(
    tmp_path: Path, rng: random.Random
) -> None:
    """Each fault with a Redis and workers of its own, all at once."""
    seeds = [rng.random() for _ in FAULTS]
    with ThreadPoolExecutor(len(FAULTS)) as pool:
        list(pool.map(go_through, FAULTS, [tmp_path / f"fault{n}" for n in range(len(FAULTS))], seeds))


def go_through(fault: str, folder: Path, seed: float) -> None:
    folder.mkdir()
    with (
        RedisServer.start(folder / "redis") as server,
        ChaosProxy("127.0.0.1", server.port) as proxy,
    ):
        stay_polite(fault, folder, server, proxy, random.Random(seed))


def stay_polite(fault: str, folder: Path, server: RedisServer, proxy: ChaosProxy, rng: random.Random) -> None:
    before, paused = asyncio.run(notes_on_other_domains(server.url))
    reset = {"circuit_breaker_reset_timeout": OPEN_SECONDS}
    plans = [Plan(url=proxy.url, numbers=SOON, limit=PLACES) for _ in TWO]
    plans.append(Plan(url=proxy.url, numbers=SOON, domain=BAZAR, settings=reset))
    with Crew(folder, plans) as crew:
        crew.wait_until(of_each(TWO, "shared"))
        crew.wait_until(of_each([SHUT_OUT], "refused"))
        time.sleep(TO_DISK_SECONDS + rng.uniform(0.0, 0.5))
        FAULTS[fault](server, proxy, rng)
        healed = time.monotonic()
        crew.wait_until(of_each(TWO, "shared", after=healed, times=5))
        crew.wait_until(of_each([SHUT_OUT], "refused", after=healed, times=5))
    rows = crew.rows()
    assert (crew.codes, crew.complaints) == ([0, 0, 0], ""), fault
    assert of_each(TWO, "local")(rows)
    assert excess(rows) <= HANDED_OVER + len(TWO)
    assert longest_stall(rows) < LONGEST_STALL
    # The open circuit lets nobody through: before, during and after.
    assert {row["kind"] for row in rows if row["worker"] == SHUT_OUT} == {"refused"}
    imot, bazar, still_paused = asyncio.run(noted(server.url))
    assert (imot.state, imot.generation, imot.failures) == ("CLOSED", 1, 0)
    kept = ("state", "generation", "failures", "opened_at", "last_block", "allowed")
    assert [getattr(bazar, name) for name in kept] == [getattr(before, name) for name in kept]
    assert (bazar.state, bazar.last_block) == ("OPEN", "captcha")
    assert paused - 60 < still_paused < paused
    # No place is leaked: all can be had, long before any lease ends.
    assert asyncio.run(places_that_can_be_taken(server.url)) == PLACES


async def gaps(gate: FallbackGate, count: int) -> list[float]:
    """Seconds between the instants of the next requests."""
    entries = [(await gate.admit(IMOT, 5.0), time.monotonic()) for _ in range(count + 1)]
    instants = [now + entry.wait_seconds for entry, now in entries if isinstance(entry, Admission)]
    return [after - before for before, after in pairwise(instants)]


def test_who_finds_redis_first_keeps_to_its_share_until_the_others_have_found_it_too(
    proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback, "SHARED_SETTLE_SECONDS", 1.0)
    both = Settings(redis_circuit_breaker_enabled=True, redis_rate_limiter_enabled=True)

    async def story() -> tuple[list[float], list[float]]:
        gate, other = (get_gate(both, lambda _: SLOW * 60, lambda _: 20, proxy.url) for _ in range(2))
        assert isinstance(gate, FallbackGate)
        gate._outage._retry_seconds = 0.0  # noqa: SLF001
        for one in (other, gate):
            await one.admit(IMOT, 5.0)
        proxy.reset()
        await gate.admit(IMOT, 5.0)
        early = await gaps(gate, 7)
        await asyncio.sleep(1.1)
        late = await gaps(gate, 7)
        await gate.close()
        await other.close()
        return early, late

    early, late = asyncio.run(story())
    assert sum(early) == pytest.approx(7 * 2 / SLOW, abs=3.4 / SLOW)
    assert sum(late) == pytest.approx(7 / SLOW, abs=3.4 / SLOW)


HOUR = 3600.0
SLOW = 10.0
"""Requests per second where a few milliseconds of lateness must not matter."""
SHUT_SECONDS = 0.99
"""How long the circuit below stays open at least, whatever rounds its clock."""
LEASE = 1.5
SHORT_LEASES = {"PLACE_LEASE_SECONDS": LEASE, "PROBE_LEASE_SECONDS": LEASE}
TOUCHY = {
    "circuit_breaker_fail_max": 1,
    "circuit_breaker_reset_timeout": 1.0,
    "circuit_breaker_half_open_calls": 1,
}


def test_workers_whose_clocks_are_an_hour_off_are_as_polite_and_as_careful_as_all(
    tmp_path: Path, redis_url: str
) -> None:
    outcomes = [["ok"] * 8 + ["block"], [], []]
    plans = [
        Plan(url=redis_url, per_minute=SLOW * 60, clock_off=off, outcomes=told, settings=TOUCHY)
        for off, told in zip((HOUR, 0.0, -HOUR), outcomes, strict=True)
    ]
    with Crew(tmp_path, plans) as crew:
        rows = crew.wait_until(of_each([0], "reported", times=9))
        blocked = [row for row in rows if row["worker"] == 0 and row["kind"] == "shared"][8]["t"]
        crew.wait_until(of_each(WORKERS, "shared", after=blocked + 1.0, times=3))
    rows = crew.rows()
    sent = [row for row in rows if row["kind"] == "shared"]
    assert (crew.codes, crew.complaints) == ([0, 0, 0], "")
    assert {row["kind"] for row in rows} == {"shared", "reported", "refused"}
    assert excess(rows, SLOW) <= ALL_LATE
    # The block that one of them met shuts all of them out for a second, but for what each had begun; then
    # one goes and looks.
    (told,) = (row["at"] for row in rows if row["kind"] == "reported" and row["t"] == blocked)
    late = Counter(row["worker"] for row in sent if row["generation"] == 1 and row["t"] > told)
    assert set(late.values()) <= {1}
    assert [row for row in sent if row["generation"] > 1 and row["t"] < blocked + SHUT_SECONDS] == []
    assert {row["generation"] for row in sent} == {1, 3, 4}
    assert [row["generation"] for row in sent if row["probe"]] == [3]
    assert asyncio.run(noted(redis_url))[0].state == "CLOSED"


WALL_CLOCKS = {
    "time": {"time", "time_ns", "localtime", "gmtime", "ctime", "strftime"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
}


def test_no_wall_clock_of_a_client_is_ever_read() -> None:
    modules = sorted(Path(redis_gate.__file__).parent.glob("*.py"))
    assert len(modules) > 15
    read = [
        f"{module.name}:{node.lineno}"
        for module in modules
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if _reads_a_wall_clock(node)
    ]
    assert read == []


def _reads_a_wall_clock(node: ast.AST) -> TypeGuard[ast.expr | ast.stmt]:
    if isinstance(node, ast.ImportFrom):
        return node.module == "time"
    of_module = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return of_module and node.attr in WALL_CLOCKS.get(node.value.id, ())  # type: ignore[attr-defined]


def short_leased(url: str, limit: int) -> RedisGate:
    settings = ResilienceConfig.from_settings(Settings.model_validate(TOUCHY))
    config = replace(
        settings,
        breaker=replace(settings.breaker, probe_lease_seconds=LEASE),
        bulkhead=replace(settings.bulkhead, lease_seconds=LEASE),
    )
    return RedisGate(
        redis=connect(url), config=config, rate_of=lambda _: PER_SECOND * 60, limit_of=lambda _: limit
    )


async def refusals_for(gate: RedisGate, seconds: float) -> set[str]:
    """Why the gate refuses, all that time."""
    end = time.monotonic() + seconds
    reasons: set[str] = set()
    while time.monotonic() < end:
        entry = await gate.admit(IMOT, 1.0)
        assert isinstance(entry, Refusal)
        reasons.add(entry.why)
        await asyncio.sleep(0.1)
    return reasons


async def admission_within(gate: RedisGate, seconds: float) -> Admission:
    end = time.monotonic() + seconds
    while not isinstance(entry := await gate.admit(IMOT, 1.0), Admission):
        assert time.monotonic() < end, f"still refused: {entry.why}"
        await asyncio.sleep(0.05)
    return entry


ROLES = (("holder", 1, "busy"), ("prober", 4, "circuit_open"))


def test_what_a_killed_worker_held_comes_back_and_never_while_it_lives(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    """How soon, tells the contract of the gate: at once on its own machine, elsewhere when its lease ends."""
    with ThreadPoolExecutor(len(ROLES)) as pool:
        urls = [fresh_database(redis_server) for _ in ROLES]
        list(pool.map(hold_and_die, [tmp_path] * len(ROLES), urls, *zip(*ROLES, strict=True)))


def hold_and_die(folder: Path, redis_url: str, role: str, limit: int, why: str) -> None:
    (folder / role).mkdir()
    plan = Plan(url=redis_url, hold=1000.0, limit=limit, settings=TOUCHY, numbers=SHORT_LEASES)

    async def story(crew: Crew) -> tuple[set[str], Row, Admission]:
        gate = short_leased(redis_url, limit)
        if role == "prober":
            await asked(gate, IMOT, Outcome.failure())
        with crew:
            row = crew.wait_until(of_each([0], "shared"))[-1]
            reasons = await refusals_for(gate, 2.2 * LEASE)
            crew.workers[0].kill()
            entry = await admission_within(gate, LEASE + 10.0)
        await gate.report(entry, Outcome.ok())
        await gate.close()
        return reasons, row, entry

    reasons, row, entry = asyncio.run(story(Crew(folder / role, [plan])))
    assert reasons == {why}
    assert row["probe"] == entry.permission.probe == (role == "prober")
    assert row["generation"] == entry.permission.generation
    status = asyncio.run(noted(redis_url))[0]
    assert (status.state, status.generation) == ("CLOSED", 4 if role == "prober" else 1)


def test_a_server_that_forgets_its_scripts_again_and_again_counts_every_request_once(
    tmp_path: Path, own_redis_url: str, rng: random.Random
) -> None:
    async def flush() -> None:
        async with connect(own_redis_url) as redis:
            for _ in range(30):
                await redis.script_flush()
                await asyncio.sleep(rng.uniform(0.0, 0.1))

    with Crew(tmp_path, [Plan(url=own_redis_url) for _ in WORKERS]) as crew:
        crew.wait_until(of_each(WORKERS, "shared"))
        asyncio.run(flush())
    rows = crew.rows()
    sent = [row for row in rows if row["kind"] != "reported"]
    assert (crew.codes, crew.complaints) == ([0, 0, 0], "")
    assert {row["kind"] for row in sent} == {"shared"}
    assert excess(rows) <= ALL_LATE
    assert asyncio.run(noted(own_redis_url))[0].allowed == len(sent) > 20
